// Playing a policy without learning: whole episodes for figures, one environment for pictures.
#include <algorithm>
#include <cmath>

#include "trainer.h"
#include "viewer.h"

namespace {

// The first episode of every agent in a tile; what comes after it is ignored.
struct FirstEpisodes {
    const PufferEnvironment* functions;
    const void* settings;
    const TileView* view;
    float* returns;    // (rows)
    int32_t* lengths;  // (rows), 0 while the episode is open
    std::vector<uint8_t> environment_done;
    std::vector<float> values;
    double* statistics;  // sums
    int64_t* statistics_count;
    int open;
    void agent_ended(int, int lane, float value, int32_t length) {
        if (lengths[lane]) return;
        returns[lane] = value;
        lengths[lane] = length;
        --open;
    }
    void environment_ended(int env) {
        if (environment_done[(size_t)env]) return;
        environment_done[(size_t)env] = 1;
        functions->tile_statistics(view->state, settings, env, view->envs, values.data());
        for (size_t i = 0; i < values.size(); ++i) statistics[i] += values[i];
        ++*statistics_count;
    }
};

}  // namespace

bool Trainer::evaluate(int episodes, uint64_t seed, bool greedy, int64_t max_steps, float* returns, int32_t* lengths,
                       double* statistics, PufferError* error) {
    const int per_tile = envs_per_tile(environment_), agents = environment_->agents;
    const int count = (episodes + per_tile - 1) / per_tile;
    const size_t kinds = (size_t)environment_->num_statistics;
    const int horizon = (int)std::min<int64_t>(32, max_steps);
    std::vector<std::vector<double>> tile_statistics((size_t)count, std::vector<double>(kinds, 0.0));
    std::vector<int64_t> tile_counts((size_t)count, 0);
    std::vector<PufferError> errors((size_t)count, PufferError{});
    std::fill(lengths, lengths + (size_t)episodes * agents, 0);
    workers_.run(count, [&](int i, int) {
        const int first = i * per_tile, envs = std::min(per_tile, episodes - first);
        Tile tile = make_tile(environment_, envs, (int64_t)first * agents, horizon);
        const TileView& v = tile.view;
        WorkerScratch s = make_scratch(v.lanes, envs, false);
        environment_->tile_seed(v.state, envs, seed, (uint64_t)first);
        environment_->tile_reset(v.state, settings_.data(), envs, nullptr);
        RolloutJob job = {};
        job.seed = seed;
        job.purpose = RANDOM_ACTION;
        job.greedy = greedy;
        job.heads = heads_;
        TileEnvironment env = {environment_, settings_.data(), &v};
        TilePolicy policy = {network_.get(), parameters_.as<float>(), v.lanes, s.network};
        FirstEpisodes record = {environment_,
                                settings_.data(),
                                &v,
                                returns + (size_t)first * agents,
                                lengths + (size_t)first * agents,
                                std::vector<uint8_t>((size_t)envs, 0),
                                std::vector<float>(kinds, 0.0f),
                                tile_statistics[(size_t)i].data(),
                                &tile_counts[(size_t)i],
                                v.rows};
        const RolloutScratch scratch = {s.x, s.final_observation, s.outputs, s.which};
        for (int64_t done = 0; done < max_steps && record.open > 0; done += horizon) {
            job.first_step = (uint64_t)done;
            job.horizon = (int)std::min<int64_t>(horizon, max_steps - done);
            const RolloutFault fault = rollout(v, job, env, policy, record, scratch);
            if (fault.step >= 0) {
                const int64_t index = first + fault.lane / agents;
                const std::string field =
                    fault.feature < 0 ? "reward" : "observation[" + std::to_string(fault.feature) + "]";
                set_error(&errors[(size_t)i], PUFFER_NOT_FINITE, index, done + fault.step, field,
                          field + " of evaluation environment " + std::to_string(index) + " is not finite at step " +
                              std::to_string(done + fault.step));
                return;
            }
        }
        for (int l = 0; l < v.rows; ++l)
            if (!record.lengths[l]) {
                record.returns[l] = v.episode_returns[l];
                record.lengths[l] = v.episode_lengths[l];
            }
    });
    for (const PufferError& e : errors)
        if (e.code) {
            *error = e;
            return false;
        }
    int64_t total = 0;
    for (int64_t n : tile_counts) total += n;
    for (size_t k = 0; k < kinds; ++k) {
        double sum = 0;
        for (const auto& t : tile_statistics) sum += t[k];
        statistics[k] = total ? sum / (double)total : std::nan("");
    }
    return true;
}

PufferViewer::PufferViewer(const Trainer& owner, uint64_t seed_value)
    : trainer(owner),
      seed(seed_value),
      tile(make_tile(owner.environment(), 1, 0, 1)),
      state(owner.environment()->state_size) {
    const PufferEnvironment* e = owner.environment();
    const size_t lanes = (size_t)tile.view.lanes;
    x = AlignedMemory(lanes * e->features * sizeof(float));
    outputs = AlignedMemory(lanes * owner.network().outputs() * sizeof(float));
    scratch = AlignedMemory(owner.network().step_scratch(tile.view.lanes) * sizeof(float));
    e->tile_seed(tile.view.state, 1, seed, 0);
    e->tile_reset(tile.view.state, owner.settings(), 1, nullptr);
}

bool PufferViewer::step(bool greedy, Canvas* canvas, float* rewards) {
    const PufferEnvironment* e = trainer.environment();
    const TileView& v = tile.view;
    e->tile_store(v.state, 0, 1, state.data());
    e->render(state.data(), trainer.settings(), canvas);

    RolloutJob job = {};
    job.horizon = 1;
    job.seed = seed;
    job.first_step = (uint64_t)steps++;
    job.purpose = RANDOM_ACTION;
    job.greedy = greedy;
    job.heads = trainer.heads();
    TileEnvironment env = {e, trainer.settings(), &v};
    env.observe(v.observations);
    trainer.network().step(trainer.parameters(), observation_as_float(v, v.observations, x.as<float>()), v.lanes,
                           nullptr, outputs.as<float>(), scratch.as<float>());
    choose_actions(v, job, outputs.as<float>(), 0);
    env.step(v.actions, v.rewards, v.terminals, v.truncations);
    bool ended = true;
    for (int a = 0; a < v.rows; ++a) {
        rewards[a] = v.rewards[a];
        ended = ended && (v.terminals[a] || v.truncations[a]);
    }
    if (ended) env.reset(nullptr);
    return ended;
}

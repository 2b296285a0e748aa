#include "trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "adam.h"
#include "advantage.h"
#include "schedule.h"

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct EpisodeRecorder {
    const PufferEnvironment* functions;
    const void* settings;
    Tile* tile;
    float* values;  // (num_statistics)
    void agent_ended(int t, int lane, float value, int32_t length) {
        tile->episodes.push_back({t, lane, value, length});
    }
    void environment_ended(int env) {
        functions->tile_statistics(tile->view.state, settings, env, tile->view.envs, values);
        for (int i = 0; i < functions->num_statistics; ++i) tile->statistics[(size_t)i] += values[i];
        tile->statistics_count++;
    }
};

}  // namespace

Trainer::Trainer(const PufferEnvironment* environment, const void* settings, const PufferTrainConfig& config)
    : environment_(environment),
      settings_((const char*)settings, (const char*)settings + environment->settings_size),
      config_(config),
      heads_(action_heads(environment)),
      workers_(config.num_workers) {
    NetworkDescription description;
    description.kind = "mlp";
    description.features = environment->features;
    description.action_sizes.assign(heads_.size, heads_.size + heads_.count);
    description.hidden.assign(config.hidden, config.hidden + config.hidden_count);
    description.activation = config.activation;
    network_ = make_network(description);

    const size_t floats = network_->parameter_count();
    for (AlignedMemory* m : {&parameters_, &first_moment_, &second_moment_, &gradient_})
        *m = AlignedMemory(floats * sizeof(float));
    network_->initialize(parameters_.as<float>(), config.seed);
    make_tiles();

    int widest = 0, rows = 0;
    for (const Tile& t : tiles_) {
        widest = std::max(widest, t.view.lanes);
        rows = std::max(rows, t.view.envs);
    }
    for (int w = 0; w < workers_.count(); ++w) scratch_.push_back(make_scratch(widest, rows, true));
    const size_t per_minibatch = (slices_.size() * (size_t)config.minibatch_size) /
                                 ((size_t)config.num_envs * environment->agents * config.horizon);
    const size_t shards = std::min((size_t)GRADIENT_SHARDS, std::max((size_t)1, per_minibatch));
    shards_ = AlignedMemory(shards * floats * sizeof(float));
    recent_returns_.assign(RECENT_EPISODES, 0.0f);
    recent_lengths_.assign(RECENT_EPISODES, 0);
    make_tensors();
}

void Trainer::make_tiles() {
    const int per_tile = envs_per_tile(environment_);
    for (int first = 0; first < config_.num_envs; first += per_tile) {
        const int envs = std::min(per_tile, config_.num_envs - first);
        tiles_.push_back(make_tile(environment_, envs, (int64_t)first * environment_->agents, config_.horizon));
        TileView& v = tiles_.back().view;
        environment_->tile_seed(v.state, envs, config_.seed, (uint64_t)first);
        environment_->tile_reset(v.state, settings_.data(), envs, nullptr);
    }
    for (int step = 0; step < config_.horizon; step += SLICE_STEPS)
        for (size_t tile = 0; tile < tiles_.size(); ++tile) slices_.push_back({(int32_t)tile, step, 0, 0, 0, 0});
}

WorkerScratch Trainer::make_scratch(int lanes, int envs, bool learning) const {
    WorkerScratch s;
    const size_t width = (size_t)lanes, features = (size_t)environment_->features,
                 outputs = (size_t)network_->outputs();
    const size_t steps = learning ? SLICE_STEPS : 1;
    for (int pass = 0; pass < 2; ++pass) {
        Carver carve(s.memory.as<void>());
        s.x = carve.take<float>(steps * features * width);
        s.final_observation = carve.take<float>(features * width);
        s.outputs = carve.take<float>(steps * outputs * width);
        s.network = carve.take<float>(network_->step_scratch(lanes));
        s.tape = carve.take<float>(learning ? network_->tape_size(SLICE_STEPS, lanes) : 0);
        s.which = carve.take<uint8_t>((size_t)envs);
        if (pass == 0) s.memory = AlignedMemory(carve.used());
    }
    s.statistics.assign((size_t)environment_->num_statistics, 0.0f);
    return s;
}

void Trainer::roll(Tile& tile, int worker) {
    WorkerScratch& s = scratch_[(size_t)worker];
    tile.episodes.clear();
    std::fill(tile.statistics.begin(), tile.statistics.end(), 0.0);
    tile.statistics_count = 0;
    RolloutJob job = {};
    job.horizon = config_.horizon;
    job.seed = config_.seed;
    job.first_step = (uint64_t)progress_.iteration * (uint64_t)config_.horizon;
    job.purpose = RANDOM_ACTION;
    job.heads = heads_;
    TileEnvironment env = {environment_, settings_.data(), &tile.view};
    TilePolicy policy = {network_.get(), parameters_.as<float>(), tile.view.lanes, s.network};
    EpisodeRecorder recorder = {environment_, settings_.data(), &tile, s.statistics.data()};
    const RolloutScratch scratch = {s.x, s.final_observation, s.outputs, s.which};
    tile.fault = rollout(tile.view, job, env, policy, recorder, scratch);
    if (tile.fault.step < 0)
        estimate_advantages(tile.view, config_.horizon, (float)config_.gamma, (float)config_.gae_lambda);
}

// Sums of a slice that minibatches share: in double precision, in a fixed order.
void Trainer::measure(Slice& slice) {
    const TileView& v = tiles_[(size_t)slice.tile].view;
    const int last = std::min(slice.step + SLICE_STEPS, config_.horizon);
    double sums[4] = {};
    for (int t = slice.step; t < last; ++t)
        for (int l = 0; l < v.rows; ++l) {
            const double advantage = v.advantages[(size_t)t * v.lanes + l];
            const double target = advantage + v.values[(size_t)t * v.lanes + l];
            sums[0] += advantage;
            sums[1] += advantage * advantage;
            sums[2] += target;
            sums[3] += target * target;
        }
    slice.advantage_sum = sums[0];
    slice.advantage_squares = sums[1];
    slice.target_sum = sums[2];
    slice.target_squares = sums[3];
}

// Finished episodes in the order of time, then of tiles: the same whatever worker ran which tile.
void Trainer::merge_episodes(PufferMetrics* metrics) {
    std::vector<size_t> next(tiles_.size(), 0);
    for (int t = 0; t < config_.horizon; ++t)
        for (size_t i = 0; i < tiles_.size(); ++i)
            for (; next[i] < tiles_[i].episodes.size() && tiles_[i].episodes[next[i]].step == t; ++next[i]) {
                const Episode& e = tiles_[i].episodes[next[i]];
                recent_returns_[(size_t)progress_.recent_next] = e.value;
                recent_lengths_[(size_t)progress_.recent_next] = e.length;
                progress_.recent_next = (progress_.recent_next + 1) % RECENT_EPISODES;
                progress_.recent_count = std::min<int64_t>(progress_.recent_count + 1, RECENT_EPISODES);
                progress_.episodes++;
            }
    double returns = 0, lengths = 0;
    for (int64_t i = 0; i < progress_.recent_count; ++i) {
        returns += recent_returns_[(size_t)i];
        lengths += recent_lengths_[(size_t)i];
    }
    const double none = std::numeric_limits<double>::quiet_NaN();
    metrics->episodes = progress_.episodes;
    metrics->recent_count = (int32_t)progress_.recent_count;
    metrics->recent_return = progress_.recent_count ? returns / (double)progress_.recent_count : none;
    metrics->recent_length = progress_.recent_count ? lengths / (double)progress_.recent_count : none;
    int64_t count = 0;
    for (const Tile& t : tiles_) count += t.statistics_count;
    metrics->statistics_count = (int32_t)count;
    for (int i = 0; i < environment_->num_statistics; ++i) {
        double sum = 0;
        for (const Tile& t : tiles_) sum += t.statistics[(size_t)i];
        metrics->statistics[i] = count ? sum / (double)count : none;
    }
}

bool Trainer::iterate(PufferMetrics* metrics, PufferError* error) {
    const double start = now();
    workers_.run((int)tiles_.size(), [&](int tile, int worker) { roll(tiles_[(size_t)tile], worker); });
    for (const Tile& t : tiles_) {
        if (t.fault.step < 0) continue;
        const int64_t env = (t.view.first_agent + t.fault.lane) / t.view.agents;
        const int64_t step = progress_.iteration * (int64_t)config_.horizon + t.fault.step;
        const std::string field =
            t.fault.feature < 0 ? "reward" : "observation[" + std::to_string(t.fault.feature) + "]";
        set_error(error, PUFFER_NOT_FINITE, env, step, field,
                  field + " of environment " + std::to_string(env) + " (agent " +
                      std::to_string(t.fault.lane % t.view.agents) + ") is not finite at step " + std::to_string(step));
        return false;
    }
    workers_.run((int)slices_.size(), [&](int slice, int) { measure(slices_[(size_t)slice]); });
    if (!advantages_finite(error)) return false;
    merge_episodes(metrics);
    const double middle = now();

    const int64_t batch = (int64_t)config_.num_envs * environment_->agents * config_.horizon;
    const int minibatches = (int)(batch / config_.minibatch_size), count = (int)slices_.size();
    std::vector<const Slice*> order((size_t)count);
    double sums[5] = {}, norms = 0;
    for (int epoch = 0; epoch < config_.update_epochs; ++epoch) {
        // Fisher and Yates, drawn from (seed, iteration, epoch).
        for (int i = 0; i < count; ++i) order[(size_t)i] = &slices_[(size_t)i];
        const uint64_t base = ((uint64_t)progress_.iteration * (uint64_t)config_.update_epochs + (uint64_t)epoch) << 24;
        for (int i = count - 1; i > 0; --i) {
            const uint32_t bits = philox_bits(config_.seed, base + (uint64_t)i, 0, RANDOM_SHUFFLE);
            std::swap(order[(size_t)i], order[(size_t)(((uint64_t)bits * (uint64_t)(i + 1)) >> 32)]);
        }
        for (int m = 0; m < minibatches; ++m) {
            const int begin = (int)((int64_t)m * count / minibatches),
                      end = (int)((int64_t)(m + 1) * count / minibatches);
            double norm = 0;
            if (!update(order.data() + begin, end - begin, sums, &norm, error)) return false;
            norms += norm;
        }
    }
    const double updates = (double)config_.update_epochs * minibatches;
    metrics->policy_loss = sums[0] / updates;
    metrics->value_loss = sums[1] / updates;
    metrics->entropy = sums[2] / updates;
    metrics->approx_kl = sums[3] / updates;
    metrics->clip_fraction = sums[4] / updates;
    metrics->gradient_norm = norms / updates;

    double target = 0, target_squares = 0, residual = 0, residual_squares = 0;
    for (const Slice& s : slices_) {
        target += s.target_sum;
        target_squares += s.target_squares;
        residual += s.advantage_sum;  // target - value
        residual_squares += s.advantage_squares;
    }
    const double n = (double)batch;
    const double target_variance = target_squares / n - (target / n) * (target / n);
    const double residual_variance = residual_squares / n - (residual / n) * (residual / n);
    metrics->explained_variance =
        target_variance > 0 ? 1.0 - residual_variance / target_variance : std::numeric_limits<double>::quiet_NaN();
    metrics->learning_rate =
        annealed(config_.anneal_lr, config_.learning_rate, config_.min_lr_ratio,
                 (double)(progress_.iteration * batch) / (double)std::max<int64_t>(1, config_.total_timesteps));
    progress_.iteration++;
    metrics->iteration = progress_.iteration;
    metrics->step = progress_.iteration * batch;
    metrics->seconds_rollout = middle - start;
    metrics->seconds_learn = now() - middle;
    return true;
}

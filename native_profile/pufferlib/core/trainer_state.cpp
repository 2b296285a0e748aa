// A run as named tensors: what a checkpoint holds and a resumed run starts from.
#include <cstring>

#include "trainer.h"

namespace {
enum TensorType { TENSOR_FLOAT32 = 0, TENSOR_INT32 = 1, TENSOR_INT64 = 2, TENSOR_UINT8 = 3 };
constexpr int PROGRESS_FIELDS = 5;
}  // namespace

void Trainer::make_tensors() {
    const int64_t agents = (int64_t)config_.num_envs * environment_->agents;
    saved_progress_.assign(PROGRESS_FIELDS, 0);
    saved_states_.assign((size_t)config_.num_envs * environment_->state_size, 0);
    saved_episode_returns_.assign((size_t)agents, 0.0f);
    saved_episode_lengths_.assign((size_t)agents, 0);

    // Names must not move once their characters are pointed to.
    names_.reserve(3 * network_->parameters().size() + 8);
    auto add = [&](const std::string& name, int type, const std::vector<int64_t>& shape, void* data) {
        names_.push_back(name);
        PufferTensor t = {};
        t.name = names_.back().c_str();
        t.type = type;
        t.rank = (int32_t)shape.size();
        for (size_t i = 0; i < shape.size(); ++i) t.shape[i] = shape[i];
        t.data = data;
        tensors_.push_back(t);
    };
    const struct {
        const char* prefix;
        AlignedMemory* memory;
    } groups[] = {{"policy.", &parameters_}, {"adam.first.", &first_moment_}, {"adam.second.", &second_moment_}};
    for (const auto& g : groups)
        for (const Parameter& p : network_->parameters())
            add(g.prefix + p.name, TENSOR_FLOAT32, p.shape, g.memory->as<float>() + p.offset);
    // iteration, updates, episodes, then where the ring of recent episodes stands and how full it is.
    add("trainer.progress", TENSOR_INT64, {PROGRESS_FIELDS}, saved_progress_.data());
    add("trainer.recent_returns", TENSOR_FLOAT32, {RECENT_EPISODES}, recent_returns_.data());
    add("trainer.recent_lengths", TENSOR_INT32, {RECENT_EPISODES}, recent_lengths_.data());
    add("environment.states", TENSOR_UINT8, {config_.num_envs, (int64_t)environment_->state_size},
        saved_states_.data());
    add("environment.episode_returns", TENSOR_FLOAT32, {agents}, saved_episode_returns_.data());
    add("environment.episode_lengths", TENSOR_INT32, {agents}, saved_episode_lengths_.data());
}

void Trainer::collect() {
    saved_progress_ = {progress_.iteration, progress_.updates, progress_.episodes, progress_.recent_next,
                       progress_.recent_count};
    uint8_t* state = saved_states_.data();
    for (const Tile& tile : tiles_) {
        const TileView& v = tile.view;
        for (int e = 0; e < v.envs; ++e, state += environment_->state_size)
            environment_->tile_store(v.state, e, v.envs, state);
        std::memcpy(saved_episode_returns_.data() + v.first_agent, v.episode_returns, (size_t)v.rows * sizeof(float));
        std::memcpy(saved_episode_lengths_.data() + v.first_agent, v.episode_lengths, (size_t)v.rows * sizeof(int32_t));
    }
}

bool Trainer::restore(PufferError* error) {
    const int64_t next = saved_progress_[3], count = saved_progress_[4];
    for (int64_t n : saved_progress_)
        if (n < 0) {
            set_error(error, PUFFER_BAD_STATE, -1, -1, "trainer.progress",
                      "trainer.progress holds " + std::to_string(n) + ", expected no negative number");
            return false;
        }
    if (next >= RECENT_EPISODES || count > RECENT_EPISODES) {
        set_error(error, PUFFER_BAD_STATE, -1, -1, "trainer.progress",
                  "trainer.progress points to recent episode " + std::to_string(next) + " of " + std::to_string(count) +
                      ", expected at most " + std::to_string((int)RECENT_EPISODES));
        return false;
    }
    progress_ = {saved_progress_[0], saved_progress_[1], saved_progress_[2], next, count};
    const uint8_t* state = saved_states_.data();
    for (Tile& tile : tiles_) {
        TileView& v = tile.view;
        for (int e = 0; e < v.envs; ++e, state += environment_->state_size)
            environment_->tile_load(v.state, e, v.envs, state);
        std::memcpy(v.episode_returns, saved_episode_returns_.data() + v.first_agent, (size_t)v.rows * sizeof(float));
        std::memcpy(v.episode_lengths, saved_episode_lengths_.data() + v.first_agent, (size_t)v.rows * sizeof(int32_t));
    }
    return true;
}

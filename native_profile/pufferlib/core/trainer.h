// PPO over tiles. An iteration is a rollout (workers take whole tiles through the horizon), then update_epochs passes over
// minibatches of slices (a tile's SLICE_STEPS consecutive steps). Gradients add up in shards that depend on the slices and
// not on the workers, and shards are summed in order, so the number of workers never shows in the result.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "aligned.h"
#include "engine.h"
#include "network.h"
#include "ppo_loss.h"
#include "rollout.h"
#include "workers.h"

enum { TILE_LANES = 64, SLICE_STEPS = 8, GRADIENT_SHARDS = 32, RECENT_EPISODES = 100 };

struct Episode {
    int32_t step, lane;  // of the horizon, of the tile
    float value;         // undiscounted return
    int32_t length;
};

struct Tile {
    TileView view;
    AlignedMemory memory;
    std::vector<Episode> episodes;   // finished in the present horizon, in order of time
    std::vector<double> statistics;  // sums over environments that finished in it
    int64_t statistics_count = 0;
    RolloutFault fault{-1, 0, 0};
};

struct Slice {
    int32_t tile, step;  // its first step
    double advantage_sum, advantage_squares;
    double target_sum, target_squares;  // for the explained variance
};

// Memory of one worker.
struct WorkerScratch {
    AlignedMemory memory;
    float *x, *outputs, *network, *tape;
    void* final_observation;
    uint8_t* which;
    std::vector<float> statistics;
};

// What changes from update to update besides the weights; all of it goes into a checkpoint.
struct Progress {
    int64_t iteration = 0, updates = 0, episodes = 0;
    int64_t recent_next = 0, recent_count = 0;
};

class Trainer {
public:
    Trainer(const PufferEnvironment* environment, const void* settings, const PufferTrainConfig& config);

    // Fills `error` and returns false when the configuration cannot run. Called before the constructor.
    static bool valid(const PufferEnvironment* environment, const PufferTrainConfig& config, PufferError* error);

    bool iterate(PufferMetrics* metrics, PufferError* error);
    void collect();
    bool restore(PufferError* error);
    const std::vector<PufferTensor>& tensors() const { return tensors_; }

    bool evaluate(int episodes, uint64_t seed, bool greedy, int64_t max_steps, float* returns, int32_t* lengths,
                  double* statistics, PufferError* error);

    const PufferEnvironment* environment() const { return environment_; }
    const void* settings() const { return settings_.data(); }
    const Network& network() const { return *network_; }
    const float* parameters() const { return parameters_.as<float>(); }
    const ActionHeads& heads() const { return heads_; }
    const PufferTrainConfig& config() const { return config_; }

private:
    void make_tiles();
    void make_tensors();
    void roll(Tile& tile, int worker);
    void measure(Slice& slice);
    void merge_episodes(PufferMetrics* metrics);
    bool update(const Slice* const* slices, int count, double* sums, double* norm, PufferError* error);
    void name_sample(const Slice& slice, const PpoCoefficients& c, const WorkerScratch& s, const float* x, int steps,
                     PufferError* error) const;
    void name_gradient(const Slice* const* slices, int count, const PpoCoefficients& c, const std::string& parameter,
                       PufferError* error) const;
    bool advantages_finite(PufferError* error) const;
    PpoSums learn(const Slice& slice, const PpoCoefficients& c, int worker, float* gradient, PufferError* error);
    WorkerScratch make_scratch(int lanes, int rows, bool learning) const;

    const PufferEnvironment* environment_;
    std::vector<char> settings_;
    PufferTrainConfig config_;
    ActionHeads heads_;
    std::unique_ptr<Network> network_;
    Workers workers_;
    std::vector<Tile> tiles_;
    std::vector<Slice> slices_;
    std::vector<WorkerScratch> scratch_;
    AlignedMemory parameters_, first_moment_, second_moment_, gradient_, shards_;
    Progress progress_;
    std::vector<float> recent_returns_;
    std::vector<int32_t> recent_lengths_;

    // Checkpoint images of what is scattered over tiles.
    std::vector<PufferTensor> tensors_;
    std::vector<int64_t> saved_progress_;
    std::vector<uint8_t> saved_states_;
    std::vector<float> saved_episode_returns_;
    std::vector<int32_t> saved_episode_lengths_;
    std::vector<std::string> names_;
};

// The views of the environment and the network that a rollout over one tile calls.
struct TileEnvironment {
    const PufferEnvironment* functions;
    const void* settings;
    const TileView* view;
    void observe(void* out) const {
        functions->tile_observe_lanes(view->state, settings, view->envs, view->lanes, out);
    }
    void step(const int32_t* actions, float* reward, uint8_t* terminal, uint8_t* truncated) const {
        functions->tile_step(view->state, settings, view->envs, view->lanes, actions, reward, terminal, truncated);
    }
    void reset(const uint8_t* which) const { functions->tile_reset(view->state, settings, view->envs, which); }
};

struct TilePolicy {
    const Network* network;
    const float* parameters;
    int lanes;
    float* scratch;
    void step(const float* x, float* outputs) const { network->step(parameters, x, lanes, nullptr, outputs, scratch); }
};

void set_error(PufferError* error, int code, int64_t environment, int64_t step, const std::string& field,
               const std::string& message);
ActionHeads action_heads(const PufferEnvironment* environment);
int envs_per_tile(const PufferEnvironment* environment);
int round_up(int n, int step);
// Lays out a tile of `envs` environments for `horizon` steps in memory of its own.
Tile make_tile(const PufferEnvironment* environment, int envs, int64_t first_agent, int horizon);

// The handle of the C interface.
struct PufferTrainer : Trainer {
    using Trainer::Trainer;
};

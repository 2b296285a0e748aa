// The rollout of one environment as a GPU kernel: a tile is a thread block, a thread is a lane, and a horizon is one launch
// with no host in between. Compiled with -DENV_HEADER="<its header>" wherever there is an nvcc, so that everything a rollout
// is made of stays valid device code; training on the GPU is not offered yet.
#include ENV_HEADER

#include "advantage.h"
#include "environment_tile.h"
#include "mlp.h"
#include "rollout.h"

namespace {

struct DeviceEnvironment {
    const TileView* view;
    const Settings* settings;
    __device__ void observe(void* out) const {
        tile::observe_lanes(view->state, settings, view->envs, view->lanes, out);
    }
    __device__ void step(const int32_t* actions, float* reward, uint8_t* terminal, uint8_t* truncated) const {
        tile::step(view->state, settings, view->envs, view->lanes, actions, reward, terminal, truncated);
    }
    __device__ void reset(const uint8_t* which) const { tile::reset(view->state, settings, view->envs, which); }
};

struct DevicePolicy {
    const MlpLayout* layout;
    const float* parameters;
    int lanes;
    float* scratch;
    __device__ void step(const float* x, float* outputs) const {
        mlp_step(*layout, parameters, x, lanes, outputs, scratch);
    }
};

// Sums for the statistics of a horizon; which episode ended first does not matter to a sum of counts.
struct DeviceEpisodes {
    float* return_sum;
    int32_t* count;
    __device__ void agent_ended(int, int, float value, int32_t) {
        atomicAdd(return_sum, value);
        atomicAdd(count, 1);
    }
    __device__ void environment_ended(int) {}
};

}  // namespace

extern "C" __global__ void puffer_rollout(const TileView* tiles, const Settings* settings, const MlpLayout* layout,
                                          const float* parameters, RolloutJob job, const RolloutScratch* scratch,
                                          float* network_scratch, size_t network_scratch_floats, float gamma,
                                          float lambda, RolloutFault* faults, float* return_sum,
                                          int32_t* episode_count) {
    const TileView view = tiles[blockIdx.x];
    DeviceEnvironment env = {&view, settings};
    DevicePolicy policy = {layout, parameters, view.lanes, network_scratch + blockIdx.x * network_scratch_floats};
    DeviceEpisodes episodes = {return_sum, episode_count};
    const RolloutFault fault = rollout(view, job, env, policy, episodes, scratch[blockIdx.x]);
    if (fault.step >= 0 && fault.lane >= 0) faults[blockIdx.x] = fault;
    estimate_advantages(view, job.horizon, gamma, lambda);
}

// One tile through one horizon: observe, policy forward, draw, step, store, T times, with no meeting of workers in between.
// Written once: on a CPU a worker runs it over all lanes of the tile, on a GPU a thread block does (rollout.cu).
#pragma once
#include "categorical.h"
#include "philox.h"
#include "tile.h"

#if defined(__CUDA_ARCH__)
#define LANES_ANY(x) __syncthreads_or(x)
#else
#define LANES_ANY(x) (x)
#endif

struct RolloutJob {
    int32_t horizon;
    uint64_t seed;
    uint64_t first_step;  // steps that every environment has made before this horizon
    uint32_t purpose;     // RANDOM_ACTION, or another so that draws of evaluation and training differ
    int32_t greedy;
    ActionHeads heads;
};

// Memory of a worker: x and final_observation (features, lanes), outputs (outputs, lanes), which (envs).
struct RolloutScratch {
    float* x;
    void* final_observation;
    float* outputs;
    uint8_t* which;
};

struct RolloutFault {
    int32_t step;     // of the horizon, or -1: nothing found
    int32_t lane;     // or -1: another thread of this tile found it
    int32_t feature;  // of the observation, or -1: the reward
};

LANE_FN const float* observation_as_float(const TileView& v, const void* observation, float* x) {
    if (!v.is_uint8) return (const float*)observation;
    const uint8_t* from = (const uint8_t*)observation;
#if LANE_WIDTH == 1
    EACH_LANE(l, v.lanes)
    for (int f = 0; f < v.features; ++f) x[f * v.lanes + l] = (float)from[f * v.lanes + l];
#else
    const int count = v.features * v.lanes;
    for (int i = 0; i < count; ++i) x[i] = (float)from[i];
#endif
    return x;
}

// The first non-finite value of (rows_of_values, lanes), or false. x * 0 is zero for finite x only.
LANE_FN bool first_not_finite(const float* values, int rows_of_values, int lanes, int32_t* row, int32_t* lane) {
    bool found = false;
    EACH_LANE(l, lanes) {
        vf sum = vf{};
        for (int r = 0; r < rows_of_values; ++r) sum += load(values + (size_t)r * lanes + l) * 0.0f;
        if (sum_of(sum) == 0.0f) continue;
        for (int i = l; i < l + LANE_WIDTH && !found; ++i)
            for (int r = 0; r < rows_of_values && !found; ++r)
                if (values[(size_t)r * lanes + i] * 0.0f != 0.0f) {
                    found = true;
                    *row = r;
                    *lane = i;
                }
    }
    return found;
}

// The same among lanes whose episode was cut: the value of what they saw last is about to count.
LANE_FN bool cut_not_finite(const TileView& v, const float* x, const uint8_t* truncated, int32_t* feature,
                            int32_t* lane) {
    if (v.is_uint8 || !first_not_finite(x, v.features, v.lanes, feature, lane)) return false;
    for (int l = 0; l < v.rows; ++l)
        for (int f = 0; f < v.features && truncated[l]; ++f)
            if (x[(size_t)f * v.lanes + l] * 0.0f != 0.0f) {
                *feature = f;
                *lane = l;
                return true;
            }
    return false;
}

LANE_FN void choose_actions(const TileView& v, const RolloutJob& job, const float* outputs, int t) {
    EACH_LANE(l, v.lanes) {
        vf log_probability = vf{};
        vf uniform[4];
        const float* logits = outputs;
        for (int h = 0; h < job.heads.count; ++h) {
            if (h % 4 == 0)
                philox_uniform(job.seed, lane_numbers(l) + (int32_t)v.first_agent, job.first_step + (uint64_t)t,
                               job.purpose + (uint32_t)(h / 4), uniform);
            vi action;
            log_probability +=
                head_choose(logits, job.heads.size[h], v.lanes, l, uniform[h % 4], job.greedy != 0, &action);
            store(v.actions + ((size_t)t * job.heads.count + h) * v.lanes + l, action);
            logits += (size_t)job.heads.size[h] * v.lanes;
        }
        store(v.log_probabilities + (size_t)t * v.lanes + l, log_probability);
        store(v.values + (size_t)t * v.lanes + l, load(outputs + (size_t)job.heads.logits * v.lanes + l));
    }
}

// Environment: observe(out), step(actions, reward, terminal, truncated), reset(which), over the tile's lanes.
// Policy: step(x, outputs). Episodes: agent_ended(t, lane, return, length), environment_ended(env).
template <class Environment, class Policy, class Episodes>
LANE_FN RolloutFault rollout(const TileView& v, const RolloutJob& job, Environment& env, Policy& policy,
                             Episodes& episodes, const RolloutScratch& scratch) {
    const size_t observation_bytes = (size_t)v.features * v.lanes * (v.is_uint8 ? 1 : 4);
    RolloutFault fault = {-1, -1, 0};
    for (int t = 0; t <= job.horizon; ++t) {
        void* observation = (char*)v.observations + observation_bytes * t;
        env.observe(observation);
        LANES_MEET();
        const float* x = observation_as_float(v, observation, scratch.x);
        const bool wrong = !v.is_uint8 && first_not_finite(x, v.features, v.lanes, &fault.feature, &fault.lane);
        if (LANES_ANY(wrong)) {
            fault.step = t;
            return fault;
        }
        policy.step(x, scratch.outputs);
        if (t == job.horizon) {
            EACH_LANE(l, v.lanes)
            store(v.values + (size_t)t * v.lanes + l, load(scratch.outputs + (size_t)job.heads.logits * v.lanes + l));
            break;
        }
        choose_actions(v, job, scratch.outputs, t);
        LANES_MEET();

        float* rewards = v.rewards + (size_t)t * v.lanes;
        uint8_t* terminal = v.terminals + (size_t)t * v.lanes;
        uint8_t* truncated = v.truncations + (size_t)t * v.lanes;
        env.step(v.actions + (size_t)t * job.heads.count * v.lanes, rewards, terminal, truncated);
        LANES_MEET();

        int32_t row;
        if (LANES_ANY(first_not_finite(rewards, 1, v.lanes, &row, &fault.lane))) {
            fault.step = t;
            fault.feature = -1;
            return fault;
        }
        EACH_LANE(l, v.lanes) {
            store(v.episode_returns + l, load(v.episode_returns + l) + load(rewards + l));
            store(v.episode_lengths + l, load(v.episode_lengths + l) + 1);
        }
        bool cut = false, ended = false;
        EACH_ITEM(l, v.rows) {
            cut = cut || truncated[l];
            ended = ended || terminal[l] || truncated[l];
        }
        if (LANES_ANY(cut)) {
            env.observe(scratch.final_observation);
            LANES_MEET();
            const float* last = observation_as_float(v, scratch.final_observation, scratch.x);
            if (LANES_ANY(cut_not_finite(v, last, truncated, &fault.feature, &fault.lane))) {
                fault.step = t + 1;
                return fault;
            }
            policy.step(last, scratch.outputs);
            EACH_LANE(l, v.lanes)
            store(v.final_values + (size_t)t * v.lanes + l,
                  load(scratch.outputs + (size_t)job.heads.logits * v.lanes + l));
        }
        if (LANES_ANY(ended)) {
            EACH_ITEM(e, v.envs) {
                bool whole = true;
                for (int l = e * v.agents; l < (e + 1) * v.agents; ++l) {
                    if (terminal[l] || truncated[l]) {
                        episodes.agent_ended(t, l, v.episode_returns[l], v.episode_lengths[l]);
                        v.episode_returns[l] = 0.0f;
                        v.episode_lengths[l] = 0;
                    } else {
                        whole = false;
                    }
                }
                scratch.which[e] = whole;
                if (whole) episodes.environment_ended(e);
            }
            env.reset(scratch.which);
            LANES_MEET();
        }
    }
    return fault;
}

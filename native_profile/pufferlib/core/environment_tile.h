// Turns one environment (its header stands above this include) into functions over a tile of environments. The same
// functions serve the environment's library on a CPU and the rollout kernel on a GPU, where a thread takes each
// environment in turn.
#pragma once
#include <stddef.h>

#include "lanes.h"

namespace tile {

// Before a loop over environments: its turns do not depend on one another, whatever the compiler makes of the pointers.
#if defined(__CUDACC__) || !defined(ENV_LANES)
#define LANES_INDEPENDENT
#elif defined(__clang__)
#define LANES_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define LANES_INDEPENDENT _Pragma("GCC ivdep")
#endif

#if defined(ENV_LANES)
// States side by side: word w of environment e stands at words[w * stride + e], so a loop over environments that loads,
// steps and stores whole States becomes vector code.
constexpr int WORDS = (int)(sizeof(State) / 4);
static_assert(sizeof(State) % 4 == 0, "ENV_LANES needs a State of 4- and 8-byte members");
PUFFER_FN int stride_of(int envs) { return (envs + LANE_STEP - 1) / LANE_STEP * LANE_STEP; }
PUFFER_FN size_t bytes(int envs) { return (size_t)stride_of(envs) * sizeof(State); }
LANE_FN State get(const void* tile, int env, int envs) {
    const uint32_t* words = (const uint32_t*)tile + env;
    const int stride = stride_of(envs);
    uint32_t w[WORDS];
    for (int i = 0; i < WORDS; ++i) w[i] = words[i * stride];
    State s;
    memcpy(&s, w, sizeof s);
    return s;
}
LANE_FN void put(void* tile, int env, int envs, const State& s) {
    uint32_t* words = (uint32_t*)tile + env;
    const int stride = stride_of(envs);
    uint32_t w[WORDS];
    memcpy(w, &s, sizeof s);
    for (int i = 0; i < WORDS; ++i) words[i * stride] = w[i];
}
#else
PUFFER_FN size_t bytes(int envs) { return (size_t)envs * sizeof(State); }
LANE_FN State get(const void* tile, int env, int) { return ((const State*)tile)[env]; }
LANE_FN void put(void* tile, int env, int, const State& s) { ((State*)tile)[env] = s; }
#endif

LANE_FN void seed(void* tile, int envs, uint64_t seed, uint64_t first) {
    EACH_ITEM(e, envs) {
        State s;
        memset(&s, 0, sizeof s);
        random_seed(&s.random, seed, first + (uint64_t)e);
        put(tile, e, envs, s);
    }
}

LANE_FN void reset(void* tile, const Settings* c, int envs, const uint8_t* which) {
    EACH_ITEM(e, envs) {
        if (which && !which[e]) continue;
        State s = get(tile, e, envs);
        ::reset(&s, c);
        put(tile, e, envs, s);
    }
}

LANE_FN void step_one(State* s, const Settings* c, int e, int lanes, const int32_t* __restrict__ actions,
                      float* __restrict__ reward, uint8_t* __restrict__ terminal, uint8_t* __restrict__ truncated) {
    int32_t action[ENV_AGENTS][ENV_HEADS];
    for (int a = 0; a < ENV_AGENTS; ++a)
        for (int h = 0; h < ENV_HEADS; ++h) action[a][h] = actions[h * lanes + e * ENV_AGENTS + a];
    Step out = {};
    ::step(s, c, action, &out);
    for (int a = 0; a < ENV_AGENTS; ++a) {
        reward[e * ENV_AGENTS + a] = out.reward[a];
        terminal[e * ENV_AGENTS + a] = out.terminal[a];
        truncated[e * ENV_AGENTS + a] = out.truncated[a];
    }
}

LANE_FN void step(void* __restrict__ tile, const Settings* __restrict__ settings, int envs, int lanes,
                  const int32_t* __restrict__ actions, float* __restrict__ reward, uint8_t* __restrict__ terminal,
                  uint8_t* __restrict__ truncated) {
    const Settings c = *settings;
#if defined(ENV_LANES)
    LANES_INDEPENDENT
    EACH_ITEM(e, envs) {
        State s = get(tile, e, envs);
        step_one(&s, &c, e, lanes, actions, reward, terminal, truncated);
        put(tile, e, envs, s);
    }
#else
    EACH_ITEM(e, envs) step_one((State*)tile + e, &c, e, lanes, actions, reward, terminal, truncated);
#endif
}

LANE_FN void observe_rows(const void* __restrict__ tile, const Settings* __restrict__ c, int envs,
                          void* __restrict__ rows) {
    typedef Observation Row[ENV_FEATURES];
    EACH_ITEM(e, envs) {
#if defined(ENV_LANES)
        State s = get(tile, e, envs);
        ::observe(&s, c, (Row*)rows + e * ENV_AGENTS);
#else
        ::observe((const State*)tile + e, c, (Row*)rows + e * ENV_AGENTS);
#endif
    }
}

// Observations as the kernels want them, (features, lanes). Small ones, and all on a GPU, go there directly; large ones are
// written a row at a time, as the environment finds natural, and turned around in blocks that stay in the first-level
// cache.
LANE_FN void observe_lanes(const void* __restrict__ tile, const Settings* __restrict__ c, int envs, int lanes,
                           void* __restrict__ out) {
    Observation* to = (Observation*)out;
#if !defined(__CUDACC__)
    if (ENV_FEATURES * ENV_AGENTS <= 32)
#endif
    {
        LANES_INDEPENDENT
        EACH_ITEM(e, envs) {
            Observation row[ENV_AGENTS][ENV_FEATURES];
            State s = get(tile, e, envs);
            ::observe(&s, c, row);
            for (int a = 0; a < ENV_AGENTS; ++a)
                for (int f = 0; f < ENV_FEATURES; ++f) to[f * lanes + e * ENV_AGENTS + a] = row[a][f];
        }
        return;
    }
#if !defined(__CUDACC__)
    constexpr int BLOCK = ENV_AGENTS >= 16 ? 1 : 16 / ENV_AGENTS;  // environments: about 16 rows
    constexpr int ROWS = BLOCK * ENV_AGENTS;
    alignas(64) Observation rows[ROWS][ENV_FEATURES];
    for (int e0 = 0; e0 < envs; e0 += BLOCK) {
        const int here = envs - e0 < BLOCK ? envs - e0 : BLOCK;
        for (int e = 0; e < here; ++e) {
#if defined(ENV_LANES)
            State s = get(tile, e0 + e, envs);
            ::observe(&s, c, rows + e * ENV_AGENTS);
#else
            ::observe((const State*)tile + e0 + e, c, rows + e * ENV_AGENTS);
#endif
        }
        Observation* column = to + e0 * ENV_AGENTS;
        if (here == BLOCK) {
            for (int f = 0; f < ENV_FEATURES; ++f)
                for (int r = 0; r < ROWS; ++r) column[f * lanes + r] = rows[r][f];
        } else {
            for (int f = 0; f < ENV_FEATURES; ++f)
                for (int r = 0; r < here * ENV_AGENTS; ++r) column[f * lanes + r] = rows[r][f];
        }
    }
#endif
}

}  // namespace tile

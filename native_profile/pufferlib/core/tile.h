// The memory of a tile: its environments and what one horizon of them leaves behind. Lane = environment * agents + agent;
// lanes beyond the last agent are padding, kept at zero and left out of every sum.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct TileView {
    int32_t envs, agents;  // agents: of one environment
    int32_t rows, lanes;   // envs * agents, and that rounded up to LANE_STEP
    int32_t features, is_uint8;
    int64_t first_agent;       // of the whole batch, in lane 0
    void* state;               // tile_bytes(envs)
    void* observations;        // (T + 1, features, lanes), float32 or uint8
    int32_t* actions;          // (T, heads, lanes)
    float* log_probabilities;  // (T, lanes) of the actions when they were drawn
    float* values;             // (T + 1, lanes)
    float* rewards;            // (T, lanes)
    float* final_values;       // (T, lanes) value of the last observation, where truncated
    float* advantages;         // (T, lanes)
    uint8_t* terminals;        // (T, lanes)
    uint8_t* truncations;      // (T, lanes)
    float* episode_returns;    // (lanes) of the episodes under way
    int32_t* episode_lengths;  // (lanes)
};

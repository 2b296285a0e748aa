// What an environment library exports: one constant descriptor. Metadata for people and spaces, and functions over a tile
// of environments. The engine loads the library, checks `abi` and `descriptor_size`, and never looks inside a State.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "puffer/canvas.h"

#define PUFFER_ENVIRONMENT_ABI 1

extern "C" {

struct PufferSetting {
    const char* name;
    const char* help;
    int32_t is_float;  // the member of Settings is a float, otherwise an int32
    uint32_t offset;   // bytes into Settings
    double standard, low, high;
};

struct PufferStatistic {
    const char* name;
    const char* help;
};

enum { PUFFER_FLOAT32 = 0, PUFFER_UINT8 = 1 };

// A tile is memory of tile_bytes(envs) bytes that holds `envs` environments; lane = environment * agents + agent.
// Lane arrays have `lanes` >= envs * agents entries; what stands behind the last agent is never touched.
struct PufferEnvironment {
    uint32_t abi, descriptor_size;
    const char *name, *title, *task, *author;
    int32_t agents;
    int32_t observation_type;  // PUFFER_FLOAT32 or PUFFER_UINT8
    int32_t observation_rank, observation_shape[4], features;
    int32_t heads, action_sizes[16];
    int32_t num_settings, num_statistics;
    const PufferSetting* settings;
    const PufferStatistic* statistics;
    size_t state_size, settings_size;

    size_t (*tile_bytes)(int32_t envs);
    // Environment i of the tile gets the random stream first + i of `seed`; everything else is zeroed.
    void (*tile_seed)(void* tile, int32_t envs, uint64_t seed, uint64_t first);
    // Starts an episode in the environments with which[env] != 0, or in all when `which` is null.
    void (*tile_reset)(void* tile, const void* settings, int32_t envs, const uint8_t* which);
    // actions: (heads, lanes). reward, terminal, truncated: (lanes).
    void (*tile_step)(void* tile, const void* settings, int32_t envs, int32_t lanes, const int32_t* actions,
                      float* reward, uint8_t* terminal, uint8_t* truncated);
    void (*tile_observe_rows)(const void* tile, const void* settings, int32_t envs, void* rows);  // (rows, features)
    void (*tile_observe_lanes)(const void* tile, const void* settings, int32_t envs, int32_t lanes,
                               void* out);  // (features, lanes)
    void (*tile_statistics)(const void* tile, const void* settings, int32_t env, int32_t envs,
                            float* out);  // (num_statistics)
    void (*tile_load)(void* tile, int32_t env, int32_t envs, const void* state);
    void (*tile_store)(const void* tile, int32_t env, int32_t envs, void* state);
    void (*render)(const void* state, const void* settings, Canvas* canvas);
};

typedef const PufferEnvironment* (*PufferDescribe)(void);
}

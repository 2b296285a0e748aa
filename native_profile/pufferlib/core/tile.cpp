#include "tile.h"

#include <algorithm>

#include "trainer.h"

int envs_per_tile(const PufferEnvironment* environment) { return std::max(1, TILE_LANES / environment->agents); }

int round_up(int n, int step) { return (n + step - 1) / step * step; }

ActionHeads action_heads(const PufferEnvironment* environment) {
    ActionHeads heads = {};
    heads.count = environment->heads;
    for (int h = 0; h < heads.count; ++h) {
        heads.size[h] = environment->action_sizes[h];
        heads.logits += heads.size[h];
    }
    return heads;
}

Tile make_tile(const PufferEnvironment* e, int envs, int64_t first_agent, int horizon) {
    Tile tile;
    TileView& v = tile.view;
    v = {};
    v.envs = envs;
    v.agents = e->agents;
    v.rows = envs * e->agents;
    v.lanes = round_up(v.rows, LANE_STEP);
    v.features = e->features;
    v.is_uint8 = e->observation_type == PUFFER_UINT8;
    v.first_agent = first_agent;
    for (int pass = 0; pass < 2; ++pass) {
        Carver carve(tile.memory.as<void>());
        const size_t lanes = (size_t)v.lanes, steps = (size_t)horizon;
        v.state = carve.take<char>(e->tile_bytes(envs));
        v.observations = carve.take<char>((steps + 1) * v.features * lanes * (v.is_uint8 ? 1 : 4));
        v.actions = carve.take<int32_t>(steps * e->heads * lanes);
        v.log_probabilities = carve.take<float>(steps * lanes);
        v.values = carve.take<float>((steps + 1) * lanes);
        v.rewards = carve.take<float>(steps * lanes);
        v.final_values = carve.take<float>(steps * lanes);
        v.advantages = carve.take<float>(steps * lanes);
        v.terminals = carve.take<uint8_t>(steps * lanes);
        v.truncations = carve.take<uint8_t>(steps * lanes);
        v.episode_returns = carve.take<float>(lanes);
        v.episode_lengths = carve.take<int32_t>(lanes);
        if (pass == 0) tile.memory = AlignedMemory(carve.used());
    }
    tile.statistics.assign((size_t)e->num_statistics, 0.0);
    tile.episodes.reserve((size_t)v.rows);
    return tile;
}

// Environments alone under random actions: what `benchmarks/step.py` measures.
#include <algorithm>
#include <chrono>
#include <thread>

#include "trainer.h"

extern "C" {

PUFFER_API double puffer_benchmark_steps(const PufferEnvironment* e, const void* settings, int32_t num_envs,
                                         int32_t workers, int32_t layout, double seconds) {
    constexpr int DRAWS = 64;  // steps of precomputed actions, used in turn
    const int per_tile = envs_per_tile(e);
    std::vector<Tile> tiles;
    for (int first = 0; first < num_envs; first += per_tile) {
        tiles.push_back(make_tile(e, std::min(per_tile, num_envs - first), (int64_t)first * e->agents, DRAWS));
        const TileView& v = tiles.back().view;
        e->tile_seed(v.state, v.envs, 1, (uint64_t)first);
        e->tile_reset(v.state, settings, v.envs, nullptr);
        for (int t = 0; t < DRAWS; ++t)
            for (int h = 0; h < e->heads; ++h)
                for (int l = 0; l < v.rows; ++l) {
                    const uint32_t bits = philox_bits(1, ((uint64_t)t << 32) + (uint64_t)(v.first_agent + l),
                                                      (uint32_t)h, RANDOM_EVALUATION);
                    v.actions[((size_t)t * e->heads + h) * v.lanes + l] =
                        (int32_t)(((uint64_t)bits * (uint32_t)e->action_sizes[h]) >> 32);
                }
    }
    auto work = [&](int worker, double* rate) {
        const auto start = std::chrono::steady_clock::now();
        double elapsed = 0, steps = 0;
        std::vector<uint8_t> which((size_t)per_tile);
        do {
            for (size_t i = (size_t)worker; i < tiles.size(); i += (size_t)workers) {
                const TileView& v = tiles[i].view;
                const size_t bytes = (size_t)v.features * v.lanes * (v.is_uint8 ? 1 : 4);
                for (int t = 0; t < DRAWS; ++t) {
                    uint8_t* terminal = v.terminals + (size_t)t * v.lanes;
                    uint8_t* truncated = v.truncations + (size_t)t * v.lanes;
                    e->tile_step(v.state, settings, v.envs, v.lanes, v.actions + (size_t)t * e->heads * v.lanes,
                                 v.rewards + (size_t)t * v.lanes, terminal, truncated);
                    uint64_t any = 0, word;
                    for (int l = 0; l < v.lanes; l += 8) {
                        std::memcpy(&word, terminal + l, 8);
                        any |= word;
                        std::memcpy(&word, truncated + l, 8);
                        any |= word;
                    }
                    if (any) {
                        for (int env = 0; env < v.envs; ++env) {
                            which[(size_t)env] = 1;
                            for (int l = env * v.agents; l < (env + 1) * v.agents; ++l)
                                which[(size_t)env] &= terminal[l] | truncated[l];
                        }
                        e->tile_reset(v.state, settings, v.envs, which.data());
                    }
                    // The next observation stands in the place of its step, as a rollout would have it.
                    void* out = (char*)v.observations + bytes * (size_t)(layout == 1 ? t : 0);
                    if (layout == 0) e->tile_observe_rows(v.state, settings, v.envs, out);
                    if (layout == 1) e->tile_observe_lanes(v.state, settings, v.envs, v.lanes, out);
                }
                steps += (double)DRAWS * v.rows;
            }
            elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        } while (elapsed < seconds);
        *rate = steps / elapsed;
    };
    std::vector<double> rates((size_t)workers, 0.0);
    std::vector<std::thread> threads;
    for (int w = 1; w < workers; ++w) threads.emplace_back(work, w, &rates[(size_t)w]);
    work(0, &rates[0]);
    for (std::thread& t : threads) t.join();
    double total = 0;
    for (double r : rates) total += r;
    return total;
}
}

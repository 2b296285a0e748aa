// Generalized advantage estimation (J. Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage
// Estimation", 2016, equation 16), with the two ends of an episode kept apart: after a terminal step nothing follows; after
// a truncated one the value of the true last observation stands for what would have followed.
#pragma once
#include "lanes.h"
#include "tile.h"

LANE_FN vm load_flags(const uint8_t* p) {
#if LANE_WIDTH == 1
    return *p != 0;
#else
    typedef uint8_t vb __attribute__((vector_size(LANE_WIDTH)));
    vb b;
    memcpy(&b, p, sizeof b);
    return __builtin_convertvector(b, vi) != 0;
#endif
}

// Fills v.advantages (T, lanes).
LANE_FN void estimate_advantages(const TileView& v, int horizon, float gamma, float lambda) {
    EACH_LANE(l, v.lanes) {
        vf following = vf{};
        for (int t = horizon - 1; t >= 0; --t) {
            const size_t at = (size_t)t * v.lanes + l;
            const vm terminal = load_flags(v.terminals + at), truncated = load_flags(v.truncations + at);
            vf next = load(v.values + at + v.lanes);
            next = select(truncated, load(v.final_values + at), next);
            next = select(terminal, vf{}, next);
            following = select(terminal, vf{}, select(truncated, vf{}, following));
            const vf delta = load(v.rewards + at) + gamma * next - load(v.values + at);
            following = delta + gamma * lambda * following;
            store(v.advantages + at, following);
        }
    }
}

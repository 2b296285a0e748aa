// The learning rate over a run: constant, or annealed linearly or by a half cosine (I. Loshchilov, F. Hutter, "SGDR", 2017,
// without restarts) from `start` down to start * floor_ratio.
#pragma once
#include <cmath>
#include <cstdint>

enum Anneal : int32_t { ANNEAL_NONE = 0, ANNEAL_LINEAR = 1, ANNEAL_COSINE = 2 };

// progress in [0, 1].
static inline double annealed(int32_t kind, double start, double floor_ratio, double progress) {
    if (progress < 0) progress = 0;
    if (progress > 1) progress = 1;
    double left = 1.0;
    if (kind == ANNEAL_LINEAR) left = 1.0 - progress;
    if (kind == ANNEAL_COSINE) left = 0.5 * (1.0 + std::cos(3.141592653589793 * progress));
    return start * (floor_ratio + (1.0 - floor_ratio) * left);
}

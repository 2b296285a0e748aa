// Activation functions and their derivatives over lanes.
#pragma once
#include "lanes.h"

enum Activation : int32_t { ACTIVATION_TANH = 0, ACTIVATION_RELU = 1, ACTIVATION_GELU = 2 };

// GELU in its tanh form (D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units", 2016): 0.5 z (1 + tanh(u)),
// u = sqrt(2 / pi) (z + 0.044715 z^3).
LANE_FN vf gelu_inner(vf z) { return 0.797884561f * (z + 0.044715f * z * z * z); }

template <int KIND>
LANE_FN vf activate(vf z) {
    if (KIND == ACTIVATION_TANH) return lane_tanh(z);
    if (KIND == ACTIVATION_RELU) return larger(z, splat(0.0f));
    return 0.5f * z * (1.0f + lane_tanh(gelu_inner(z)));
}

// d activate / dz from what the forward pass kept: the output for tanh and relu, the input z for gelu.
template <int KIND>
LANE_FN vf activation_slope(vf kept) {
    if (KIND == ACTIVATION_TANH) return 1.0f - kept * kept;
    if (KIND == ACTIVATION_RELU) return select(kept > splat(0.0f), splat(1.0f), splat(0.0f));
    vf t = lane_tanh(gelu_inner(kept));
    vf inner_slope = 0.797884561f * (1.0f + 3.0f * 0.044715f * kept * kept);
    return 0.5f * (1.0f + t) + 0.5f * kept * (1.0f - t * t) * inner_slope;
}

// A multilayer perceptron in the lane layout: hidden layers of any number and width, then one product for all heads.
// What a rollout calls is free of the host's library, so that a GPU thread runs it as it stands.
#pragma once
#include <stddef.h>

#include "activation.h"
#include "linear.h"

enum { MLP_MAX_HIDDEN = 8 };

// Where everything stands in the flat parameters: layer i has weights (width[i + 1], width[i]) at weight[i] and biases at
// bias[i]. The last layer is the heads: logits of every action head, then the value.
struct MlpLayout {
    int32_t layers;  // hidden layers + 1
    int32_t activation;
    int32_t width[MLP_MAX_HIDDEN + 2];  // features, hidden ..., outputs
    size_t weight[MLP_MAX_HIDDEN + 1], bias[MLP_MAX_HIDDEN + 1];
    size_t parameters;
    int32_t widest;  // of the hidden layers
};

// y = f(W x + b); x (inputs, lanes), y (outputs, lanes). kept, when not null, receives z for the backward pass of gelu.
template <int KIND>
LANE_FN void mlp_hidden(const MlpLayout& m, int layer, const float* params, const float* x, int lanes, float* y,
                        float* kept) {
    const int inputs = m.width[layer], outputs = m.width[layer + 1];
    const float* bias = params + m.bias[layer];
    product(params + m.weight[layer], inputs, 1, outputs, inputs, x, lanes, [=](int row, int lane, vf sum) {
        vf z = sum + bias[row];
        if (KIND == ACTIVATION_GELU && kept) store(kept + (size_t)row * lanes + lane, z);
        store(y + (size_t)row * lanes + lane, activate<KIND>(z));
    });
}

LANE_FN void mlp_layer(const MlpLayout& m, int layer, const float* params, const float* x, int lanes, float* y,
                       float* kept) {
    if (layer == m.layers - 1) {
        const int inputs = m.width[layer], outputs = m.width[layer + 1];
        const float* bias = params + m.bias[layer];
        product(params + m.weight[layer], inputs, 1, outputs, inputs, x, lanes,
                [=](int row, int lane, vf sum) { store(y + (size_t)row * lanes + lane, sum + bias[row]); });
    } else if (m.activation == ACTIVATION_TANH) {
        mlp_hidden<ACTIVATION_TANH>(m, layer, params, x, lanes, y, kept);
    } else if (m.activation == ACTIVATION_RELU) {
        mlp_hidden<ACTIVATION_RELU>(m, layer, params, x, lanes, y, kept);
    } else {
        mlp_hidden<ACTIVATION_GELU>(m, layer, params, x, lanes, y, kept);
    }
}

// One step for a tile: x (features, lanes) to out (outputs, lanes). scratch: 2 * widest * lanes floats.
LANE_FN void mlp_step(const MlpLayout& m, const float* params, const float* x, int lanes, float* out, float* scratch) {
    const float* from = x;
    for (int layer = 0; layer < m.layers; ++layer) {
        float* to = layer == m.layers - 1 ? out : scratch + (size_t)(layer % 2) * m.widest * lanes;
        mlp_layer(m, layer, params, from, lanes, to, nullptr);
        from = to;
    }
}

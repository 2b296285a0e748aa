// The matrix products of a linear layer in the lane layout, where activations are (features, lanes) and weights are
// (outputs, inputs) as PyTorch stores them. An inner loop loads vectors of lanes and broadcasts weights; a block of outputs
// by columns stays in registers for the whole sum, which is what reaches the arithmetic limit without a BLAS.
#pragma once
#include "lanes.h"

#if LANE_WIDTH == 16
enum { BLOCK_ROWS = 4, BLOCK_VECTORS = 4 };  // 16 accumulators of 32 registers
#elif LANE_WIDTH == 8
enum { BLOCK_ROWS = 4, BLOCK_VECTORS = 2 };  // 8 accumulators of 16 registers
#elif LANE_WIDTH == 4
enum { BLOCK_ROWS = 4, BLOCK_VECTORS = 2 };
#else
enum { BLOCK_ROWS = 8, BLOCK_VECTORS = 1 };
#endif

// acc[r][c] = sum over k of w[r * row_step + k * k_step] * x[k * lanes + c]; then finish(row, lane, value) for each vector.
template <int R, int C, class Finish>
LANE_FN void product_block(const float* w, int row_step, int k_step, int k_count, const float* x, int lanes, int row, int lane,
                           Finish finish) {
    vf acc[R][C];
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) acc[r][c] = vf{};
    const float* column = x + lane;
    for (int k = 0; k < k_count; ++k) {
        vf v[C];
        for (int c = 0; c < C; ++c) v[c] = load(column + c * LANE_WIDTH);
        for (int r = 0; r < R; ++r) {
            const float weight = w[r * row_step + k * k_step];
            for (int c = 0; c < C; ++c) acc[r][c] += v[c] * weight;
        }
        column += lanes;
    }
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) finish(row + r, lane + c * LANE_WIDTH, acc[r][c]);
}

template <int C, class Finish>
LANE_FN void product_columns(const float* w, int row_step, int k_step, int rows, int k_count, const float* x, int lanes, int lane,
                             Finish finish) {
    int row = 0;
    for (; row + BLOCK_ROWS <= rows; row += BLOCK_ROWS)
        product_block<BLOCK_ROWS, C>(w + row * row_step, row_step, k_step, k_count, x, lanes, row, lane, finish);
    for (; row + 3 <= rows; row += 3)
        product_block<3, C>(w + row * row_step, row_step, k_step, k_count, x, lanes, row, lane, finish);
    for (; row < rows; ++row) product_block<1, C>(w + row * row_step, row_step, k_step, k_count, x, lanes, row, lane, finish);
}

// y (rows, lanes) = W x with W[r][k] at w[r * row_step + k * k_step] and x (k_count, lanes); `finish` receives the sums.
template <class Finish>
LANE_FN void product(const float* w, int row_step, int k_step, int rows, int k_count, const float* x, int lanes, Finish finish) {
#if LANE_WIDTH == 1
    EACH_LANE(l, lanes) product_columns<1>(w, row_step, k_step, rows, k_count, x, lanes, l, finish);
#else
    int l = 0;
    for (; l + BLOCK_VECTORS * LANE_WIDTH <= lanes; l += BLOCK_VECTORS * LANE_WIDTH)
        product_columns<BLOCK_VECTORS>(w, row_step, k_step, rows, k_count, x, lanes, l, finish);
    for (; l < lanes; l += LANE_WIDTH) product_columns<1>(w, row_step, k_step, rows, k_count, x, lanes, l, finish);
#endif
}

#if LANE_WIDTH > 1
// Sums of LANE_WIDTH vectors at once, three operations a pair of vectors.
template <int HALF>
LANE_FN vf fold_pair(vf a, vf b) {
    vi low, high;
    for (int i = 0; i < LANE_WIDTH; ++i) {
        const int group = i / (2 * HALF) * (2 * HALF), inside = i % (2 * HALF);
        const int from = inside < HALF ? group + inside : LANE_WIDTH + group + inside - HALF;
        low[i] = from;
        high[i] = from + HALF;
    }
    return __builtin_shuffle(a, b, low) + __builtin_shuffle(a, b, high);
}
// Folding vector i with vector i + half, half the count, until one vector is left, leaves the sum of vector i in lane i.
template <int COUNT>
LANE_FN vf fold_all(const vf* v) {
    if constexpr (COUNT == 1) {
        return v[0];
    } else {
        vf folded[COUNT / 2];
#pragma GCC unroll 16
        for (int i = 0; i < COUNT / 2; ++i) folded[i] = fold_pair<COUNT / 2>(v[i], v[i + COUNT / 2]);
        return fold_all<COUNT / 2>(folded);
    }
}

// dW (rows, columns) += sum over steps and lanes of dy (steps, rows, lanes) * x (steps, columns, lanes).
// x_step is the distance between two steps of x in floats (its block may be part of a larger one).
static inline void product_gradient(const float* dy, const float* x, int steps, int rows, int columns, int lanes, size_t dy_step,
                                    size_t x_step, float* dw) {
    constexpr int R = LANE_WIDTH == 16 ? 4 : (LANE_WIDTH == 8 ? 4 : 2), K = LANE_WIDTH / R;
    for (int row = 0; row < rows; row += R)
        for (int column = 0; column < columns; column += K) {
            // A block over the edge repeats its last row or column and drops what it made of it.
            int offset_r[R], offset_k[K];
            for (int r = 0; r < R; ++r) offset_r[r] = (row + r < rows ? row + r : rows - 1) * lanes;
            for (int k = 0; k < K; ++k) offset_k[k] = (column + k < columns ? column + k : columns - 1) * lanes;
            vf acc[LANE_WIDTH];
#pragma GCC unroll 16
            for (int i = 0; i < LANE_WIDTH; ++i) acc[i] = vf{};
            for (int t = 0; t < steps; ++t) {
                const float* a = dy + t * dy_step;
                const float* b = x + t * x_step;
                for (int l = 0; l < lanes; l += LANE_WIDTH) {
                    vf left[R], right[K];
                    for (int k = 0; k < K; ++k) right[k] = load(b + offset_k[k] + l);
                    for (int r = 0; r < R; ++r) left[r] = load(a + offset_r[r] + l);
#pragma GCC unroll 16
                    for (int i = 0; i < LANE_WIDTH; ++i) acc[i] += left[i / K] * right[i % K];
                }
            }
            float total[LANE_WIDTH];
            store(total, fold_all<LANE_WIDTH>(acc));
            for (int r = 0; r < R && row + r < rows; ++r)
                for (int k = 0; k < K && column + k < columns; ++k)
                    dw[(size_t)(row + r) * columns + column + k] += total[r * K + k];
        }
}

// db (rows) += sum over steps and lanes of dy (steps, rows, lanes).
static inline void bias_gradient(const float* dy, int steps, int rows, int lanes, size_t dy_step, float* db) {
    for (int r = 0; r < rows; ++r) {
        vf acc = vf{};
        for (int t = 0; t < steps; ++t)
            for (int l = 0; l < lanes; l += LANE_WIDTH) acc += load(dy + t * dy_step + (size_t)r * lanes + l);
        db[r] += sum_of(acc);
    }
}
#endif

// The matrix products of a linear layer in the lane layout, where activations are (features, lanes) and weights are
// (outputs, inputs) as PyTorch stores them. An inner loop loads vectors of lanes and broadcasts weights; a block of outputs
// by columns stays in registers for the whole sum, which is what reaches the arithmetic limit without a BLAS.
#pragma once
#include <cstddef>
#include <utility>

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
LANE_FN void product_block(const float* w, int row_step, int k_step, int k_count, const float* x, int lanes, int row,
                           int lane, Finish finish) {
    vf acc[R][C];
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) acc[r][c] = vf{};
    const float* column = x + lane;
    for (int k = 0; k < k_count; ++k) {
        vf v[C];
        for (int c = 0; c < C; ++c) v[c] = load_once(column + c * LANE_WIDTH);
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
LANE_FN void product_columns(const float* w, int row_step, int k_step, int rows, int k_count, const float* x, int lanes,
                             int lane, Finish finish) {
    int row = 0;
    for (; row + BLOCK_ROWS <= rows; row += BLOCK_ROWS)
        product_block<BLOCK_ROWS, C>(w + row * row_step, row_step, k_step, k_count, x, lanes, row, lane, finish);
    for (; row + 3 <= rows; row += 3)
        product_block<3, C>(w + row * row_step, row_step, k_step, k_count, x, lanes, row, lane, finish);
    for (; row < rows; ++row)
        product_block<1, C>(w + row * row_step, row_step, k_step, k_count, x, lanes, row, lane, finish);
}

// y (rows, lanes) = W x with W[r][k] at w[r * row_step + k * k_step] and x (k_count, lanes); `finish` receives the sums.
template <class Finish>
LANE_FN void product(const float* w, int row_step, int k_step, int rows, int k_count, const float* x, int lanes,
                     Finish finish) {
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
// Lane i of the result: from a where i stands in the lower half of its group of 2 * half lanes, otherwise from b; offset 0
// takes each group's first half, offset `half` its second.
constexpr int fold_source(int i, int half, int offset) {
    const int group = i / (2 * half) * (2 * half), inside = i % (2 * half);
    return offset + (inside < half ? group + inside : LANE_WIDTH + group + inside - half);
}
template <int HALF, size_t... I>
LANE_FN vf fold_pair(vf a, vf b, std::index_sequence<I...>) {
#if defined(__clang__)
    return __builtin_shufflevector(a, b, fold_source((int)I, HALF, 0)...) +
           __builtin_shufflevector(a, b, fold_source((int)I, HALF, HALF)...);
#else
    const vi low = {fold_source((int)I, HALF, 0)...}, high = {fold_source((int)I, HALF, HALF)...};
    return __builtin_shuffle(a, b, low) + __builtin_shuffle(a, b, high);
#endif
}

// Folding vector i with vector i + half, half the count, until one vector is left, leaves the sum of vector i in lane i.
template <int COUNT>
LANE_FN vf fold_all(const vf* v) {
    if constexpr (COUNT == 1) {
        return v[0];
    } else {
        vf folded[COUNT / 2];
#pragma GCC unroll 16
        for (int i = 0; i < COUNT / 2; ++i)
            folded[i] = fold_pair<COUNT / 2>(v[i], v[i + COUNT / 2], std::make_index_sequence<LANE_WIDTH>());
        return fold_all<COUNT / 2>(folded);
    }
}

template <int R>
static inline void product_gradient_blocks(const float* dy, const float* x, int steps, int rows, int columns, int lanes,
                                           size_t dy_step, size_t x_step, float* dw) {
    constexpr int K = LANE_WIDTH / R;
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
                    for (int k = 0; k < K; ++k) right[k] = load_once(b + offset_k[k] + l);
                    for (int r = 0; r < R; ++r) left[r] = load_once(a + offset_r[r] + l);
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

// dW (rows, columns) += sum over steps and lanes of dy (steps, rows, lanes) * x (steps, columns, lanes), whose steps stand
// dy_step and x_step floats apart. A block's rows of dy stay in the first-level cache while x streams by, so many rows a
// block are best, unless there are few rows at all.
static inline void product_gradient(const float* dy, const float* x, int steps, int rows, int columns, int lanes,
                                    size_t dy_step, size_t x_step, float* dw) {
    if (rows > 4)
        product_gradient_blocks<LANE_WIDTH == 4 ? 2 : LANE_WIDTH / 2>(dy, x, steps, rows, columns, lanes, dy_step,
                                                                      x_step, dw);
    else
        product_gradient_blocks<LANE_WIDTH == 4 ? 2 : 4>(dy, x, steps, rows, columns, lanes, dy_step, x_step, dw);
}

// db (rows) += sum over steps and lanes of dy (steps, rows, lanes). As many rows at once as a vector has lanes.
static inline void bias_gradient(const float* dy, int steps, int rows, int lanes, size_t dy_step, float* db) {
    for (int row = 0; row < rows; row += LANE_WIDTH) {
        vf acc[LANE_WIDTH];
        const int here = rows - row < LANE_WIDTH ? rows - row : LANE_WIDTH;
        for (int r = 0; r < LANE_WIDTH; ++r) acc[r] = vf{};
        for (int r = 0; r < here; ++r) {
            vf sum = vf{};
            for (int t = 0; t < steps; ++t)
                for (int l = 0; l < lanes; l += LANE_WIDTH)
                    sum += load(dy + t * dy_step + (size_t)(row + r) * lanes + l);
            acc[r] = sum;
        }
        float total[LANE_WIDTH];
        store(total, fold_all<LANE_WIDTH>(acc));
        for (int r = 0; r < here; ++r) db[row + r] += total[r];
    }
}
#endif

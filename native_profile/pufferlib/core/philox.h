// Philox4x32-10 (J. K. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011): random numbers as a pure
// function of (seed, counter). The engine draws with it everywhere, so a draw depends on what it is for (purpose, agent,
// step) and never on which worker makes it or what was drawn before; a resumed run has no generator state to restore.
#pragma once
#include "lanes.h"

// What a number is drawn for: the last counter word. Numbers of different purposes never coincide.
enum RandomPurpose : uint32_t { RANDOM_WEIGHTS = 1, RANDOM_SHUFFLE = 2, RANDOM_EVALUATION = 3, RANDOM_ACTION = 16 };

LANE_FN void multiply_high_low(vu a, uint32_t b, vu* high, vu* low) {
#if LANE_WIDTH == 1
    uint64_t p = (uint64_t)a * b;
    *high = (uint32_t)(p >> 32);
    *low = (uint32_t)p;
#else
    // 32 x 32 -> 64 bits on even and odd lanes apart, which is what the hardware multiplies.
    typedef uint64_t vw __attribute__((vector_size(LANE_WIDTH * 4)));
    vw wide;
    memcpy(&wide, &a, sizeof a);
    vw even = (wide & 0xffffffffULL) * (uint64_t)b, odd = (wide >> 32) * (uint64_t)b;
    vw h = (even >> 32) | (odd & 0xffffffff00000000ULL);
    memcpy(high, &h, sizeof h);
    *low = a * b;
#endif
}

LANE_FN void philox(vu counter[4], uint32_t key0, uint32_t key1) {
    for (int round = 0; round < 10; ++round) {
        vu high0, low0, high1, low1;
        multiply_high_low(counter[0], 0xD2511F53u, &high0, &low0);
        multiply_high_low(counter[2], 0xCD9E8D57u, &high1, &low1);
        vu c0 = high1 ^ counter[1] ^ key0, c2 = high0 ^ counter[3] ^ key1;
        counter[0] = c0;
        counter[1] = low1;
        counter[2] = c2;
        counter[3] = low0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

// Four vectors of uniform numbers in [0, 1), 24 bits, for `agents` at `step`.
LANE_FN void philox_uniform(uint64_t seed, vi agents, uint64_t step, uint32_t purpose, vf out[4]) {
    vu counter[4] = {(vu)agents, splat((uint32_t)step), splat((uint32_t)(step >> 32)), splat(purpose)};
    philox(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
    for (int i = 0; i < 4; ++i) out[i] = to_float((vi)(counter[i] >> 8)) * (1.0f / 16777216.0f);
}

// One draw of 32 bits without lanes: item `index` of `purpose`.
static inline uint32_t philox_bits(uint64_t seed, uint64_t index, uint32_t stage, uint32_t purpose) {
    uint32_t c[4] = {(uint32_t)index, (uint32_t)(index >> 32), stage, purpose};
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        uint64_t p0 = (uint64_t)c[0] * 0xD2511F53u, p1 = (uint64_t)c[2] * 0xCD9E8D57u;
        uint32_t c0 = (uint32_t)(p1 >> 32) ^ c[1] ^ key0, c2 = (uint32_t)(p0 >> 32) ^ c[3] ^ key1;
        c[0] = c0;
        c[1] = (uint32_t)p1;
        c[2] = c2;
        c[3] = (uint32_t)p0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return c[0];
}

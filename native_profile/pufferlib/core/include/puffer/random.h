/* Random numbers for environments: PCG32 (M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically
 * Good Algorithms for Random Number Generation", 2014).
 *
 * The generator lives inside an environment's State, so copying the State copies the future. Each environment has a
 * stream of its own: the run's seed gives the position, the environment's index gives the stream. */
#ifndef PUFFER_RANDOM_H
#define PUFFER_RANDOM_H

#include <stdint.h>

#if defined(__CUDACC__)
#define PUFFER_FN static __host__ __device__ inline
#else
#define PUFFER_FN static inline
#endif

typedef struct {
    uint64_t state;
    uint64_t stream; /* odd */
} Random;

/* 32 uniform bits. */
PUFFER_FN uint32_t random_bits(Random* r) {
    uint64_t old = r->state;
    r->state = old * 6364136223846793005ULL + r->stream;
    uint32_t word = (uint32_t)(((old >> 18u) ^ old) >> 27u);
    uint32_t turn = (uint32_t)(old >> 59u);
    return (word >> turn) | (word << ((0u - turn) & 31u));
}

PUFFER_FN void random_seed(Random* r, uint64_t seed, uint64_t stream) {
    r->state = 0;
    r->stream = (stream << 1) | 1u;
    random_bits(r);
    r->state += seed;
    random_bits(r);
}

/* Uniform in [0, 1), 24 bits. */
PUFFER_FN float random_uniform(Random* r) { return (float)(random_bits(r) >> 8) * (1.0f / 16777216.0f); }

/* Uniform in [low, high]; high itself only by rounding. */
PUFFER_FN float random_between(Random* r, float low, float high) { return low + (high - low) * random_uniform(r); }

/* Uniform integer in [0, n), n > 0: multiply and shift (Lemire 2019), whose bias is below n / 2^32. */
PUFFER_FN int random_below(Random* r, int n) { return (int)(((uint64_t)random_bits(r) * (uint64_t)n) >> 32); }

#endif

// Lanes: kernels are written once, over vectors of lanes. On a CPU a vector is a SIMD register and a function walks all
// lanes of a tile; on a GPU a vector is one float, a thread is a lane and a tile is a thread block. Lane arrays are padded
// to a multiple of LANE_STEP on every machine, so layouts do not depend on the register width.
#pragma once
#include <stdint.h>
#include <string.h>

#if !defined(__CUDACC__) && defined(__AVX2__)
#include <immintrin.h>
#endif

#define LANE_STEP 16

#if defined(__CUDACC__)
#define LANE_FN static __host__ __device__ __forceinline__
#define LANE_WIDTH 1
typedef float vf;
typedef int32_t vi;
typedef uint32_t vu;
typedef bool vm;
#if defined(__CUDA_ARCH__)
#define EACH_LANE(l, lanes) for (int l = (int)threadIdx.x; l < (lanes); l += (int)blockDim.x)
#define EACH_ITEM(i, count) for (int i = (int)threadIdx.x; i < (count); i += (int)blockDim.x)
#define LANES_MEET() __syncthreads()
#else
#define EACH_LANE(l, lanes) for (int l = 0; l < (lanes); ++l)
#define EACH_ITEM(i, count) for (int i = 0; i < (count); ++i)
#define LANES_MEET()
#endif
#else
#define LANE_FN static inline __attribute__((always_inline))
#if defined(__AVX512F__)
#define LANE_WIDTH 16
#elif defined(__AVX2__)
#define LANE_WIDTH 8
#else
#define LANE_WIDTH 4
#endif
typedef float vf __attribute__((vector_size(LANE_WIDTH * 4)));
typedef int32_t vi __attribute__((vector_size(LANE_WIDTH * 4)));
typedef uint32_t vu __attribute__((vector_size(LANE_WIDTH * 4)));
typedef vi vm;
#define EACH_LANE(l, lanes) for (int l = 0; l < (lanes); l += LANE_WIDTH)
#define EACH_ITEM(i, count) for (int i = 0; i < (count); ++i)
#define LANES_MEET()
#endif

LANE_FN vf load(const float* p) {
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}
LANE_FN vi load(const int32_t* p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}
// The same, kept in a register: where a vector is used several times, compilers like to load it anew for each use, and the
// loads, not the arithmetic, then set the pace.
LANE_FN vf load_once(const float* p) {
    vf v = load(p);
#if LANE_WIDTH == 16
    asm("" : "+v"(v));
#elif LANE_WIDTH > 1 && defined(__x86_64__)
    asm("" : "+x"(v));
#endif
    return v;
}
LANE_FN void store(float* p, vf v) { memcpy(p, &v, sizeof v); }
LANE_FN void store(int32_t* p, vi v) { memcpy(p, &v, sizeof v); }
LANE_FN vf splat(float x) { return vf{} + x; }
LANE_FN vi splat(int32_t x) { return vi{} + x; }
LANE_FN vu splat(uint32_t x) { return vu{} + x; }

#if LANE_WIDTH == 1
LANE_FN vi to_int(vf v) { return (int32_t)v; }
LANE_FN vf to_float(vi v) { return (float)v; }
#else
LANE_FN vi to_int(vf v) { return __builtin_convertvector(v, vi); }
LANE_FN vf to_float(vi v) { return __builtin_convertvector(v, vf); }
#endif
LANE_FN vi bits_of(vf v) {
    vi i;
    memcpy(&i, &v, sizeof v);
    return i;
}
LANE_FN vf float_of(vi v) {
    vf f;
    memcpy(&f, &v, sizeof v);
    return f;
}

LANE_FN vf select(vm m, vf a, vf b) { return m ? a : b; }
LANE_FN vi select(vm m, vi a, vi b) { return m ? a : b; }
#if LANE_WIDTH == 16
LANE_FN vf smaller(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
LANE_FN vf larger(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
#elif LANE_WIDTH == 8
LANE_FN vf smaller(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
LANE_FN vf larger(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
#else
LANE_FN vf smaller(vf a, vf b) { return select(a < b, a, b); }
LANE_FN vf larger(vf a, vf b) { return select(a > b, a, b); }
#endif

// The lane numbers 0, 1, ... of the vector that starts at lane l.
LANE_FN vi lane_numbers(int l) {
#if LANE_WIDTH == 1
    return (int32_t)l;
#else
    vi v;
    for (int i = 0; i < LANE_WIDTH; ++i) v[i] = l + i;
    return v;
#endif
}

LANE_FN float sum_of(vf v) {
#if LANE_WIDTH == 1
    return v;
#else
    float s = 0.0f;
    for (int i = 0; i < LANE_WIDTH; ++i) s += v[i];
    return s;
#endif
}

// e^x for |x| <= 87, clamped outside. Relative error below 3e-7 (Cody and Waite reduction, degree-6 polynomial).
LANE_FN vf lane_exp(vf x) {
    x = larger(smaller(x, splat(87.0f)), splat(-87.0f));
    vf k = (x * 1.44269504f + 12582912.0f) - 12582912.0f;  // nearest integer: 1.5 * 2^23 pushes the fraction out
    vf r = (x - k * 0.693145752f) - k * 1.42860677e-6f;
    vf p =
        1.0f +
        r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * (8.33333333e-3f + r * 1.38888889e-3f)))));
    return float_of(bits_of(p) + (to_int(k) << 23));
}

// ln x for normal x > 0. Absolute error below 2e-7 near 1, relative below 2e-7 elsewhere (atanh series on [sqrt(1/2), sqrt(2)]).
LANE_FN vf lane_log(vf x) {
    vi i = bits_of(x);
    vi e = (i - 0x3f3504f3) >> 23;  // exponent, with the mantissa put in [sqrt(1/2), sqrt(2))
    vf m = float_of(i - (e << 23));
    vf t = (m - 1.0f) / (m + 1.0f), s = t * t;
    vf p = t * (2.0f + s * (0.666666667f + s * (0.4f + s * (0.285714286f + s * 0.222222222f))));
    return to_float(e) * 0.693147181f + p;
}

// a / b for |b| in [1e-30, 1e30]: the processor's reciprocal estimate and one step of Newton's method where there is one.
// Relative error below 3e-7.
LANE_FN vf lane_divide(vf a, vf b) {
#if LANE_WIDTH == 16
    vf r = (vf)_mm512_rcp14_ps((__m512)b);
    return a * (r * (2.0f - b * r));
#elif LANE_WIDTH == 8
    vf r = (vf)_mm256_rcp_ps((__m256)b);
    return a * (r * (2.0f - b * r));
#else
    return a / b;
#endif
}

// tanh x = x P(x^2) / Q(x^2), a minimax fit on [-8, 8]; beyond, tanh is 1 to within 3e-7. Absolute error below 8e-7.
LANE_FN vf lane_tanh(vf x) {
    x = larger(smaller(x, splat(8.0f)), splat(-8.0f));
    const vf s = x * x;
    const vf p = 0.999999344f + s * (0.129136398f + s * (0.0029388261f + s * 1.13102087e-5f));
    const vf q = 1.0f + s * (0.462467372f + s * (0.0237638205f + s * (0.00023702826f + s * 2.42383692e-7f)));
    return lane_divide(x * p, q);
}

/* Sine and cosine for environments: polynomials without branches or library calls, so that a loop over environments
 * vectorizes and every compiler, language and device computes the same numbers.
 * Error: below 3e-7 absolute for |x| <= 64 (tests/environments/test_contract.py measures it). */
#ifndef PUFFER_MATHEMATICS_H
#define PUFFER_MATHEMATICS_H

#include "random.h"

#define PUFFER_PI 3.14159265358979323846f

/* x less the nearest multiple of pi, in two parts of pi so that nothing is lost to rounding; *turns is that multiple. */
PUFFER_FN float puffer_reduce_pi(float x, int32_t* turns) {
    float q = x * 0.318309886f;
    int32_t k = (int32_t)(q + (q >= 0.0f ? 0.5f : -0.5f));
    *turns = k;
    return (x - (float)k * 3.140625f) - (float)k * 9.67653589793e-4f;
}

PUFFER_FN float puffer_sin(float x) {
    int32_t k;
    float r = puffer_reduce_pi(x, &k), s = r * r;
    float y = r + r * s *
                      (-1.66666667e-1f +
                       s * (8.33333333e-3f + s * (-1.98412698e-4f + s * (2.75573192e-6f - s * 2.50521084e-8f))));
    return (k & 1) ? -y : y;
}

PUFFER_FN float puffer_cos(float x) {
    int32_t k;
    float r = puffer_reduce_pi(x, &k), s = r * r;
    float y =
        1.0f +
        s * (-0.5f + s * (4.16666667e-2f +
                          s * (-1.38888889e-3f + s * (2.48015873e-5f + s * (-2.75573192e-7f + s * 2.08767570e-9f)))));
    return (k & 1) ? -y : y;
}

PUFFER_FN float puffer_abs(float x) { return x < 0.0f ? -x : x; }
PUFFER_FN float puffer_clamp(float x, float low, float high) { return x < low ? low : (x > high ? high : x); }
PUFFER_FN int puffer_clamp_int(int x, int low, int high) { return x < low ? low : (x > high ? high : x); }

#endif

/* The most single-precision arithmetic that this machine does: fused multiply-adds on registers, nothing else.
 *
 *   fma_peak THREADS SECONDS   ->  one line of JSON, in GFLOP/s over all threads together (a fused multiply-add is two)
 *
 * The best of vectors of 4, 8 and 16 floats counts; which of them the machine has is the compiler's affair
 * (-march=native). More independent sums than the latency needs, and as many as fit the registers. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SUMS = 12, ROUNDS = 20000, MOST_THREADS = 256, WIDTHS = 3 };

typedef float Floats4 __attribute__((vector_size(16)));
typedef float Floats8 __attribute__((vector_size(32)));
typedef float Floats16 __attribute__((vector_size(64)));

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The sums stay in registers; the multiplier keeps them finite. */
#define KERNEL(name, Vector)                                                                               \
    __attribute__((noinline)) static float name(void) {                                                    \
        Vector sum[SUMS], factor = {0}, addend = {0};                                                      \
        factor = factor + 0.9999f, addend = addend + 1e-4f;                                                \
        for (int i = 0; i < SUMS; i++) sum[i] = addend * (float)i;                                         \
        for (long round = 0; round < ROUNDS; round++) {                                                    \
            _Pragma("GCC unroll 12") for (int i = 0; i < SUMS; i++) { sum[i] = sum[i] * factor + addend; } \
        }                                                                                                  \
        float total = 0;                                                                                   \
        for (int i = 0; i < SUMS; i++) total += sum[i][0];                                                 \
        return total;                                                                                      \
    }
KERNEL(run4, Floats4)
KERNEL(run8, Floats8)
KERNEL(run16, Floats16)

static float (*const kernels[WIDTHS])(void) = {run4, run8, run16};
static const double flop[WIDTHS] = {2.0 * 4 * SUMS * ROUNDS, 2.0 * 8 * SUMS * ROUNDS, 2.0 * 16 * SUMS * ROUNDS};

static pthread_barrier_t together;
static double each;
static double rates[MOST_THREADS][WIDTHS];
static volatile float kept[MOST_THREADS];

static void* work(void* number) {
    const intptr_t id = (intptr_t)number;
    for (int width = 0; width < WIDTHS; width++) {
        kept[id] = kernels[width]();
        pthread_barrier_wait(&together);
        double begin = seconds(), elapsed, done = 0;
        do {
            kept[id] = kernels[width]();
            done += flop[width];
            elapsed = seconds() - begin;
        } while (elapsed < each);
        rates[id][width] = done / elapsed / 1e9;
    }
    return NULL;
}

int main(int count, char** arguments) {
    int threads = count == 3 ? atoi(arguments[1]) : 0;
    each = count == 3 ? atof(arguments[2]) / WIDTHS : 0;
    if (threads < 1 || threads > MOST_THREADS || !(each > 0 && each < 60)) {
        fprintf(stderr, "usage: fma_peak THREADS SECONDS\n");
        return 2;
    }
    pthread_t started[MOST_THREADS];
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (intptr_t i = 0; i < threads; i++)
        if (pthread_create(&started[i], NULL, work, (void*)i)) return 2;
    for (int i = 0; i < threads; i++) pthread_join(started[i], NULL);
    double best = 0, of[WIDTHS] = {0};
    for (int width = 0; width < WIDTHS; width++) {
        for (int i = 0; i < threads; i++) of[width] += rates[i][width];
        if (of[width] > best) best = of[width];
    }
    printf(
        "{\"threads\": %d, \"gflops\": %.1f, \"vectors_of_4\": %.1f, \"vectors_of_8\": %.1f, \"vectors_of_16\": "
        "%.1f}\n",
        threads, best, of[0], of[1], of[2]);
    return 0;
}

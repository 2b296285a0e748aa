/* How fast one core can step CartPole-v1 with nothing around it: the limit that environment speeds are compared with.
 *
 *   cartpole_loop scalar|lanes ENVIRONMENTS SECONDS   ->  one line of JSON
 *
 * scalar: an array of structs and the C library's sine and cosine, as a plain environment would be written.
 * lanes:  a structure of arrays, no branch, polynomials for sine and cosine, so that the compiler makes vectors of it.
 * Both do what an environment must: read an action, write four observations a row, reward, terminal and truncated, end
 * an episode after 500 steps, and draw the next start at random. Which flags it was compiled with decides what it is. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIMIT = 500, ACTION_SETS = 16, WARM = 256, CALLS = 32 };
static const float GRAVITY = 9.8f, MASS = 1.1f, POLE_MASS = 0.1f, LENGTH = 0.5f, MOMENT = 0.05f, PUSH = 10.0f,
                   TAU = 0.02f, FAR = 2.4f, LEAN = 0.20943951f;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static inline uint32_t xorshift(uint32_t x) {
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ (x << 5);
}
static inline float start(uint32_t bits) { return (float)(int32_t)(bits >> 8) * (0.1f / 16777216.0f) - 0.05f; }

/* What an environment writes. observation: (n, 4); the others: (n). */
typedef struct {
    float *observation, *reward;
    int32_t *terminal, *truncated;
} Outputs;

typedef struct {
    float position, velocity, angle, spin;
    int32_t steps;
    uint32_t random;
} Cart;

static float draw(Cart* c) { return start(c->random = xorshift(c->random)); }
static void restart(Cart* c) {
    c->position = draw(c), c->velocity = draw(c), c->angle = draw(c), c->spin = draw(c);
    c->steps = 0;
}

__attribute__((noinline)) static void step_scalar(Cart* carts, int n, const int32_t* actions, Outputs out) {
    for (int i = 0; i < n; i++) {
        Cart* c = carts + i;
        float cosine = cosf(c->angle), sine = sinf(c->angle);
        float pull = ((actions[i] ? PUSH : -PUSH) + MOMENT * c->spin * c->spin * sine) / MASS;
        float turn = (GRAVITY * sine - cosine * pull) / (LENGTH * (4.0f / 3.0f - POLE_MASS * cosine * cosine / MASS));
        float acceleration = pull - MOMENT * turn * cosine / MASS;
        c->position += TAU * c->velocity, c->velocity += TAU * acceleration;
        c->angle += TAU * c->spin, c->spin += TAU * turn;
        c->steps++;
        int fallen = fabsf(c->position) > FAR || fabsf(c->angle) > LEAN;
        out.reward[i] = 1.0f;
        out.terminal[i] = fallen;
        out.truncated[i] = !fallen && c->steps >= LIMIT;
        if (fallen || c->steps >= LIMIT) restart(c);
        memcpy(out.observation + 4 * i, &c->position, 4 * sizeof(float));
    }
}

/* Carts side by side, one array a quantity: position, velocity, angle, spin, steps, random, each (n). */
typedef struct {
    float* f[4];
    int32_t* steps;
    uint32_t* random;
} Lanes;

__attribute__((noinline)) static void step_lanes(Lanes s, int n, const int32_t* actions, Outputs out) {
    float *position = s.f[0], *velocity = s.f[1], *angle = s.f[2], *spin = s.f[3];
#pragma GCC ivdep /* no two of these arrays overlap */
    for (int i = 0; i < n; i++) {
        float a = angle[i], a2 = a * a; /* |a| stays under 0.3, where these are exact to a float's last place or two */
        float sine = a * (1.0f + a2 * (-1.0f / 6 + a2 * (1.0f / 120 - a2 * (1.0f / 5040))));
        float cosine = 1.0f + a2 * (-0.5f + a2 * (1.0f / 24 + a2 * (-1.0f / 720 + a2 * (1.0f / 40320))));
        float pull = ((actions[i] ? PUSH : -PUSH) + MOMENT * spin[i] * spin[i] * sine) * (1.0f / 1.1f);
        float turn = (GRAVITY * sine - cosine * pull) / (LENGTH * (4.0f / 3.0f - (0.1f / 1.1f) * cosine * cosine));
        float acceleration = pull - (0.05f / 1.1f) * turn * cosine;
        float x = position[i] + TAU * velocity[i], v = velocity[i] + TAU * acceleration;
        float t = a + TAU * spin[i], w = spin[i] + TAU * turn;
        int32_t count = s.steps[i] + 1;
        int32_t fallen = (fabsf(x) > FAR) | (fabsf(t) > LEAN), over = fallen | (count >= LIMIT);
        uint32_t r0 = xorshift(s.random[i]), r1 = r0 * 747796405u + 2891336453u, r2 = r1 * 747796405u + 2891336453u,
                 r3 = r2 * 747796405u + 2891336453u;
        position[i] = over ? start(r0) : x, velocity[i] = over ? start(r1) : v;
        angle[i] = over ? start(r2) : t, spin[i] = over ? start(r3) : w;
        s.steps[i] = over ? 0 : count;
        s.random[i] = r0;
        out.reward[i] = 1.0f;
        out.terminal[i] = fallen;
        out.truncated[i] = over & ~fallen;
    }
#pragma GCC ivdep
    for (int i = 0; i < n; i++) {
        out.observation[4 * i] = position[i], out.observation[4 * i + 1] = velocity[i];
        out.observation[4 * i + 2] = angle[i], out.observation[4 * i + 3] = spin[i];
    }
}

static void* room(size_t bytes) {
    void* memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory) exit(2);
    return memset(memory, 0, (bytes + 63) / 64 * 64);
}

int main(int count, char** arguments) {
    int lanes = count == 4 && !strcmp(arguments[1], "lanes"), scalar = count == 4 && !strcmp(arguments[1], "scalar");
    int n = count == 4 ? atoi(arguments[2]) : 0;
    double limit = count == 4 ? atof(arguments[3]) : 0;
    if ((!lanes && !scalar) || n < 1 || n > 1 << 24 || !(limit > 0 && limit < 600)) {
        fprintf(stderr, "usage: cartpole_loop scalar|lanes ENVIRONMENTS SECONDS\n");
        return 2;
    }
    size_t z = (size_t)n;
    uint32_t random = 12345;
    int32_t* actions = room(z * ACTION_SETS * sizeof *actions);
    for (size_t i = 0; i < z * ACTION_SETS; i++) actions[i] = (int32_t)((random = xorshift(random)) >> 16 & 1);
    Outputs out = {room(z * 16), room(z * 4), room(z * 4), room(z * 4)};
    Cart* carts = room(z * sizeof *carts);
    Lanes s = {{room(z * 4), room(z * 4), room(z * 4), room(z * 4)}, room(z * 4), room(z * 4)};
    for (int i = 0; i < n; i++) {
        carts[i].random = random = xorshift(random);
        restart(carts + i);
        s.f[0][i] = carts[i].position, s.f[1][i] = carts[i].velocity, s.f[2][i] = carts[i].angle,
        s.f[3][i] = carts[i].spin;
        s.random[i] = random;
    }
    double ended = 0, steps = 0, begin = 0, elapsed = 0;
    for (long call = 0; call < WARM || elapsed < limit; call++) {
        if (call == WARM) begin = seconds();
        const int32_t* chosen = actions + z * (size_t)(call % ACTION_SETS);
        if (lanes)
            step_lanes(s, n, chosen, out);
        else
            step_scalar(carts, n, chosen, out);
        if (call < WARM)
            for (int i = 0; i < n; i++) ended += out.terminal[i] | out.truncated[i];
        else
            steps += n;
        if (call >= WARM && call % CALLS == 0) elapsed = seconds() - begin;
    }
    elapsed = seconds() - begin;
    printf("{\"variant\": \"%s\", \"environments\": %d, \"steps_per_second\": %.0f, \"episode_length\": %.2f}\n",
           arguments[1], n, steps / elapsed, (double)WARM * n / (ended > 0 ? ended : 1));
    return 0;
}

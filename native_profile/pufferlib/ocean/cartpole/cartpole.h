/* CartPole: the dynamics, limits, start and 500-step truncation of Gymnasium's CartPole-v1 (explicit Euler; A. G. Barto,
 * R. S. Sutton, C. W. Anderson, "Neuronlike Adaptive Elements That Can Solve Difficult Learning Control Problems", 1983),
 * in float32. Free of branches, so that a vector of carts is stepped at once. */
#define ENV_NAME "cartpole"
#define ENV_TITLE "CartPole"
#define ENV_TASK "Keep a pole upright by pushing its cart left or right."
#define ENV_AUTHOR "pufferlib-skill contributors"
#define ENV_AGENTS 1
#define ENV_OBSERVATION F32(4)
#define ENV_ACTION DISCRETE(2)
#define ENV_SETTINGS(SETTING)                                                                             \
    SETTING(int, max_steps, 500, 1, 1000000, "steps until an episode is truncated")                       \
    SETTING(float, gravity, 9.8, 0.0, 100.0, "acceleration of gravity, m/s^2")                            \
    SETTING(float, cart_mass, 1.0, 0.01, 100.0, "mass of the cart, kg")                                   \
    SETTING(float, pole_mass, 0.1, 0.001, 100.0, "mass of the pole, kg")                                  \
    SETTING(float, pole_half_length, 0.5, 0.01, 100.0, "distance from the pivot to the pole's centre, m") \
    SETTING(float, force, 10.0, 0.0, 1000.0, "push in either direction, N")                               \
    SETTING(float, time_step, 0.02, 0.0001, 1.0, "simulated time of one step, s")                         \
    SETTING(float, position_limit, 2.4, 0.1, 1000.0, "an episode ends when the cart is farther out, m")   \
    SETTING(float, angle_limit, 0.20943951, 0.01, 3.0, "an episode ends when the pole leans farther, rad")
#define ENV_STATISTICS(STATISTIC) STATISTIC(balanced, "1 if the pole was still up at the step limit, otherwise 0")
#define ENV_LANES
#include "puffer/environment.h"

typedef struct {
    Random random;
    float position, velocity, angle, spin; /* m, m/s, rad, rad/s */
    int32_t steps;
    int32_t fallen;
} State;

PUFFER_FN void reset(State* s, const Settings* c) {
    (void)c;
    s->position = random_between(&s->random, -0.05f, 0.05f);
    s->velocity = random_between(&s->random, -0.05f, 0.05f);
    s->angle = random_between(&s->random, -0.05f, 0.05f);
    s->spin = random_between(&s->random, -0.05f, 0.05f);
    s->steps = 0;
    s->fallen = 0;
}

/* Actions: 0 pushes left, 1 right. Every step pays 1, the last included. */
PUFFER_FN void step(State* s, const Settings* c, const int32_t action[ENV_AGENTS][ENV_HEADS], Step* out) {
    float push = action[0][0] == 1 ? c->force : -c->force;
    float total_mass = c->cart_mass + c->pole_mass;
    float moment = c->pole_mass * c->pole_half_length;
    float sine = puffer_sin(s->angle), cosine = puffer_cos(s->angle);
    float pull = (push + moment * s->spin * s->spin * sine) / total_mass;
    float spin_rate = (c->gravity * sine - cosine * pull) /
                      (c->pole_half_length * (4.0f / 3.0f - c->pole_mass * cosine * cosine / total_mass));
    float acceleration = pull - moment * spin_rate * cosine / total_mass;
    s->position += c->time_step * s->velocity;
    s->velocity += c->time_step * acceleration;
    s->angle += c->time_step * s->spin;
    s->spin += c->time_step * spin_rate;
    s->steps++;
    int32_t out_of_bounds = puffer_abs(s->position) > c->position_limit,
            too_steep = puffer_abs(s->angle) > c->angle_limit;
    int32_t fallen = out_of_bounds | too_steep;
    s->fallen = fallen;
    out->reward[0] = 1.0f;
    out->terminal[0] = (uint8_t)fallen;
    out->truncated[0] = (uint8_t)((fallen ^ 1) & (s->steps >= c->max_steps));
}

PUFFER_FN void observe(const State* s, const Settings* c, Observation row[ENV_AGENTS][ENV_FEATURES]) {
    (void)c;
    row[0][0] = s->position;
    row[0][1] = s->velocity;
    row[0][2] = s->angle;
    row[0][3] = s->spin;
}

PUFFER_FN void statistics(const State* s, const Settings* c, Statistics* out) {
    (void)c;
    out->balanced = s->fallen ? 0.0f : 1.0f;
}

PUFFER_FN void render(const State* s, const Settings* c, Canvas* canvas) {
    const float middle = c->position_limit + 0.4f, ground = 2.0f, length = 2.0f * c->pole_half_length;
    float x = middle + s->position;
    canvas_begin(canvas, 2.0f * middle, 2.6f, 0xF7F5F0u);
    draw_line(canvas, 0x9AA0A6u, 0.0f, ground, 2.0f * middle, ground, 0.02f);
    draw_rectangle(canvas, 0x26415Eu, x - 0.25f, ground - 0.15f, 0.5f, 0.3f);
    draw_line(canvas, 0xD1812Fu, x, ground - 0.15f, x + length * puffer_sin(s->angle),
              ground - 0.15f - length * puffer_cos(s->angle), 0.1f);
    draw_circle(canvas, 0x7A8FB8u, x, ground - 0.15f, 0.06f);
}

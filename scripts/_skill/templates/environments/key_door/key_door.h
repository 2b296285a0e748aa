/* Key and door: a walker on a 7 x 7 board fetches a key and then goes to the door. A C environment; the contract stands in
 * native_profile/pufferlib/core/include/puffer/environment.h and is explained in references/environments.md. */
#define ENV_NAME "key_door"
#define ENV_TITLE "Key and door"
#define ENV_TASK "Fetch the key on a 7 x 7 board, then walk to the door."
#define ENV_AUTHOR "you"
#define ENV_AGENTS 1
#define ENV_OBSERVATION U8(3, 7, 7)
#define ENV_ACTION DISCRETE(5)
#define ENV_SETTINGS(SETTING) SETTING(int, max_steps, 60, 1, 10000, "steps until an episode is truncated")
#define ENV_STATISTICS(STATISTIC)                         \
    STATISTIC(key, "1 if the key was found, otherwise 0") \
    STATISTIC(opened, "1 if the door was reached with the key, otherwise 0")
#include "puffer/environment.h"

enum { SIDE = 7, CELLS = SIDE * SIDE };

/* All state in one struct of fixed size; Random comes first. No pointers, no globals, no clock. */
typedef struct {
    Random random;
    int32_t place, key, door, has_key, steps;
} State;

PUFFER_FN void reset(State* s, const Settings* c) {
    (void)c;
    s->place = random_below(&s->random, CELLS);
    s->key = (s->place + 1 + random_below(&s->random, CELLS - 1)) % CELLS;
    do {
        s->door = random_below(&s->random, CELLS);
    } while (s->door == s->place || s->door == s->key);
    s->has_key = 0;
    s->steps = 0;
}

/* Steps from the walker to what it needs next. */
PUFFER_FN int steps_away(const State* s) {
    int goal = s->has_key ? s->door : s->key;
    int rows = s->place / SIDE - goal / SIDE, columns = s->place % SIDE - goal % SIDE;
    return (rows < 0 ? -rows : rows) + (columns < 0 ? -columns : columns);
}

/* Actions: 0 stay, 1 up, 2 down, 3 left, 4 right. The key pays 0.5 and the door 1; coming nearer to the next of them pays
 * 0.05 and going away -0.05; each step costs 0.01. */
PUFFER_FN void step(State* s, const Settings* c, const int32_t action[ENV_AGENTS][ENV_HEADS], Step* out) {
    int32_t a = action[0][0], before = steps_away(s);
    int row = puffer_clamp_int(s->place / SIDE + (a == 2) - (a == 1), 0, SIDE - 1);
    int column = puffer_clamp_int(s->place % SIDE + (a == 4) - (a == 3), 0, SIDE - 1);
    s->place = row * SIDE + column;
    s->steps++;
    float reward = 0.05f * (float)(before - steps_away(s)) - 0.01f;
    int opened = s->has_key && s->place == s->door;
    if (!s->has_key && s->place == s->key) {
        s->has_key = 1;
        reward += 0.5f;
    }
    out->reward[0] = reward + (float)opened;
    out->terminal[0] = (uint8_t)opened;
    out->truncated[0] = (uint8_t)(!opened && s->steps >= c->max_steps);
}

/* Three planes of 0 and 1: the walker; the key, until it is taken; the door, once the key is there. */
PUFFER_FN void observe(const State* s, const Settings* c, Observation row[ENV_AGENTS][ENV_FEATURES]) {
    (void)c;
    memset(row[0], 0, ENV_FEATURES);
    row[0][s->place] = 1;
    row[0][CELLS + s->key] = (Observation)!s->has_key;
    row[0][2 * CELLS + s->door] = (Observation)s->has_key;
}

PUFFER_FN void statistics(const State* s, const Settings* c, Statistics* out) {
    (void)c;
    out->key = (float)s->has_key;
    out->opened = s->has_key && s->place == s->door ? 1.0f : 0.0f;
}

PUFFER_FN void render(const State* s, const Settings* c, Canvas* canvas) {
    (void)c;
    canvas_begin(canvas, SIDE, SIDE, 0x10243Eu);
    draw_rectangle(canvas, 0xF2B134u, (float)(s->door % SIDE) + 0.1f, (float)(s->door / SIDE) + 0.1f, 0.8f, 0.8f);
    draw_circle(canvas, s->has_key ? 0x10243Eu : 0xE4572Eu, (float)(s->key % SIDE) + 0.5f,
                (float)(s->key / SIDE) + 0.5f, 0.2f);
    draw_circle(canvas, 0x4FC3C8u, (float)(s->place % SIDE) + 0.5f, (float)(s->place / SIDE) + 0.5f, 0.4f);
}

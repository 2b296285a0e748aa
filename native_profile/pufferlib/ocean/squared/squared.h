/* Squared, the tutorial: the shortest environment that has everything. A dot walks on an 11 x 11 board to a goal. */
#define ENV_NAME "squared"
#define ENV_TITLE "Squared"
#define ENV_TASK "Walk to the goal on an 11 x 11 board."
#define ENV_AUTHOR "pufferlib-skill contributors"
#define ENV_AGENTS 1
#define ENV_OBSERVATION U8(11, 11)
#define ENV_ACTION DISCRETE(5)
#define ENV_SETTINGS(SETTING) SETTING(int, max_steps, 40, 1, 10000, "steps until an episode is truncated")
#define ENV_STATISTICS(STATISTIC) STATISTIC(reached, "1 if the episode ended on the goal, 0 if it ran out of steps")
#include "puffer/environment.h"

enum { SIDE = 11, CELLS = SIDE * SIDE, EMPTY = 0, WALKER = 1, GOAL = 2 };

typedef struct {
    Random random;
    int32_t row, column, goal, steps;
} State;

PUFFER_FN void reset(State* s, const Settings* c) {
    (void)c;
    s->row = s->column = SIDE / 2;
    s->goal = random_below(&s->random, CELLS - 1);
    s->goal += s->goal >= CELLS / 2; /* every cell but the walker's */
    s->steps = 0;
}

PUFFER_FN int steps_away(const State* s) {
    int rows = s->row - s->goal / SIDE, columns = s->column - s->goal % SIDE;
    return (rows < 0 ? -rows : rows) + (columns < 0 ? -columns : columns);
}

/* Actions: 0 stay, 1 up, 2 down, 3 left, 4 right. Walls hold. Reaching the goal pays 1, coming nearer 0.1 and going away
 * -0.1; each step costs 0.01. */
PUFFER_FN void step(State* s, const Settings* c, const int32_t action[ENV_AGENTS][ENV_HEADS], Step* out) {
    int32_t a = action[0][0], before = steps_away(s);
    s->row = puffer_clamp_int(s->row + (a == 2) - (a == 1), 0, SIDE - 1);
    s->column = puffer_clamp_int(s->column + (a == 4) - (a == 3), 0, SIDE - 1);
    s->steps++;
    int after = steps_away(s), there = after == 0;
    out->reward[0] = (float)there + 0.1f * (float)(before - after) - 0.01f;
    out->terminal[0] = (uint8_t)there;
    out->truncated[0] = (uint8_t)(!there & (s->steps >= c->max_steps));
}

PUFFER_FN void observe(const State* s, const Settings* c, Observation row[ENV_AGENTS][ENV_FEATURES]) {
    (void)c;
    memset(row[0], EMPTY, CELLS);
    row[0][s->goal] = GOAL;
    row[0][s->row * SIDE + s->column] = WALKER;
}

PUFFER_FN void statistics(const State* s, const Settings* c, Statistics* out) {
    (void)c;
    out->reached = steps_away(s) == 0 ? 1.0f : 0.0f;
}

PUFFER_FN void render(const State* s, const Settings* c, Canvas* canvas) {
    (void)c;
    canvas_begin(canvas, SIDE, SIDE, 0x10243Eu);
    draw_rectangle(canvas, 0xF2B134u, (float)(s->goal % SIDE) + 0.1f, (float)(s->goal / SIDE) + 0.1f, 0.8f, 0.8f);
    draw_circle(canvas, 0x4FC3C8u, (float)s->column + 0.5f, (float)s->row + 0.5f, 0.4f);
}

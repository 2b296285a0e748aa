/* The environment contract. An environment is one header, valid as C, C++ and CUDA device code:
 *
 *   #define ENV_NAME "squared"                     the folder's and the header's name
 *   #define ENV_TITLE, ENV_TASK, ENV_AUTHOR        one line each, for people
 *   #define ENV_AGENTS 1                           rows that the environment owns
 *   #define ENV_OBSERVATION U8(11, 11)             or F32(...): 1 to 4 dimensions, one row an agent
 *   #define ENV_ACTION DISCRETE(5)                 or MULTI_DISCRETE(9, 5): up to 16 heads
 *   #define ENV_SETTINGS(SETTING)     SETTING(int, max_steps, 60, 1, 10000, "...")   type, name, default, low, high, help
 *   #define ENV_STATISTICS(STATISTIC) STATISTIC(reached, "...")                      name, meaning; sent at episode end
 *   (at least one of each)
 *   #include "puffer/environment.h"                gives Settings, Statistics, Observation, Step, Random, Canvas
 *
 *   typedef struct { Random random; ... } State;   all state, of fixed size: no pointers; random comes first
 *   PUFFER_FN void reset(State*, const Settings*)              starts an episode
 *   PUFFER_FN void step(State*, const Settings*, const int32_t action[ENV_AGENTS][ENV_HEADS], Step*)
 *   PUFFER_FN void observe(const State*, const Settings*, Observation row[ENV_AGENTS][ENV_FEATURES])
 *   PUFFER_FN void statistics(const State*, const Settings*, Statistics*)   at the end of an episode
 *   PUFFER_FN void render(const State*, const Settings*, Canvas*)
 *
 * These are pure functions of their arguments: no globals, no heap, no C library randomness, no input or output, no clock.
 *
 * The engine, not the environment, starts the next episode. A Step arrives zeroed. `terminal[a]`: the task ended for agent
 * a by its own rules, and nothing of value follows. `truncated[a]`: the episode was cut (a step limit) and would have gone
 * on. An episode of the environment ends at the step that flags every agent; the engine then observes that last state
 * (it is what truncated returns are bootstrapped from), takes the statistics, and calls reset. An agent that is flagged
 * terminal while others go on has ended an episode of its own and is put back into play by `step` itself; truncation
 * always flags every agent at once.
 *
 * ENV_LANES, defined before the include, says that `step` and `observe` are free of branches that matter (selects, not
 * jumps) and that State holds only 4- and 8-byte members: the engine then stores States with environments side by side
 * and steps a whole vector of them at once. It changes speed, never results. */
#ifndef PUFFER_ENVIRONMENT_H
#define PUFFER_ENVIRONMENT_H

#include <stdint.h>
#include <string.h>

#include "canvas.h"
#include "mathematics.h"
#include "random.h"

#define F32(...) float, __VA_ARGS__
#define U8(...) uint8_t, __VA_ARGS__
#define DISCRETE(n) n
#define MULTI_DISCRETE(...) __VA_ARGS__

#define PUFFER_FIRST_(a, ...) a
#define PUFFER_FIRST(...) PUFFER_FIRST_(__VA_ARGS__, 0)
#define PUFFER_PRODUCT_(type, a, b, c, d, ...) ((a) * (b) * (c) * (d))
#define PUFFER_PRODUCT(...) PUFFER_PRODUCT_(__VA_ARGS__, 1, 1, 1, 1)
#define PUFFER_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count
#define PUFFER_COUNT(...) PUFFER_COUNT_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define PUFFER_SETTING_FIELD(type, name, standard, low, high, help) type name;
#define PUFFER_STATISTIC_FIELD(name, meaning) float name;

typedef PUFFER_FIRST(ENV_OBSERVATION) Observation;
enum {
    ENV_FEATURES = PUFFER_PRODUCT(ENV_OBSERVATION), /* values in one agent's observation */
    ENV_HEADS = PUFFER_COUNT(ENV_ACTION)            /* discrete choices that one agent makes in a step */
};

/* Settings do not change during a run; members are int or float. */
typedef struct {
    ENV_SETTINGS(PUFFER_SETTING_FIELD)
} Settings;

typedef struct {
    ENV_STATISTICS(PUFFER_STATISTIC_FIELD)
} Statistics;

typedef struct {
    float reward[ENV_AGENTS];
    uint8_t terminal[ENV_AGENTS];
    uint8_t truncated[ENV_AGENTS];
} Step;

/* Cuts the episode for every agent that has not just ended by the rules. */
PUFFER_FN void truncate_all(Step* out) {
    for (int a = 0; a < ENV_AGENTS; a++) out->truncated[a] = (uint8_t)!out->terminal[a];
}

/* Ends the episode by the rules for every agent. */
PUFFER_FN void terminate_all(Step* out) {
    for (int a = 0; a < ENV_AGENTS; a++) out->terminal[a] = 1;
}

#endif

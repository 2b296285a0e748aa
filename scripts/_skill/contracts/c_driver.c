/* Holds one environment header to its contract, in a process of its own that the checker bounds and watches.
 *
 *     driver PROGRESS REPORT MODE SEED STEPS [NAME=VALUE ...]
 *
 * PROGRESS and REPORT are open file numbers: a page of shared memory that says where the environment is (so that a crash
 * or a hang has a place) and a stream of lines: `fact NAME VALUE`, `trace STEP ...` and `found CODE ...`. Standard output and
 * error belong to the environment, which must not use them. Everything that an environment writes into lies in a block of
 * its own size on the heap, so that the sanitizers see a byte too many. Valid as C11 and C++17, with POSIX.
 *
 * With WRAPPERS defined only the five functions are compiled: what that object needs and keeps is the environment's own. */
#include ENV_HEADER

#include <stddef.h>

#if defined(__cplusplus)
#define EXPORT extern "C" __attribute__((noinline))
extern "C" {
#else
#define EXPORT __attribute__((noinline))
#endif
void driver_reset(State* s, const Settings* c);
void driver_step(State* s, const Settings* c, const int32_t action[ENV_AGENTS][ENV_HEADS], Step* out);
void driver_observe(const State* s, const Settings* c, Observation row[ENV_AGENTS][ENV_FEATURES]);
void driver_statistics(const State* s, const Settings* c, Statistics* out);
void driver_render(const State* s, const Settings* c, Canvas* canvas);
#if defined(__cplusplus)
}
#endif

EXPORT void driver_reset(State* s, const Settings* c) { reset(s, c); }
EXPORT void driver_step(State* s, const Settings* c, const int32_t action[ENV_AGENTS][ENV_HEADS], Step* out) {
    step(s, c, action, out);
}
EXPORT void driver_observe(const State* s, const Settings* c, Observation row[ENV_AGENTS][ENV_FEATURES]) {
    observe(s, c, row);
}
EXPORT void driver_statistics(const State* s, const Settings* c, Statistics* out) { statistics(s, c, out); }
EXPORT void driver_render(const State* s, const Settings* c, Canvas* canvas) { render(s, c, canvas); }

#if !defined(WRAPPERS)

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef Observation Row[ENV_FEATURES];
typedef int32_t Choice[ENV_HEADS];

static const int32_t choices[] = {ENV_ACTION};
#define SHAPE_(type, ...) {__VA_ARGS__}
#define SHAPE(...) SHAPE_(__VA_ARGS__)
static const int shape[] = SHAPE(ENV_OBSERVATION);
#if defined(ENV_OBSERVATION_RANGE)
static const double range[] = {ENV_OBSERVATION_RANGE};
typedef char range_is_two_numbers[sizeof range / sizeof *range == 2 ? 1 : -1];
#endif

/* Where the environment is. The checker reads it as `8q32s96s`. */
typedef struct {
    int64_t calls, call, seed, stream, episode, step, steps, unused;
    char part[32], setting[96];
} Progress;
enum { NOTHING, RESET, STEP, OBSERVE, STATISTICS, RENDER };

static Progress* progress;
static int report_to;

enum { KINDS = 64 };
static const char* told[KINDS];
static int told_count;

static int is_new(const char* code) {
    for (int i = 0; i < told_count; i++)
        if (strcmp(told[i], code) == 0) return 0;
    if (told_count < KINDS) told[told_count++] = code;
    return 1;
}

/* Tells of the first mistake of each kind, with its place. */
static void found(const char* code, long agent, long index, double value) {
    if (is_new(code))
        dprintf(report_to, "found %s %lld %lld %lld %lld %lld %ld %ld %.9g %s %s\n", code, (long long)progress->seed,
                (long long)progress->stream, (long long)progress->episode, (long long)progress->step,
                (long long)progress->call, agent, index, value, progress->part,
                progress->setting[0] ? progress->setting : "-");
}

static void fact(const char* name, double value) { dprintf(report_to, "fact %s %.17g\n", name, value); }

/* What memory holds before the environment writes to it: nothing may depend on it. */
typedef struct {
    int state, rows, stack;
} Fill;

/* One environment and everything around it. */
typedef struct {
    State *state, *kept;
    Settings *settings, *settings_kept;
    Row* rows;
    Choice *action, *action_kept;
    Step* out;
    Statistics* values;
    Random player;
    Fill fill;
    long episode, step, steps, episodes, terminals, truncations, longest;
    int over;
    uint64_t digests[4]; /* of the last step: observation, reward, flags, statistics */
} Life;

static uint64_t digest(uint64_t from, const void* data, size_t size) {
    const unsigned char* bytes = (const unsigned char*)data;
    for (size_t i = 0; i < size; i++) from = (from ^ bytes[i]) * 1099511628211ULL;
    return from;
}
enum { OBSERVATION_PART, REWARD_PART, FLAGS_PART, STATISTICS_PART, PARTS };
static const uint64_t START = 14695981039346656037ULL;

/* Leaves a pattern where the next call's local variables will lie. */
static __attribute__((noinline)) void scribble(int pattern) {
    volatile unsigned char room[8192];
    for (size_t i = 0; i < sizeof room; i++) room[i] = (unsigned char)pattern;
}

static void enter(const Life* l, int call) {
    progress->call = call;
    progress->episode = l->episode;
    progress->step = l->step;
    progress->steps = l->steps;
    progress->calls++;
    scribble(l->fill.stack);
}

static void* room(size_t size) {
    void* block = malloc(size ? size : 1);
    if (!block) _exit(9);
    return block;
}

static void apply_standard(Settings* c) {
#define STANDARD(type, name, standard, low, high, help) c->name = (type)(standard);
    (void)c;
    ENV_SETTINGS(STANDARD)
}

/* Applies `name=value`; 0 if there is no such setting. */
static int apply(Settings* c, const char* text) {
#define APPLY(type, name, standard, low, high, help)       \
    if (strncmp(text, #name "=", sizeof #name) == 0) {     \
        c->name = (type)strtod(text + sizeof #name, NULL); \
        return 1;                                          \
    }
    ENV_SETTINGS(APPLY)
    (void)c, (void)text;
    return 0;
}

static void look(Life* l) {
    memset(l->rows, l->fill.rows, sizeof(Row) * ENV_AGENTS);
    memcpy(l->kept, l->state, sizeof(State));
    enter(l, OBSERVE);
    driver_observe(l->state, l->settings, l->rows);
    if (memcmp(l->kept, l->state, sizeof(State)) != 0) found("c_env.const", 0, -1, 0);
    for (long a = 0; a < ENV_AGENTS; a++) {
        for (long f = 0; f < ENV_FEATURES; f++) {
            double v = (double)l->rows[a][f];
            if (!isfinite(v)) found("c_env.observation_not_finite", a, f, v);
#if defined(ENV_OBSERVATION_RANGE)
            else if (v < range[0] || v > range[1])
                found("c_env.observation_range", a, f, v);
#else
            else if (sizeof(Observation) > 1 && (v < -20.0 || v > 20.0))
                found("c_env.observation_scale", a, f, v);
#endif
        }
    }
    l->digests[OBSERVATION_PART] = digest(START, l->rows, sizeof(Row) * ENV_AGENTS);
}

/* Observes once more into other memory: what differs was not written. */
static void look_for_gaps(Life* l) {
    Row* other = (Row*)room(sizeof(Row) * ENV_AGENTS);
    memset(other, l->fill.rows ^ 0xA5, sizeof(Row) * ENV_AGENTS);
    enter(l, OBSERVE);
    driver_observe(l->state, l->settings, other);
    for (long a = 0; a < ENV_AGENTS; a++)
        for (long f = 0; f < ENV_FEATURES; f++)
            if (memcmp(&other[a][f], &l->rows[a][f], sizeof(Observation)) != 0) {
                found("c_env.observation_unwritten", a, f, 0);
                a = ENV_AGENTS - 1;
                break;
            }
    free(other);
}

static void draw(Life* l) {
    Canvas* c = (Canvas*)room(sizeof *c);
    memset(c, 0, sizeof *c);
    memcpy(l->kept, l->state, sizeof(State));
    enter(l, RENDER);
    driver_render(l->state, l->settings, c);
    if (memcmp(l->kept, l->state, sizeof(State)) != 0) found("c_env.const", 0, -1, 0);
    if (c->count < 0 || c->count > CANVAS_MAX_COMMANDS || !(c->width > 0.0f) || !(c->height > 0.0f) ||
        !isfinite(c->width) || !isfinite(c->height))
        found("c_env.canvas", 0, -1, c->count);
    else
        for (long i = 0; i < c->count; i++)
            for (int k = 0; k < 5; k++)
                if (!isfinite(c->commands[i].at[k])) found("c_env.canvas", 0, i, c->commands[i].at[k]);
    if (c->dropped > 0) found("c_env.canvas_full", 0, -1, c->dropped);
    free(c);
}

static void begin(Life* l) {
    uint64_t stream = l->state->random.stream;
    l->step = 0;
    enter(l, RESET);
    driver_reset(l->state, l->settings);
    if (l->state->random.stream != stream) found("c_env.random_changed", 0, -1, 0);
    l->over = 0;
    look(l);
}

static Life* birth(uint64_t seed, uint64_t stream, Fill fill, const Settings* settings) {
    Life* l = (Life*)room(sizeof *l);
    memset(l, 0, sizeof *l);
    l->state = (State*)room(sizeof(State));
    l->kept = (State*)room(sizeof(State));
    l->settings = (Settings*)room(sizeof(Settings));
    l->settings_kept = (Settings*)room(sizeof(Settings));
    l->rows = (Row*)room(sizeof(Row) * ENV_AGENTS);
    l->action = (Choice*)room(sizeof(Choice) * ENV_AGENTS);
    l->action_kept = (Choice*)room(sizeof(Choice) * ENV_AGENTS);
    l->out = (Step*)room(sizeof(Step));
    l->values = (Statistics*)room(sizeof(Statistics));
    memcpy(l->settings, settings, sizeof(Settings));
    memset(l->state, fill.state, sizeof(State));
    random_seed(&l->state->random, seed, stream);
    random_seed(&l->player, 20240601, 5); /* the same actions for every seed: what differs is the environment */
    l->fill = fill;
    progress->seed = (int64_t)seed;
    progress->stream = (int64_t)stream;
    return l;
}

static void death(Life* l) {
    free(l->state), free(l->kept), free(l->settings), free(l->settings_kept), free(l->rows);
    free(l->action), free(l->action_kept), free(l->out), free(l->values), free(l);
}

/* Players: `random`; `lowest` and `highest` choices; `alternate` between them; `sticky`, which changes its mind rarely;
 * `outside`, whose choices do not exist. */
static void act(Life* l, const char* player) {
    static const int32_t strange[] = {-1, 1 << 20, -(1 << 20), 1 << 30, -(1 << 30)};
    for (int a = 0; a < ENV_AGENTS; a++) {
        for (int h = 0; h < ENV_HEADS; h++) {
            int32_t n = choices[h], drawn = random_below(&l->player, n), old = l->action[a][h];
            int fresh = l->steps == 0 || random_below(&l->player, 16) == 0;
            if (player[0] == 'l') drawn = 0;
            if (player[0] == 'h') drawn = n - 1;
            if (player[0] == 'a') drawn = l->steps / 16 % 2 ? n - 1 : 0;
            if (player[0] == 's') drawn = fresh ? drawn : old;
            if (player[0] == 'o') drawn = l->steps % 6 == 5 ? n : strange[l->steps % 6];
            l->action[a][h] = drawn;
        }
    }
}

static void finish(Life* l) {
    memset(l->values, l->fill.rows, sizeof(Statistics));
    memcpy(l->kept, l->state, sizeof(State));
    enter(l, STATISTICS);
    driver_statistics(l->state, l->settings, l->values);
    if (memcmp(l->kept, l->state, sizeof(State)) != 0) found("c_env.const", 0, -1, 0);
    long index = 0;
    uint64_t all = START;
#define GIVEN(name, help)                                                                                   \
    if (!isfinite(l->values->name)) found("c_env.statistic_not_finite", 0, index, (double)l->values->name); \
    all = digest(all, &l->values->name, sizeof l->values->name);                                            \
    index++;
    ENV_STATISTICS(GIVEN)
    (void)index;
    l->digests[STATISTICS_PART] = all;
    l->episodes++;
    l->longest = l->step > l->longest ? l->step : l->longest;
}

/* One step without what follows the end of an episode. */
static void move(Life* l, const char* player) {
    act(l, player);
    memcpy(l->action_kept, l->action, sizeof(Choice) * ENV_AGENTS);
    memcpy(l->settings_kept, l->settings, sizeof(Settings));
    memset(l->out, 0, sizeof(Step));
    uint64_t stream = l->state->random.stream;
    l->step++;
    l->steps++;
    enter(l, STEP);
    driver_step(l->state, l->settings, (const int32_t (*)[ENV_HEADS])l->action, l->out);
    if (memcmp(l->action_kept, l->action, sizeof(Choice) * ENV_AGENTS) != 0 ||
        memcmp(l->settings_kept, l->settings, sizeof(Settings)) != 0)
        found("c_env.const", 0, -1, 0);
    if (l->state->random.stream != stream) found("c_env.random_changed", 0, -1, 0);
    int ended = 1;
    long cut = -1;
    for (long a = 0; a < ENV_AGENTS; a++) {
        int t = l->out->terminal[a], u = l->out->truncated[a];
        if (!isfinite(l->out->reward[a])) found("c_env.reward_not_finite", a, -1, (double)l->out->reward[a]);
        if (t > 1 || u > 1) found("c_env.flag_value", a, -1, t > 1 ? t : u);
        if (t && u) found("c_env.both_flags", a, -1, 0);
        l->terminals += t != 0;
        l->truncations += u != 0;
        ended &= t || u;
        if (u) cut = a;
    }
    if (cut >= 0 && !ended) found("c_env.partial_truncation", cut, -1, 0);
    l->over = ended;
    l->digests[REWARD_PART] = digest(START, l->out->reward, sizeof l->out->reward);
    l->digests[FLAGS_PART] =
        digest(digest(START, l->out->terminal, sizeof l->out->terminal), l->out->truncated, sizeof l->out->truncated);
    l->digests[STATISTICS_PART] = START;
    look(l);
}

static void play(Life* l, const char* player) {
    move(l, player);
    if (!l->over) return;
    finish(l);
    l->episode++;
    begin(l);
}

static void set_part(const char* words) { snprintf(progress->part, sizeof progress->part, "%s", words); }

static void describe(void) {
    fact("agents", ENV_AGENTS);
    fact("features", ENV_FEATURES);
    fact("observation_bytes", sizeof(Observation));
    fact("state_bytes", sizeof(State));
    fact("random_offset", (double)offsetof(State, random));
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) fact("size", shape[i]);
    for (int h = 0; h < ENV_HEADS; h++) fact("choices", choices[h]);
    dprintf(report_to, "name %s\n", ENV_NAME);
}

static const Fill ZERO = {0, 0, 0};

/* Every player in turn, pictures now and then. */
static void mode_play(uint64_t seed, long steps, const Settings* settings) {
    static const char* const players[] = {"random", "lowest", "highest", "alternate", "sticky"};
    long total = 0, episodes = 0, terminals = 0, truncations = 0, longest = 0;
    for (size_t p = 0; p < sizeof players / sizeof *players; p++) {
        set_part(players[p]);
        Life* l = birth(seed + p, p, ZERO, settings);
        begin(l);
        for (long i = 0; i < steps; i++) {
            play(l, players[p]);
            if (i % 61 == 0) look_for_gaps(l), draw(l);
        }
        total += l->steps, episodes += l->episodes, terminals += l->terminals, truncations += l->truncations;
        longest = l->longest > longest ? l->longest : longest;
        death(l);
    }
    fact("steps", (double)total);
    fact("episodes", (double)episodes);
    fact("terminals", (double)terminals);
    fact("truncations", (double)truncations);
    fact("longest", (double)longest);
}

typedef struct {
    uint64_t digests[PARTS];
} Moment;

enum { PLAIN, BESIDE_ANOTHER, MOVED };

static void trace(Moment* moments, long steps, uint64_t seed, uint64_t stream, Fill fill, const Settings* settings,
                  int how) {
    Life* other = NULL;
    if (how == BESIDE_ANOTHER) {
        other = birth(seed + 77, stream + 3, fill, settings);
        begin(other);
    }
    Life* l = birth(seed, stream, fill, settings);
    begin(l);
    for (long i = 0; i < steps; i++) {
        if (how == MOVED && i % 7 == 3) {
            /* Away, and back into memory at another address; the old block is gone, so a pointer into it is seen. */
            State* away = (State*)room(sizeof(State));
            memcpy(away, l->state, sizeof(State));
            memset(l->state, 0xA5, sizeof(State));
            free(l->state);
            l->state = away;
        }
        if (other) play(other, "random");
        progress->seed = (int64_t)seed;
        progress->stream = (int64_t)stream;
        play(l, "random");
        memcpy(moments[i].digests, l->digests, sizeof moments[i].digests);
    }
    if (other) death(other);
    death(l);
}

/* Tells of the first step at which two traces differ. */
static int differ(const char* code, const Moment* a, const Moment* b, long steps) {
    for (long i = 0; i < steps; i++)
        for (int p = 0; p < PARTS; p++)
            if (a[i].digests[p] != b[i].digests[p]) {
                progress->step = i + 1;
                progress->episode = -1;
                progress->call = NOTHING;
                found(code, -1, p, 0);
                return 1;
            }
    return 0;
}

/* The same trace again and again; each time one thing is different that must not matter. */
static void mode_repeat(uint64_t seed, long steps, const Settings* settings) {
    static const struct {
        const char *part, *code;
        Fill fill;
        int how;
    } passes[] = {
        {"again", "c_env.hidden_state", {0, 0, 0}, PLAIN},
        {"beside-another", "c_env.shared_state", {0, 0, 0}, BESIDE_ANOTHER},
        {"other-state-memory", "c_env.reset_incomplete", {0xA5, 0, 0}, PLAIN},
        {"other-row-memory", "c_env.output_unwritten", {0, 0xA5, 0}, PLAIN},
        {"other-stack-memory", "c_env.uninitialised", {0, 0, 0xA5}, PLAIN},
        {"moved", "c_env.state_not_plain", {0, 0, 0}, MOVED},
    };
    Moment *first = (Moment*)room(sizeof(Moment) * (size_t)steps),
           *again = (Moment*)room(sizeof(Moment) * (size_t)steps);
    set_part("first");
    trace(first, steps, seed, 2, ZERO, settings, PLAIN);
    for (size_t p = 0; p < sizeof passes / sizeof *passes; p++) {
        set_part(passes[p].part);
        trace(again, steps, seed, 2, passes[p].fill, settings, passes[p].how);
        /* Whatever outlives a run makes every later comparison meaningless. */
        if (differ(passes[p].code, first, again, steps) && p < 2) break;
    }
    free(first), free(again);
}

/* One trace in full, for a comparison with another process, and digests of other seeds and streams. */
static void mode_trace(uint64_t seed, long steps, const Settings* settings) {
    static const uint64_t others[][2] = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {0, 2}};
    Moment* moments = (Moment*)room(sizeof(Moment) * (size_t)steps);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        set_part("trace");
        trace(moments, steps, seed + others[k][0], others[k][1], ZERO, settings, PLAIN);
        dprintf(report_to, "seed %llu %llu %016llx\n", (unsigned long long)(seed + others[k][0]),
                (unsigned long long)others[k][1],
                (unsigned long long)digest(START, moments, sizeof(Moment) * (size_t)steps));
        for (long i = 0; k == 0 && i < steps; i++)
            dprintf(report_to, "trace %ld %016llx %016llx %016llx %016llx\n", i + 1,
                    (unsigned long long)moments[i].digests[0], (unsigned long long)moments[i].digests[1],
                    (unsigned long long)moments[i].digests[2], (unsigned long long)moments[i].digests[3]);
    }
    free(moments);
    /* Does it draw at all? */
    Life* l = birth(seed, 0, ZERO, settings);
    Random before = l->state->random;
    int drawn = 0;
    begin(l);
    for (long i = 0; i < steps && !drawn; i++) {
        drawn = memcmp(&before, &l->state->random, sizeof before) != 0;
        play(l, "random");
    }
    fact("draws", drawn);
    death(l);
}

/* Choices that do not exist; the engine never makes them. */
static void mode_outside(uint64_t seed, long steps, const Settings* settings) {
    set_part("outside");
    Life* l = birth(seed, 0, ZERO, settings);
    begin(l);
    for (long i = 0; i < steps; i++) play(l, "outside");
    death(l);
}

/* Steps on when the episode is over; the engine never does. */
static void mode_after_end(uint64_t seed, long steps, const Settings* settings) {
    set_part("after-end");
    Life* l = birth(seed, 0, ZERO, settings);
    begin(l);
    for (long i = 0; i < steps; i++) {
        move(l, "random");
        if (!l->over) continue;
        finish(l);
        for (int k = 0; k < 20; k++) move(l, "random");
        l->episode++;
        begin(l);
    }
    death(l);
}

/* Every setting at either bound, then all of them. */
static void mode_bounds(uint64_t seed, long steps, const Settings* settings) {
    Settings* c = (Settings*)room(sizeof *c);
    set_part("bounds");
#define RUN(words)                                                                  \
    snprintf(progress->setting, sizeof progress->setting, "%s", words);             \
    {                                                                               \
        Life* l = birth(seed, 0, ZERO, c);                                          \
        begin(l);                                                                   \
        for (long i = 0; i < steps; i++) play(l, i / 8 % 2 ? "random" : "highest"); \
        draw(l);                                                                    \
        death(l);                                                                   \
    }
#define BOUNDS(type, name, standard, low, high, help) \
    memcpy(c, settings, sizeof *c);                   \
    c->name = (type)(low);                            \
    RUN(#name "=" #low)                               \
    memcpy(c, settings, sizeof *c);                   \
    c->name = (type)(high);                           \
    RUN(#name "=" #high)
#define LOW(type, name, standard, low, high, help) c->name = (type)(low);
#define HIGH(type, name, standard, low, high, help) c->name = (type)(high);
    ENV_SETTINGS(BOUNDS)
    memcpy(c, settings, sizeof *c);
    ENV_SETTINGS(LOW)
    RUN("all-lowest")
    ENV_SETTINGS(HIGH)
    RUN("all-highest")
    progress->setting[0] = 0;
    free(c);
}

/* Is an end at a step limit called terminal? Two lives with the same luck and the same actions, one with a limit and one
 * with the largest: an end of the first alone, at the limit, is a cut. */
static void limit(uint64_t seed, long steps, const Settings* tight, const Settings* loose, long length) {
    Life *l = birth(seed, 0, ZERO, tight), *twin = birth(seed, 0, ZERO, loose);
    for (long i = 0; i < steps; i++) {
        if (i == 0 || l->over) {
            memcpy(&twin->state->random, &l->state->random, sizeof(Random));
            twin->player = l->player;
            l->episode += i > 0;
            begin(l);
            begin(twin);
        }
        l->steps = twin->steps = l->step;
        move(twin, "random");
        int twin_terminal[ENV_AGENTS], twin_over = 0;
        for (int a = 0; a < ENV_AGENTS; a++) {
            twin_terminal[a] = twin->out->terminal[a];
            twin_over |= twin->out->terminal[a] || twin->out->truncated[a];
        }
        move(l, "random");
        for (long a = 0; a < ENV_AGENTS; a++)
            if (l->step == length && l->over && l->out->terminal[a] && !twin_terminal[a] && !twin_over) {
                progress->step = l->step;
                progress->episode = l->episode;
                found("c_env.terminal_at_limit", a, -1, (double)length);
            }
        if (twin->over && !l->over) l->over = 1;
    }
    death(l);
    death(twin);
}

static int names_a_limit(const char* name) {
    static const char* const words[] = {"step",  "limit", "len",  "horizon",  "time",
                                        "frame", "tick",  "turn", "duration", "move"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i])) return 1;
    return 0;
}

static void mode_limits(uint64_t seed, long steps, const Settings* settings) {
    static const long lengths[] = {1, 2, 3, 7, 20, 60};
    Settings *tight = (Settings*)room(sizeof *tight), *loose = (Settings*)room(sizeof *loose);
    set_part("limits");
    double tried = 0;
#define IS_int 1
#define IS_float 0
#define TRY(type, name, standard, low, high, help)                                                       \
    for (size_t k = 0; IS_##type && names_a_limit(#name) && k < sizeof lengths / sizeof *lengths; k++) { \
        if (lengths[k] < (long)(low) || lengths[k] >= (long)(high)) continue;                            \
        memcpy(tight, settings, sizeof *tight);                                                          \
        memcpy(loose, settings, sizeof *loose);                                                          \
        tight->name = (type)lengths[k];                                                                  \
        loose->name = (type)(high);                                                                      \
        snprintf(progress->setting, sizeof progress->setting, "%s=%ld", #name, lengths[k]);              \
        limit(seed, steps, tight, loose, lengths[k]);                                                    \
        tried++;                                                                                         \
    }
    ENV_SETTINGS(TRY)
    progress->setting[0] = 0;
    fact("limits", tried);
    free(tight), free(loose);
    (void)seed, (void)steps, (void)settings, (void)lengths;
}

int main(int argc, char** argv) {
    if (argc < 6) return 8;
    progress = (Progress*)mmap(NULL, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[1]), 0);
    if (progress == MAP_FAILED) return 8;
    report_to = atoi(argv[2]);
    const char* mode = argv[3];
    uint64_t seed = strtoull(argv[4], NULL, 10);
    long steps = atol(argv[5]);
    Settings* settings = (Settings*)room(sizeof *settings);
    memset(settings, 0, sizeof *settings);
    apply_standard(settings);
    for (int i = 6; i < argc; i++)
        if (!apply(settings, argv[i])) return 8;
    set_part(mode);
    if (strcmp(mode, "describe") == 0) describe();
    if (strcmp(mode, "play") == 0) mode_play(seed, steps, settings);
    if (strcmp(mode, "repeat") == 0) mode_repeat(seed, steps, settings);
    if (strcmp(mode, "trace") == 0) mode_trace(seed, steps, settings);
    if (strcmp(mode, "outside") == 0) mode_outside(seed, steps, settings);
    if (strcmp(mode, "after-end") == 0) mode_after_end(seed, steps, settings);
    if (strcmp(mode, "bounds") == 0) mode_bounds(seed, steps, settings);
    if (strcmp(mode, "limits") == 0) mode_limits(seed, steps, settings);
    free(settings);
    progress->call = NOTHING;
    dprintf(report_to, "done %s\n", mode);
    return 0;
}

#endif

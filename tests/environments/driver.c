/* Runs one environment header on its own, without the engine: as a program (describe, run, copy, random) for the
 * contract's tests, and as a shared library for the tests of each environment's rules.
 * It does not train, and it checks nothing itself: it counts, and the tests judge.
 *     cc -I<core/include> -DENV_HEADER='"<name>.h"' driver.c -o driver && ./driver describe
 * It is valid as C11 and as C++17. */
#include ENV_HEADER

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__cplusplus)
#define EXPORT extern "C"
extern "C" {
#else
#define EXPORT
#endif
size_t driver_state_size(void);
size_t driver_settings_size(void);
void driver_standard_settings(Settings* c);
void driver_seed(State* s, uint64_t seed, uint64_t stream);
void driver_reset(State* s, const Settings* c);
void driver_step(State* s, const Settings* c, const int32_t action[ENV_AGENTS][ENV_HEADS], Step* out);
void driver_observe(const State* s, const Settings* c, Observation row[ENV_AGENTS][ENV_FEATURES]);
void driver_statistics(const State* s, const Settings* c, Statistics* out);
void driver_render(const State* s, const Settings* c, Canvas* canvas);
void driver_sine(const float* x, float* sine, float* cosine, int n);
#if defined(__cplusplus)
}
#endif

#define STANDARD(type, name, standard, low, high, help) c->name = (type)(standard);

/* The library. */

EXPORT size_t driver_state_size(void) { return sizeof(State); }
EXPORT size_t driver_settings_size(void) { return sizeof(Settings); }
EXPORT void driver_standard_settings(Settings* c) {
    (void)c;
    ENV_SETTINGS(STANDARD)
}
EXPORT void driver_seed(State* s, uint64_t seed, uint64_t stream) {
    memset(s, 0, sizeof *s);
    random_seed(&s->random, seed, stream);
}
EXPORT void driver_reset(State* s, const Settings* c) { reset(s, c); }
EXPORT void driver_step(State* s, const Settings* c, const int32_t action[ENV_AGENTS][ENV_HEADS], Step* out) {
    memset(out, 0, sizeof *out);
    step(s, c, action, out);
}
EXPORT void driver_observe(const State* s, const Settings* c, Observation row[ENV_AGENTS][ENV_FEATURES]) {
    observe(s, c, row);
}
EXPORT void driver_statistics(const State* s, const Settings* c, Statistics* out) { statistics(s, c, out); }
EXPORT void driver_render(const State* s, const Settings* c, Canvas* canvas) { render(s, c, canvas); }
EXPORT void driver_sine(const float* x, float* sine, float* cosine, int n) {
    for (int i = 0; i < n; i++) {
        sine[i] = puffer_sin(x[i]);
        cosine[i] = puffer_cos(x[i]);
    }
}

/* The program: every mode prints one JSON object. */

static const int32_t choices[] = {ENV_ACTION};

#define KIND_int "int"
#define KIND_float "float"
#define PRINT_SETTING(type, name, standard, low, high, help)                                                         \
    printf("%s{\"name\":\"%s\",\"type\":\"%s\",\"default\":%.9g,\"low\":%.9g,\"high\":%.9g,\"help\":\"%s\"}", comma, \
           #name, KIND_##type, (double)(standard), (double)(low), (double)(high), help);                             \
    comma = ",";
#define PRINT_STATISTIC(name, help)                                    \
    printf("%s{\"name\":\"%s\",\"help\":\"%s\"}", comma, #name, help); \
    comma = ",";
#define SHAPE_(type, ...) {__VA_ARGS__}
#define SHAPE(...) SHAPE_(__VA_ARGS__)

static int describe(void) {
    const int shape[] = SHAPE(ENV_OBSERVATION);
    const char* comma = "";
    printf("{\"name\":\"%s\",\"title\":\"%s\",\"task\":\"%s\",\"author\":\"%s\",\"agents\":%d,", ENV_NAME, ENV_TITLE,
           ENV_TASK, ENV_AUTHOR, ENV_AGENTS);
    printf("\"observation_bytes\":%d,\"features\":%d,\"heads\":%d,", (int)sizeof(Observation), ENV_FEATURES, ENV_HEADS);
    printf("\"state_size\":%d,\"random_offset\":%d,\"shape\":[", (int)sizeof(State), (int)offsetof(State, random));
    for (int i = 0; i < (int)(sizeof shape / sizeof *shape); i++) printf("%s%d", i ? "," : "", shape[i]);
    printf("],\"action\":[");
    for (int h = 0; h < (int)(sizeof choices / sizeof *choices); h++) printf("%s%d", h ? "," : "", (int)choices[h]);
    printf("],\"settings\":[");
    ENV_SETTINGS(PRINT_SETTING)
    comma = "";
    printf("],\"statistics\":[");
    ENV_STATISTICS(PRINT_STATISTIC)
    (void)comma;
    printf("]}\n");
    return 0;
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

typedef struct {
    State state;
    Settings settings;
    Random player;
    Observation rows[ENV_AGENTS][ENV_FEATURES];
    Step out;
    Canvas canvas, before;
    uint64_t digest; /* FNV-1a over everything that the environment gave out */
    long steps, episodes, terminals, truncations;
    long nonfinite, both_flags, flags_not_0_or_1, partial_truncations;
    long pictures, pictures_changed, commands_least, commands_most, commands_dropped, commands_bad, commands_outside;
    double lowest, highest;
} Session;

static void digest(Session* r, const void* data, size_t size) {
    const unsigned char* bytes = (const unsigned char*)data;
    for (size_t i = 0; i < size; i++) r->digest = (r->digest ^ bytes[i]) * 1099511628211ULL;
}

static void look(Session* r) {
    observe(&r->state, &r->settings, r->rows);
    digest(r, r->rows, sizeof r->rows);
    for (int a = 0; a < ENV_AGENTS; a++) {
        for (int f = 0; f < ENV_FEATURES; f++) {
            double v = (double)r->rows[a][f];
            r->nonfinite += !isfinite(v);
            r->lowest = v < r->lowest ? v : r->lowest;
            r->highest = v > r->highest ? v : r->highest;
        }
    }
}

/* Draws, and counts commands that reach out of the canvas by more than a fifth of its shorter side. */
static void draw(Session* r) {
    Canvas* c = &r->canvas;
    memset(c, 0, sizeof *c);
    render(&r->state, &r->settings, c);
    r->pictures_changed += r->pictures > 0 && memcmp(c, &r->before, sizeof *c) != 0;
    r->pictures++;
    r->commands_least = c->count < r->commands_least ? c->count : r->commands_least;
    r->commands_most = c->count > r->commands_most ? c->count : r->commands_most;
    r->commands_dropped += c->dropped;
    float margin = 0.2f * (c->width < c->height ? c->width : c->height);
    if (!(c->width > 0.0f && c->height > 0.0f && isfinite(c->width) && isfinite(c->height))) r->commands_bad++;
    for (int i = 0; i < c->count; i++) {
        const float* k = c->commands[i].at;
        int kind = c->commands[i].kind,
            bad = kind < DRAW_RECTANGLE || kind > DRAW_LINE || c->commands[i].colour > 0xFFFFFFu;
        float size = kind == DRAW_LINE ? k[4] : kind == DRAW_CIRCLE ? k[2] : (k[2] < k[3] ? k[2] : k[3]);
        for (int j = 0; j < 5; j++) bad |= !isfinite(k[j]);
        r->commands_bad += bad || !(size > 0.0f);
        float left = k[0], right = k[0], top = k[1], bottom = k[1];
        if (kind == DRAW_RECTANGLE) {
            right += k[2];
            bottom += k[3];
        } else if (kind == DRAW_CIRCLE) {
            left -= k[2], top -= k[2], right += k[2], bottom += k[2];
        } else {
            left = k[0] < k[2] ? k[0] : k[2], right = k[0] < k[2] ? k[2] : k[0];
            top = k[1] < k[3] ? k[1] : k[3], bottom = k[1] < k[3] ? k[3] : k[1];
        }
        r->commands_outside +=
            left < -margin || top < -margin || right > c->width + margin || bottom > c->height + margin;
    }
    digest(r, &c->count, sizeof c->count);
    digest(r, c->commands, (size_t)c->count * sizeof *c->commands);
    memcpy(&r->before, c, sizeof *c);
}

/* How the player acts: "random", a number (that choice for every head, or the highest there is), or "alternate" between
 * the lowest and the highest choices. */
static void act(Session* r, const char* player, int32_t action[ENV_AGENTS][ENV_HEADS]) {
    for (int a = 0; a < ENV_AGENTS; a++) {
        for (int h = 0; h < ENV_HEADS; h++) {
            if (player[0] == 'r')
                action[a][h] = random_below(&r->player, choices[h]);
            else if (player[0] == 'a')
                action[a][h] = r->steps / 16 % 2 ? choices[h] - 1 : 0;
            else
                action[a][h] = puffer_clamp_int(atoi(player), 0, choices[h] - 1);
        }
    }
}

static void play(Session* r, const char* player, int picture_every) {
    int32_t action[ENV_AGENTS][ENV_HEADS];
    act(r, player, action);
    memset(&r->out, 0, sizeof r->out);
    step(&r->state, &r->settings, (const int32_t (*)[ENV_HEADS])action, &r->out);
    r->steps++;
    digest(r, &r->out, sizeof r->out);
    int ended = 1, truncated = 0;
    for (int a = 0; a < ENV_AGENTS; a++) {
        int t = r->out.terminal[a], u = r->out.truncated[a];
        r->nonfinite += !isfinite(r->out.reward[a]);
        r->flags_not_0_or_1 += t > 1 || u > 1;
        r->both_flags += t && u;
        r->terminals += t;
        r->truncations += u;
        ended &= t || u;
        truncated |= u;
    }
    r->partial_truncations += truncated && !ended;
    look(r);
    if (picture_every && r->steps % picture_every == 0) draw(r);
    if (!ended) return;
    Statistics values;
    memset(&values, 0, sizeof values);
    statistics(&r->state, &r->settings, &values);
    digest(r, &values, sizeof values);
#define FINITE(name, help) r->nonfinite += !isfinite(values.name);
    ENV_STATISTICS(FINITE)
    r->episodes++;
    reset(&r->state, &r->settings);
    look(r);
}

static void start(Session* r, uint64_t seed, uint64_t stream) {
    driver_seed(&r->state, seed, stream);
    random_seed(&r->player, 20240601, 5); /* the same actions for every seed: what differs is the environment */
    r->digest = 14695981039346656037ULL;
    r->commands_least = CANVAS_MAX_COMMANDS;
    r->lowest = HUGE_VAL, r->highest = -HUGE_VAL;
    reset(&r->state, &r->settings);
    look(r);
}

static int report(const Session* r) {
    printf("{\"digest\":\"%016llx\",\"steps\":%ld,\"episodes\":%ld,\"terminals\":%ld,\"truncations\":%ld,",
           (unsigned long long)r->digest, r->steps, r->episodes, r->terminals, r->truncations);
    printf("\"nonfinite\":%ld,\"both_flags\":%ld,\"flags_not_0_or_1\":%ld,\"partial_truncations\":%ld,", r->nonfinite,
           r->both_flags, r->flags_not_0_or_1, r->partial_truncations);
    printf("\"pictures\":%ld,\"pictures_changed\":%ld,\"commands_least\":%ld,\"commands_most\":%ld,", r->pictures,
           r->pictures_changed, r->commands_least, r->commands_most);
    printf("\"commands_dropped\":%ld,\"commands_bad\":%ld,\"commands_outside\":%ld,", r->commands_dropped,
           r->commands_bad, r->commands_outside);
    printf("\"lowest\":%.9g,\"highest\":%.9g}\n", r->lowest, r->highest);
    return 0;
}

/* Plays `before` steps, copies the State away, plays `after` steps, puts the copy back (into memory that held something
 * else) and plays them again: the digests of both futures. */
static int copy(Session* r, const char* player, long before, long after) {
    uint64_t futures[2];
    for (long i = 0; i < before; i++) play(r, player, 0);
    State kept;
    memcpy(&kept, &r->state, sizeof kept);
    Random hand = r->player;
    long steps = r->steps;
    for (int time = 0; time < 2; time++) {
        if (time) {
            memset(&r->state, 0xA5, sizeof r->state);
            memcpy(&r->state, &kept, sizeof kept);
        }
        r->player = hand;
        r->steps = steps;
        r->digest = 14695981039346656037ULL;
        for (long i = 0; i < after; i++) play(r, player, 7);
        futures[time] = r->digest;
    }
    printf("{\"first\":\"%016llx\",\"again\":\"%016llx\"}\n", (unsigned long long)futures[0],
           (unsigned long long)futures[1]);
    return 0;
}

static int random_words(uint64_t seed, uint64_t stream, int n) {
    Random r;
    random_seed(&r, seed, stream);
    printf("[");
    for (int i = 0; i < n; i++) printf("%s%lu", i ? "," : "", (unsigned long)random_bits(&r));
    printf("]\n");
    return 0;
}

int main(int argc, char** argv) {
    static Session r;
    const char* mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "describe") == 0) return describe();
    if (strcmp(mode, "random") == 0 && argc == 5)
        return random_words(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), atoi(argv[4]));
    if (argc < 7 || (strcmp(mode, "run") != 0 && strcmp(mode, "copy") != 0)) {
        fprintf(stderr,
                "usage: driver describe\n"
                "       driver random SEED STREAM COUNT\n"
                "       driver run SEED STREAM PLAYER STEPS PICTURE_EVERY [SETTING=VALUE ...]\n"
                "       driver copy SEED STREAM PLAYER BEFORE AFTER [SETTING=VALUE ...]\n");
        return 2;
    }
    driver_standard_settings(&r.settings);
    for (int i = 7; i < argc; i++) {
        if (!apply(&r.settings, argv[i])) {
            fprintf(stderr, "driver: no setting `%s`\n", argv[i]);
            return 2;
        }
    }
    start(&r, strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    if (mode[0] == 'c') return copy(&r, argv[4], atol(argv[5]), atol(argv[6]));
    for (long i = 0; i < atol(argv[5]); i++) play(&r, argv[4], atoi(argv[6]));
    return report(&r);
}

// One environment as a shared library: compiled with -DENV_HEADER="<its header>", exports `puffer_describe`.
#include ENV_HEADER

#include <type_traits>

#include "environment_abi.h"
#include "environment_tile.h"

namespace {

#define SETTING_ENTRY(type, name, standard, low, high, help) \
    {#name, help, std::is_same<type, float>::value, (uint32_t)offsetof(Settings, name), standard, low, high},
const PufferSetting settings[] = {ENV_SETTINGS(SETTING_ENTRY)};

#define STATISTIC_ENTRY(name, help) {#name, help},
const PufferStatistic statistics_list[] = {ENV_STATISTICS(STATISTIC_ENTRY)};

#define SHAPE_OF_(type, ...) {__VA_ARGS__}
#define SHAPE_OF(...) SHAPE_OF_(__VA_ARGS__)
#define RANK_OF_(type, ...) PUFFER_COUNT(__VA_ARGS__)
#define RANK_OF(...) RANK_OF_(__VA_ARGS__)

size_t tile_bytes(int32_t envs) { return tile::bytes(envs); }
void tile_seed(void* t, int32_t envs, uint64_t seed, uint64_t first) { tile::seed(t, envs, seed, first); }
void tile_reset(void* t, const void* c, int32_t envs, const uint8_t* which) {
    tile::reset(t, (const Settings*)c, envs, which);
}
void tile_step(void* t, const void* c, int32_t envs, int32_t lanes, const int32_t* actions, float* reward,
               uint8_t* terminal, uint8_t* truncated) {
    tile::step(t, (const Settings*)c, envs, lanes, actions, reward, terminal, truncated);
}
void tile_observe_rows(const void* t, const void* c, int32_t envs, void* rows) {
    tile::observe_rows(t, (const Settings*)c, envs, rows);
}
void tile_observe_lanes(const void* t, const void* c, int32_t envs, int32_t lanes, void* out) {
    tile::observe_lanes(t, (const Settings*)c, envs, lanes, out);
}
void tile_statistics(const void* t, const void* c, int32_t env, int32_t envs, float* out) {
    State s = tile::get(t, env, envs);
    Statistics values = {};
    statistics(&s, (const Settings*)c, &values);
    // One without statistics has an empty struct, which is a byte long in C++.
    constexpr size_t count = sizeof statistics_list / sizeof *statistics_list;
    if (count > 0) memcpy(out, &values, count * sizeof(float));
}
void tile_load(void* t, int32_t env, int32_t envs, const void* state) {
    State s;
    memcpy(&s, state, sizeof s);
    tile::put(t, env, envs, s);
}
void tile_store(const void* t, int32_t env, int32_t envs, void* state) {
    State s = tile::get(t, env, envs);
    memcpy(state, &s, sizeof s);
}
void render_one(const void* state, const void* c, Canvas* canvas) {
    State s;
    memcpy(&s, state, sizeof s);
    render(&s, (const Settings*)c, canvas);
}

const PufferEnvironment description = {
    PUFFER_ENVIRONMENT_ABI,
    sizeof(PufferEnvironment),
    ENV_NAME,
    ENV_TITLE,
    ENV_TASK,
    ENV_AUTHOR,
    ENV_AGENTS,
    std::is_same<Observation, uint8_t>::value ? PUFFER_UINT8 : PUFFER_FLOAT32,
    RANK_OF(ENV_OBSERVATION),
    SHAPE_OF(ENV_OBSERVATION),
    ENV_FEATURES,
    ENV_HEADS,
    {ENV_ACTION},
    (int32_t)(sizeof settings / sizeof *settings),
    (int32_t)(sizeof statistics_list / sizeof *statistics_list),
    settings,
    statistics_list,
    sizeof(State),
    sizeof(Settings),
    tile_bytes,
    tile_seed,
    tile_reset,
    tile_step,
    tile_observe_rows,
    tile_observe_lanes,
    tile_statistics,
    tile_load,
    tile_store,
    render_one,
};

static_assert(offsetof(State, random) == 0, "State begins with `Random random`");
static_assert(ENV_HEADS <= 16, "at most 16 action heads");

}  // namespace

extern "C" __attribute__((visibility("default"))) const PufferEnvironment* puffer_describe(void) {
    return &description;
}

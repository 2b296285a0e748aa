"""Environments for tests, written as headers into a temporary folder: only what differs from a counter is given."""

from __future__ import annotations

from pathlib import Path

STEPS = 'SETTING(int, max_steps, 10, 1, 1000000, "steps until an episode is truncated")'

_HEADER = """#define ENV_NAME "{name}"
#define ENV_TITLE "{name}"
#define ENV_TASK "Written by a test."
#define ENV_AUTHOR "a test"
#define ENV_AGENTS {agents}
#define ENV_OBSERVATION {observation}
#define ENV_ACTION {action}
#define ENV_SETTINGS(SETTING) {settings}
#define ENV_STATISTICS(STATISTIC) {statistics}
#include "puffer/environment.h"

typedef struct {{
    Random random;
    int32_t steps; /* of the episode */
    int32_t age;   /* steps since the run began */
    {state}
}} State;

/* The environment's index in the run. */
PUFFER_FN int32_t index_of(const State* s) {{ return (int32_t)(s->random.stream >> 1); }}

PUFFER_FN void reset(State* s, const Settings* c) {{
    (void)c;
    s->steps = 0;
    {reset}
}}

PUFFER_FN void step(State* s, const Settings* c, const int32_t action[ENV_AGENTS][ENV_HEADS], Step* out) {{
    (void)c;
    (void)action;
    s->steps++;
    s->age++;
    {step}
}}

PUFFER_FN void observe(const State* s, const Settings* c, Observation row[ENV_AGENTS][ENV_FEATURES]) {{
    (void)c;
    (void)s;
    for (int a = 0; a < ENV_AGENTS; a++)
        for (int f = 0; f < ENV_FEATURES; f++) row[a][f] = (Observation)0;
    {observe}
}}

PUFFER_FN void statistics(const State* s, const Settings* c, Statistics* out) {{
    (void)s;
    (void)c;
    (void)out;
    {finish}
}}

PUFFER_FN void render(const State* s, const Settings* c, Canvas* canvas) {{
    (void)c;
    canvas_begin(canvas, 10.0f, 10.0f, 0x102030u);
    draw_circle(canvas, 0xffffffu, (float)s->steps, 5.0f, 1.0f);
}}
"""

COUNT = "for (int a = 0; a < ENV_AGENTS; a++) out->reward[a] = 1.0f; if (s->steps >= c->max_steps) truncate_all(out);"


def write_environment(
    folder: Path,
    name: str,
    *,
    agents: int = 1,
    observation: str = "F32(3)",
    action: str = "DISCRETE(2)",
    settings: str = STEPS,
    statistics: str = "",
    state: str = "",
    reset: str = "",
    step: str = COUNT,
    observe: str = "row[0][0] = (Observation)s->steps;",
    finish: str = "",
) -> Path:
    """``<folder>/<name>.h``; without changes it counts its steps, pays 1 for each and is truncated at ``max_steps``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.h"
    path.write_text(
        _HEADER.format(
            name=name,
            agents=agents,
            observation=observation,
            action=action,
            settings=settings,
            statistics=statistics,
            state=state,
            reset=reset,
            step=step,
            observe=observe,
            finish=finish,
        ),
        encoding="utf-8",
    )
    return path

"""The `benchmark/1` document and the table that people read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import clock
from ..findings import Finding
from ..machine import Machine
from . import backends, seeds, shared_region, spread
from .candidates import Candidates
from .choice import Choice
from .setting import Setting
from .sweep import Measured, Sweep

NOTICE = (
    "This is a synthetic load, not your environment: it compares ways to step environments side by side on this "
    "machine. Measure your own environment before you trust a figure of it."
)

_NOISY = 0.1
_FEW_STEPS = 200
_NAMES = ("backend", "workers", "environments", "batch")


def document(
    options: Mapping[str, Any],
    here: Machine,
    rate: float,
    found: Candidates,
    result: Sweep,
    choice: Choice,
    picked_seeds: list[int],
) -> dict[str, Any]:
    """The report as JSON; `rate` is in units per microsecond, `picked_seeds` (N,) belong to the picked setting."""
    load = options["load"]
    serial = {each.setting.environments: each for each in result.measured if each.setting.backend == "serial"}
    settings = [
        _measured(each, serial.get(each.setting.environments), load.work, load.observation_bytes, here.cores)
        for each in result.measured
    ]
    left_out = [(setting, f"{finding.message}: {finding.got}") for setting, finding in found.left_out] + result.left_out
    return {
        "schema": "benchmark/1",
        "created": clock.instant(clock.now()),
        "notice": NOTICE,
        "machine": {
            name: getattr(here, name)
            for name in ("system", "architecture", "python", "cores", "memory_bytes", "shared_memory_free_bytes")
        },
        "load": load.as_json() | {"units_per_microsecond": _rounded(rate)},
        "policy_us": options["policy_us"],
        "start_method": options["start_method"],
        "oversubscribe": options["oversubscribe"],
        "seeds": {"root": options["root"], "rule": seeds.RULE, "picked": [str(seed) for seed in picked_seeds]},
        "repeats": result.repeats,
        "run_seconds": _rounded(result.run_seconds),
        "seconds": _rounded(result.seconds),
        "settings": settings,
        "left_out": [setting.as_json() | {"reason": reason} for setting, reason in left_out[:1000]],
        "choice": {
            **choice.picked.setting.as_json(),
            "noise": _rounded(choice.noise),
            "reasons": choice.reasons,
            "plan": choice.fields,
            "options": choice.options,
        },
    }


def warnings(report: Mapping[str, Any]) -> list[Finding]:
    """What makes the figures of a report weak."""
    picked = next(each for each in report["settings"] if all(each[key] == report["choice"][key] for key in _NAMES))
    found = []
    noise = report["choice"]["noise"]
    if noise > _NOISY:
        found.append(
            Finding(
                "vectorization.noise",
                "the runs differ much from round to round: something else uses this machine, and settings tie",
                "choice",
                f"noise of {100 * noise:.0f} %",
                f"at most {100 * _NOISY:.0f} %",
                "measure again on a quiet machine, or with more --seconds and --repeats",
                severity="warning",
            )
        )
    steps = picked["fairness"]["least_steps"]
    if report["load"]["tail"] != "constant" and steps < _FEW_STEPS:
        found.append(
            Finding(
                "vectorization.few_steps",
                "a heavy tail was measured over few steps: rare long ones may be missing",
                "settings",
                f"{steps} steps of an environment in a run",
                f"at least {_FEW_STEPS}",
                "more --seconds, or fewer --backends, --workers and --envs",
                severity="warning",
            )
        )
    return found


def ideal_speedup(setting: Setting, work: str, cores: int) -> int:
    """How many steps can go on at once: workers that wait are bounded by nothing, those that compute by the cores."""
    return setting.workers if work == "sleep" else min(setting.workers, cores)


def table(report: Mapping[str, Any]) -> list[str]:
    """The settings as lines for people, fastest first, then the choice."""
    rows = [("backend", "workers", "envs", "batch", "steps/s", "+-", "speed-up", "of ideal", "p50 us", "p99 us")]
    for each in sorted(report["settings"], key=lambda row: -float(row["steps_per_second"]["median"])):
        speed, latency = each["steps_per_second"], each["latency_us"]
        rows.append(
            (
                each["backend"],
                str(each["workers"]),
                str(each["environments"]),
                str(each["batch"]),
                f"{speed['median']:,.0f}",
                f"{100 * speed['mad'] / speed['median']:.1f} %",
                f"{each['speedup']:.2f}" if each["speedup"] is not None else "-",
                f"{100 * each['efficiency']:.0f} %" if each["efficiency"] is not None else "-",
                f"{latency['p50']:,.0f}",
                f"{latency['p99']:,.0f}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(_cell(row, column, widths) for column in range(len(row))).rstrip() for row in rows]
    if report["left_out"]:
        reasons = {each["reason"].partition(":")[0] for each in report["left_out"]}
        lines.append(f"left out: {len(report['left_out'])} settings ({'; '.join(sorted(reasons)[:4])})")
    choice = report["choice"]
    return [
        *lines,
        "",
        "picked: " + choice["reasons"][0],
        *choice["reasons"][1:],
        f"plan:   {choice['options']}",
        NOTICE,
    ]


def _cell(row: tuple[str, ...], column: int, widths: list[int]) -> str:
    return row[column].ljust(widths[column]) if column == 0 else row[column].rjust(widths[column])


def _measured(each: Measured, serial: Measured | None, work: str, observation_bytes: int, cores: int) -> dict[str, Any]:
    setting, speed = each.setting, each.speed
    ideal = ideal_speedup(setting, work, cores)
    speedup = speed.median / serial.speed.median if serial else None
    backend = backends.every()[setting.backend]
    row_bytes = observation_bytes if backend.SHARED else 0
    latency = [_rounded(spread.median([run.latency_us[place] for run in each.runs])) for place in range(4)]
    return {
        **setting.as_json(),
        "runs": len(each.runs),
        "steps": sum(run.steps for run in each.runs),
        "steps_per_second": {name: _rounded(value) for name, value in speed._asdict().items()},
        "speedup": None if speedup is None else _rounded(speedup),
        "ideal_speedup": ideal,
        "efficiency": None if speedup is None else _rounded(speedup / ideal),
        "latency_us": dict(zip(("p50", "p90", "p99", "most"), latency, strict=True)),
        "start_seconds": _rounded(spread.median([run.start_seconds for run in each.runs])),
        "shared_bytes": shared_region.size_of(setting.workers, setting.environments, row_bytes) * backend.PROCESSES,
        "fairness": {
            "least_steps": min(run.least_steps for run in each.runs),
            "most_steps": max(run.most_steps for run in each.runs),
            "share": _rounded(spread.median([run.least_steps / max(1, run.most_steps) for run in each.runs])),
            "longest_gap": max(run.longest_gap for run in each.runs),
        },
    }


def _rounded(value: float) -> float:
    """Four significant digits more than anybody measures."""
    return float(f"{value:.7g}")

"""Measures all settings in rounds, so that a drift of the machine hits all of them, within a budget of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..findings import COULD_NOT, Finding, Refusal
from . import measurement, spread
from .backends import Backend
from .interruption import Watch
from .job import Job
from .measurement import Run
from .setting import Setting

FEWEST_REPEATS = 3
"""Fewer runs of a setting say nothing about its spread."""
_MOST_SECONDS, _LEAST_SECONDS = 1.0, 0.02
_SHARE_TIMED = 0.6
"""Share of the budget that is timed; the rest is starting, warming up and stopping."""


class Measured(NamedTuple):
    """All runs of one setting."""

    setting: Setting
    runs: list[Run]

    @property
    def speed(self) -> spread.Spread:
        """Steps per second over the repeats."""
        return spread.of([run.steps_per_second for run in self.runs])


class Sweep(NamedTuple):
    """What was measured, and what was left out with the reason."""

    measured: list[Measured]
    left_out: list[tuple[Setting, str]]
    run_seconds: float
    """Length of one timed stretch."""
    repeats: int
    """Rounds that were asked for."""
    seconds: float


def run(
    settings: list[Setting],
    backends: Mapping[str, Backend],
    job_of: Callable[[Setting, int], Job],
    policy_units: int,
    seconds: float,
    repeats: int,
    watch: Watch,
) -> Sweep:
    """Rounds over all settings. Where time runs short, those far behind are measured no further, and it is said."""
    started = time.monotonic()
    deadline = started + seconds
    slowest = max(settings, key=lambda setting: (setting.backend == "serial", setting.environments))
    load = job_of(slowest, 0).load
    # Also the shortest run has a warm-up and some batches of all its environments, one after the other.
    shortest = (measurement.FEWEST_BATCHES + 1) * slowest.environments * load.step_us / 1e6
    if slowest.backend == "serial" and shortest * min(FEWEST_REPEATS, repeats) > seconds:
        raise _no_time(settings, seconds, 2 * shortest * repeats)
    timed = min(max(_SHARE_TIMED * seconds / (len(settings) * repeats), _LEAST_SECONDS), _MOST_SECONDS)
    fewest = min(FEWEST_REPEATS, repeats)
    runs: dict[Setting, list[Run]] = {setting: [] for setting in settings}
    spent: dict[Setting, float] = dict.fromkeys(settings, 0.0)
    first: dict[Setting, list[bytes]] = {}
    left_out: list[tuple[Setting, str]] = []
    left = list(settings)
    for repeat in range(repeats):
        # Another one begins each time: nobody is always measured after the same neighbour's heat.
        shift = repeat % len(left)
        for setting in left[shift:] + left[:shift]:
            now = time.monotonic()
            if now >= deadline or (repeat >= fewest and now + spent[setting] / repeat > deadline):
                continue
            if repeat == 0 and now - started > seconds / (fewest + 1) and sum(map(bool, runs.values())) > 2:
                # Each round takes as long: going on would leave no setting with enough runs.
                continue
            result, first[setting] = measurement.run(
                backends[setting.backend], job_of(setting, repeat), policy_units, timed, watch, first.get(setting)
            )
            runs[setting].append(result)
            spent[setting] += time.monotonic() - now
        if repeat == 0:
            unreached = [setting for setting in left if not runs[setting]]
            left_out += [(setting, "not reached within --seconds") for setting in unreached]
            left = [setting for setting in left if runs[setting]]
        left, behind = _affordable(left, runs, spent, fewest - repeat - 1, deadline - time.monotonic())
        left_out += [(setting, "too far behind to be measured again within --seconds") for setting in behind]
    measured = [Measured(setting, runs[setting]) for setting in left if len(runs[setting]) >= fewest]
    left_out += [
        (setting, f"{len(runs[setting])} of at least {fewest} runs done within --seconds")
        for setting in left
        if len(runs[setting]) < fewest
    ]
    reference = {setting.backend for setting in settings} & {"serial"}
    if not reference <= {each.setting.backend for each in measured} or len(measured) < min(2, len(settings)):
        raise _no_time(settings, seconds, max(sum(spent.values()) * repeats, 2 * seconds))
    return Sweep(measured, left_out, timed, repeats, time.monotonic() - started)


def _affordable(
    left: list[Setting],
    runs: Mapping[Setting, list[Run]],
    spent: Mapping[Setting, float],
    rounds: int,
    seconds: float,
) -> tuple[list[Setting], list[Setting]]:
    """The settings that can be measured `rounds` times more in so many seconds: serial ones, then the fastest."""
    if rounds <= 0 or not all(runs[setting] for setting in left):
        return left, []
    cost = {setting: rounds * spent[setting] / len(runs[setting]) for setting in left}
    speed = {setting: spread.median([run.steps_per_second for run in runs[setting]]) for setting in left}
    ordered = sorted(left, key=lambda setting: (setting.backend != "serial", -speed[setting]))
    kept: list[Setting] = []
    for setting in ordered:
        if cost[setting] <= seconds or len(kept) < 2:
            kept.append(setting)
            seconds -= cost[setting]
    return [setting for setting in left if setting in kept], [setting for setting in left if setting not in kept]


def _no_time(settings: list[Setting], seconds: float, needed: float) -> Refusal:
    return Refusal(
        Finding(
            "vectorization.budget",
            "too little time for a comparison: no setting is reported",
            "--seconds",
            f"{seconds:g} s for {len(settings)} settings",
            f"about {needed:.0f} s",
            f"--seconds {needed:.0f}, or fewer --backends, --workers and --envs",
        ),
        exit_status=COULD_NOT,
    )

"""Picks a setting and says why: the simplest of those that the noise does not tell from the fastest.

Two settings are compared round by round, each run with its neighbour in time, so that a drift of the machine cancels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .backends import Backend
from .setting import Setting
from .spread import of as spread_of
from .sweep import Measured


class Choice(NamedTuple):
    """The picked setting, the reasons for people, and the plan's fields."""

    picked: Measured
    noise: float
    """Of the comparison with the fastest setting, or of the picked one's own runs: 0.1 for 10 %."""
    reasons: list[str]
    fields: dict[str, str | int | bool | None]
    """Plan field -> value, for `make_plan.py --set`."""

    @property
    def options(self) -> str:
        """The fields as options of `make_plan.py`."""
        return " ".join(f"--set {name}={_word(value)}" for name, value in self.fields.items())


def choose(
    measured: list[Measured], backends: Mapping[str, Backend], start_method: str, oversubscribed: bool
) -> Choice:
    """The choice among the settings that a plan can name."""
    allowed = [each for each in measured if backends[each.setting.backend].PLAN]
    fastest = max(allowed, key=lambda each: each.speed.median)

    def simplicity(each: Measured) -> tuple[int, int, int, int]:
        setting = each.setting
        return backends[setting.backend].RANK, setting.workers, setting.environments, -setting.batch

    tied = [each for each in allowed if not faster(fastest, each)]
    picked = min(tied, key=simplicity)
    reasons = [f"{picked.setting}: {_speed(picked)}"]
    if picked is not fastest:
        reasons.append(
            f"{fastest.setting} has the highest median, but round by round it was {_margin(fastest, picked)}: "
            "a tie, which the simpler setting wins"
        )
    simpler = [each for each in allowed if simplicity(each) < simplicity(picked)]
    others = [each for each in allowed if each not in tied]
    rivals = [max(group, key=lambda each: each.speed.median) for group in (simpler, others) if group]
    for rival in dict.fromkeys(rival.setting for rival in rivals):
        each = next(each for each in rivals if each.setting == rival)
        kind = "the best simpler setting" if each in simpler else "the next best setting"
        than = "" if picked is fastest else " than the fastest"
        reasons.append(f"{kind}, {rival}, was {_margin(each, fastest, than)}")
    beyond = [each for each in measured if not backends[each.setting.backend].PLAN and faster(each, picked)]
    if beyond:
        best = max(beyond, key=lambda each: each.speed.median)
        reasons.append(f"{best.setting} was {_margin(best, picked)}, but no plan can choose that backend")
    own = picked.speed.noise / picked.speed.median
    noise = own if picked is fastest else max(own, compare(fastest, picked).noise)
    return Choice(picked, noise, reasons, fields(picked.setting, backends, start_method, oversubscribed))


class Comparison(NamedTuple):
    """One setting against another, over the rounds that both were measured in."""

    gain: float
    """How much more steps per second: 0.1 for 10 %, the median over the rounds."""
    noise: float
    """What one standard deviation of the gain is taken to be."""


def compare(one: Measured, other: Measured) -> Comparison:
    """How much faster `one` is than `other`."""
    ratios = [mine.steps_per_second / its.steps_per_second for mine, its in zip(one.runs, other.runs, strict=False)]
    spread = spread_of(ratios)
    return Comparison(spread.median - 1, spread.noise)


def faster(one: Measured, other: Measured) -> bool:
    """Whether one is faster than the other by more than the noise."""
    gain, noise = compare(one, other)
    return gain > noise


def fields(
    setting: Setting, backends: Mapping[str, Backend], start_method: str, oversubscribed: bool
) -> dict[str, str | int | bool | None]:
    """The plan fields (profile 3.0) of a setting."""
    backend = backends[setting.backend]
    return {
        "train.num_envs": setting.environments,
        "vectorization.backend": backend.PLAN,
        "vectorization.num_workers": setting.workers,
        "vectorization.envs_per_batch": setting.batch,
        # The first that are ready lie anywhere, so they are copied together.
        "vectorization.zero_copy": not backend.SURPLUS,
        "vectorization.start_method": start_method if backend.PROCESSES else None,
        "vectorization.oversubscribe": oversubscribed,
    }


def _margin(one: Measured, other: Measured, than: str = "") -> str:
    gain, noise = compare(one, other)
    return f"{abs(100 * gain):.1f} % {'faster' if gain > 0 else 'slower'}{than} (noise {100 * noise:.1f} %)"


def _speed(each: Measured) -> str:
    speed = each.speed
    share = 100 * speed.mad / speed.median
    return f"{speed.median:,.0f} steps/s (median of {len(each.runs)}, MAD {share:.1f} %)"


def _word(value: str | int | bool | None) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

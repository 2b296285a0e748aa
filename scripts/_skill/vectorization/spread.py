"""Median and spread of a few repeated measurements; percentiles of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_NORMAL = 1.4826
"""A median absolute deviation times this is the standard deviation of normal noise."""
_LEAST_NOISE = 0.01
"""Two figures closer than one percent are never told apart, however few and alike the repeats were."""


class Spread(NamedTuple):
    """Repeats of one figure."""

    median: float
    mad: float
    """Median absolute deviation from the median."""
    least: float
    most: float

    @property
    def noise(self) -> float:
        """What one standard deviation of the repeats is taken to be."""
        return max(_NORMAL * self.mad, _LEAST_NOISE * self.median)


def of(values: Sequence[float]) -> Spread:
    """The spread of at least one value."""
    middle = median(values)
    return Spread(middle, median([abs(value - middle) for value in values]), min(values), max(values))


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that `share` of the ascending values do not exceed."""
    rank = -int(-share * len(ordered) // 1)
    return ordered[min(max(rank, 1), len(ordered)) - 1]

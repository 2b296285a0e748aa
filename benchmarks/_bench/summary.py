"""From repeated runs to a table: median, spread, ratio.

A run that others disturbed does not count while there are clean ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

# A run counts as clean when others kept fewer cores busy, on average, than this.
CLEAN_OTHER_CORES = 0.30
CLEAN_STOLEN_CORES = 0.10
NOTHING = "-"


@dataclass(frozen=True)
class Spread:
    """What stands for several measurements of one quantity."""

    count: int
    median: float
    low: float
    high: float
    quarter: float
    three_quarters: float

    @property
    def middle_half(self) -> float:
        """The interquartile range."""
        return self.three_quarters - self.quarter

    def record(self) -> dict[str, float]:
        """As plain values."""
        return {
            "count": self.count,
            "median": self.median,
            "min": self.low,
            "max": self.high,
            "iqr": self.middle_half,
        }


def spread(values: Iterable[float | None]) -> Spread | None:
    """Median, extremes and quartiles (linear between neighbours) of the values that are there; None without any."""
    there = sorted(value for value in values if value is not None)
    if not there:
        return None
    return Spread(len(there), quantile(there, 0.5), there[0], there[-1], quantile(there, 0.25), quantile(there, 0.75))


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of them lies; linear between neighbours. `ordered` is sorted and not empty."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def is_clean(record: dict[str, Any], spare_cores: float = 0.0) -> bool:
    """Whether a run had the machine to itself. One that leaves `spare_cores` idle may share it with most of these."""
    other, stolen = record.get("other_cores"), record.get("stolen_cores")
    return (other is None or other < CLEAN_OTHER_CORES + 0.8 * spare_cores) and (
        stolen is None or stolen < CLEAN_STOLEN_CORES
    )


def clean_or_all(records: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
    """The clean runs, or all of them, and whether these are disturbed."""
    clean = [record for record in records if record.get("clean")]
    return (clean, False) if clean else (list(records), bool(records))


def number(value: float | None, digits: int = 3) -> str:
    """A number for people: 12.3M, 155K, 475, 0.482."""
    if value is None:
        return NOTHING
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if exponent_of(value, digits) >= exponent_of(size, digits):
            return f"{plain(value / size, digits)}{letter}"
    return plain(value, digits)


def exponent_of(value: float, digits: int) -> int:
    """The power of ten of a number's first digit once it is rounded to so many digits."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])


def plain(value: float, digits: int = 3) -> str:
    """A number with so many digits that count, never in exponent form."""
    if value == 0:
        return "0"
    return f"{value:.{max(0, digits - 1 - max(-1, exponent_of(value, digits)))}f}"


def with_spread(values: Spread | None, digits: int = 3) -> str:
    """``median (min-max)``."""
    if values is None:
        return NOTHING
    if values.count == 1:
        return number(values.median, digits)
    return f"{number(values.median, digits)} ({number(values.low, digits)}-{number(values.high, digits)})"


def ratio(value: float | None, reference: float | None) -> str:
    """How many times the reference, as ``x 12.3``."""
    if value is None or reference is None or reference == 0:
        return NOTHING
    return f"x {plain(value / reference)}"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns also line up as plain text; columns but the first are set to the right."""
    cells = [list(headings), *[[cell.replace("|", "/") for cell in row] for row in rows]]
    for row in cells:
        if len(row) != len(headings):
            raise ValueError(f"a row has {len(row)} cells, the table {len(headings)} columns: {row}")
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(headings))]
    lines = []
    for row in cells:
        padded = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("| " + " | ".join(padded) + " |")
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(lines)

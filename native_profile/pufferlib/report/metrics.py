"""Training curves from ``metrics.jsonl``, read in one bounded pass and thinned to what a screen can show.

Rows are kept one by one while there are few. When there are too many, neighbours are merged in pairs: a point then
stands for several rows and carries their mean, lowest and highest value, so that no spike is lost by thinning.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .reading import open_regular, visible

MAX_POINTS = 600  # after thinning there are between half of this and this many
MAX_LINE = 65_536  # bytes
FULL_READ = 32 << 20  # bytes; of a longer file every second, third, ... row is read
MAX_STATISTICS = 12
MAX_VALUE = 1e150  # so that sums over any number of rows stay finite
AXES = ("step", "seconds")
CURVES = (
    "return",
    "length",
    "policy_loss",
    "value_loss",
    "entropy",
    "approx_kl",
    "clip_fraction",
    "explained_variance",
    "gradient_norm",
    "learning_rate",
    "steps_per_second",
)
TIMES = ("seconds_rollout", "seconds_learn")


@dataclass
class Point:
    """One or several neighbouring rows: per column how many values, their sum, the lowest and the highest."""

    rows: int = 0
    count: dict[str, int] = field(default_factory=dict)
    total: dict[str, float] = field(default_factory=dict)
    low: dict[str, float] = field(default_factory=dict)
    high: dict[str, float] = field(default_factory=dict)

    def add(self, values: dict[str, float]) -> None:
        self.rows += 1
        for name, value in values.items():
            self._merge(name, 1, value, value, value)

    def absorb(self, other: Point) -> None:
        self.rows += other.rows
        for name, count in other.count.items():
            self._merge(name, count, other.total[name], other.low[name], other.high[name])

    def _merge(self, name: str, count: int, total: float, low: float, high: float) -> None:
        if name in self.count:
            self.count[name] += count
            self.total[name] += total
            self.low[name] = min(self.low[name], low)
            self.high[name] = max(self.high[name], high)
        else:
            self.count[name], self.total[name], self.low[name], self.high[name] = count, total, low, high


@dataclass
class Curves:
    """The thinned curves of a run. ``last`` is the newest row as it was written; ``notes`` say what was left out."""

    rows: int = 0
    every: int = 1  # of the file's rows, each ``every``-th was read
    points: list[Point] = field(default_factory=list)
    statistics: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(TIMES, 0.0))
    last: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def columns(self) -> dict[str, Any]:
        """What the page draws: per column the means, and where points were merged the lowest and highest values."""
        merged = any(point.rows > 1 for point in self.points)
        names = [*AXES, *CURVES, *(f"statistics.{name}" for name in self.statistics)]
        document: dict[str, Any] = {
            "rows": self.rows,
            "rows_a_point": max((point.rows for point in self.points), default=0) * self.every,
            "mean": {name: [_mean(point, name) for point in self.points] for name in names},
            "low": {},
            "high": {},
        }
        if merged:
            for name in names[len(AXES) :]:
                document["low"][name] = [_short(point.low.get(name)) for point in self.points]
                document["high"][name] = [_short(point.high.get(name)) for point in self.points]
        return document


def read_curves(path: Path) -> Curves:
    """Read ``metrics.jsonl``. Raises Unreadable when there is no such file or it cannot be read at all."""
    curves = Curves()
    width = 1  # rows a point
    bad_rows = not_finite = repeated = 0
    first_bad = ""
    known: set[str] = set()
    previous_step = -math.inf
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        curves.every = max(1, math.ceil(size / FULL_READ))
        number = 0
        while line := stream.readline(MAX_LINE):
            number += 1
            if not line.endswith(b"\n"):
                if len(line) < MAX_LINE:
                    curves.notes.append("The last row of metrics.jsonl is cut off and left out.")
                    break
                while (rest := stream.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
                bad_rows, first_bad = bad_rows + 1, first_bad or f"row {number} is longer than {MAX_LINE:,} bytes"
                continue
            if number % curves.every and stream.tell() < size:
                continue
            try:
                values, skipped = _row(line, known)
            except ValueError as error:
                bad_rows, first_bad = bad_rows + 1, first_bad or f"row {number}: {error}"
                continue
            not_finite += skipped
            if values["step"] <= previous_step:
                repeated += 1
                continue
            previous_step = values["step"]
            curves.rows += 1
            curves.last = values
            for name in TIMES:
                curves.seconds[name] += values.pop(name, 0.0)
            width = append(curves.points, values, width)
    curves.statistics = sorted(known)
    if curves.every > 1:
        curves.notes.append(f"metrics.jsonl is {size:,} bytes long: one row in {curves.every} was read.")
    if bad_rows:
        curves.notes.append(f"{bad_rows:,} rows of metrics.jsonl could not be read and are left out ({first_bad}).")
    if not_finite:
        curves.notes.append(
            f"{not_finite:,} values of metrics.jsonl are not finite numbers (within 1e150) and leave gaps."
        )
    if repeated:
        curves.notes.append(f"{repeated:,} rows of metrics.jsonl do not advance the step count and are left out.")
    if not curves.rows:
        curves.notes.append("metrics.jsonl holds no row to draw.")
    return curves


def append(points: list[Point], values: dict[str, float], width: int, most: int = MAX_POINTS) -> int:
    """Add a row to points of ``width`` rows each; ``most`` (even) are first merged in pairs. Returns the width."""
    if points and points[-1].rows < width:
        points[-1].add(values)
        return width
    if len(points) >= most:
        for left, right in zip(points[::2], points[1::2], strict=True):
            left.absorb(right)
        del points[1::2]
        width *= 2
    points.append(Point())
    points[-1].add(values)
    return width


def _row(line: bytes, known: set[str]) -> tuple[dict[str, float], int]:
    """The finite numbers of one row by name, and how many values were not finite. Raises ValueError."""
    try:
        row = json.loads(line.decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not JSON, {visible(str(error), 120)}") from None
    if not isinstance(row, dict):
        raise ValueError("not an object")
    values: dict[str, float] = {}
    skipped = 0
    for name in (*AXES, *CURVES, *TIMES, "iteration", "episodes"):
        skipped += _take(values, name, row.get(name))
    statistics = row.get("statistics")
    if isinstance(statistics, dict):
        for key, value in statistics.items():
            name = visible(key, 60)
            if name not in known and len(known) < MAX_STATISTICS:
                known.add(name)
            if name in known:
                skipped += _take(values, f"statistics.{name}", value)
    for name in AXES:
        if name not in values:
            raise ValueError(f"{name} is not a finite number")
    return values, skipped


def _take(values: dict[str, float], name: str, value: Any) -> int:
    """Keep a finite number under its name; return 1 for NaN, infinity or another type, 0 for a number or null."""
    if value is None:
        return 0
    if type(value) in (int, float) and abs(value) <= MAX_VALUE:  # false for NaN
        values[name] = value
        return 0
    return 1


def _mean(point: Point, name: str) -> float | None:
    if name not in point.count:
        return None
    mean = point.total[name] / point.count[name]
    return round(mean) if name == "step" else _short(mean)


def _short(value: float | None) -> float | None:
    """Six significant digits: more than a chart or its readout shows, a third of the bytes."""
    if value is None:
        return None
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short

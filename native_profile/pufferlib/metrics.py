"""The metrics log of a run: one JSON object a line, always written, first and without any other logger."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import IO, Any

from .engine import Metrics
from .errors import PufferError
from .files import write_atomically

FILE = "metrics.jsonl"
_LOSSES = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "explained_variance", "gradient_norm")


def record(metrics: Metrics, statistics: list[str], seconds: float, rate: float) -> dict[str, Any]:
    """One line of the log. ``rate`` in agent steps a second; what is not known yet is null."""
    line: dict[str, Any] = {
        "iteration": metrics.iteration,
        "step": metrics.step,
        "seconds": round(seconds, 6),
        "steps_per_second": round(rate, 1),
        "episodes": metrics.episodes,
        "return": _number(metrics.recent_return),
        "length": _number(metrics.recent_length),
    }
    for name in _LOSSES:
        line[name] = _number(getattr(metrics, name))
    line["learning_rate"] = metrics.learning_rate
    line["seconds_rollout"] = round(metrics.seconds_rollout, 6)
    line["seconds_learn"] = round(metrics.seconds_learn, 6)
    line["statistics"] = {name: _number(metrics.statistics[i]) for i, name in enumerate(statistics)}
    return line


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


class MetricsLog:
    """Appends to metrics.jsonl. Lines thin out as a run gets longer, so a day's log stays readable in one sitting."""

    def __init__(self, run_dir: Path, keep_to_step: int) -> None:
        """Keeps lines up to ``keep_to_step`` of an interrupted run; what came after its checkpoint is made again."""
        path = self._path = run_dir / FILE
        kept = [line for line in _lines(path) if _step(line) <= keep_to_step] if keep_to_step else []
        write_atomically(path, kept)
        self.seconds_before = _seconds(kept[-1]) if kept else 0.0
        self._stream: IO[bytes] = path.open("ab", buffering=0)
        self._next = 0.0

    def due(self, seconds: float) -> bool:
        """Whether half a percent of the run so far has passed since the last line: at first, every iteration."""
        return seconds >= self._next

    def write(self, line: dict[str, Any]) -> None:
        """Appends one line in a single write."""
        try:
            self._stream.write(json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n")
        except OSError as error:
            raise PufferError(f"{self._path} cannot be written: {error.strerror}") from error
        self._next = line["seconds"] * (1 + 1 / 200)

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()


def _lines(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as stream:
            return [line for line in stream.read(256 << 20).splitlines(keepends=True) if line.endswith(b"\n")]
    except FileNotFoundError:
        return []


def _step(line: bytes) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf


def _seconds(line: bytes) -> float:
    return float(json.loads(line)["seconds"])

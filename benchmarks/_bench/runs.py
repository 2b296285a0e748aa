"""Read what a training run of ours left in its folder: the moment it solved, its speed, its score.

The folder holds `metrics.jsonl`, one JSON object an iteration, and `manifest.json`, written when the run ended.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RECENT_EPISODES = 100
MOST_BYTES = 256 * 2**20


class UnreadableRun(Exception):
    """A run folder lacks something or holds something else; the text says which file."""


def read_object(path: Path) -> dict[str, Any]:
    """A JSON file whose top is an object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableRun(f"{path}: {error}") from error
    if not isinstance(value, dict):
        raise UnreadableRun(f"{path}: an object was expected")
    return value


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All complete lines of a metrics file, oldest first; at least one."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UnreadableRun(f"{path}: larger than {MOST_BYTES} bytes")
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise UnreadableRun(f"{path}: {error}") from error
    if not rows:
        raise UnreadableRun(f"{path}: no line yet")
    return rows


def first_reaching(rows: list[dict[str, Any]], target: float) -> dict[str, Any] | None:
    """The first iteration whose mean return over the last 100 finished episodes is at least `target`."""
    for row in rows:
        value = row.get("return")
        if value is not None and value >= target and row["episodes"] >= RECENT_EPISODES:
            return row
    return None


def first_statistic(rows: list[dict[str, Any]], name: str, least: float) -> dict[str, Any] | None:
    """The first iteration in which an environment's statistic is at least `least`."""
    for row in rows:
        value = row.get("statistics", {}).get(name)
        if value is not None and value >= least and row["episodes"] >= RECENT_EPISODES:
            return row
    return None


def read_run(folder: Path, target: float | None) -> dict[str, Any]:
    """What a benchmark wants to know of a run.

    ``solved*`` is about `target`; ``wall_*`` is Breakout's: the first iteration in which the last episodes cleared one
    wall on average. ``steps_per_second`` counts training from its start to its last iteration, evaluation left out.
    """
    rows, manifest = read_metrics(folder / "metrics.jsonl"), read_object(folder / "manifest.json")
    last = rows[-1]
    solved = None if target is None else first_reaching(rows, target)
    wall = first_statistic(rows, "walls", 1.0)
    scores = [row["statistics"]["score"] for row in rows if row.get("statistics", {}).get("score") is not None]
    evaluation = manifest.get("evaluation") or {}
    return {
        "status": manifest.get("status"),
        "steps": last["step"],
        "iterations": last["iteration"],
        "train_seconds": last["seconds"],
        "steps_per_second": last["step"] / last["seconds"] if last["seconds"] > 0 else None,
        "compile_seconds": 0.0,
        "return": last.get("return"),
        "evaluation_return": evaluation.get("return_mean"),
        "solved": solved is not None,
        "solved_seconds": solved["seconds"] if solved else None,
        "solved_steps": solved["step"] if solved else None,
        "score": scores[-1] if scores else None,
        "best_score": max(scores) if scores else None,
        "wall_seconds": wall["seconds"] if wall else None,
        "wall_steps": wall["step"] if wall else None,
        "seconds_inside": manifest.get("seconds"),
        "weights_sha256": manifest.get("weights_sha256"),
    }

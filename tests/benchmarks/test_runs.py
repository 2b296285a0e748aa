from __future__ import annotations

import json
from pathlib import Path

import pytest

from _bench import runs


def line(iteration: int, **values: object) -> dict[str, object]:
    base = {"iteration": iteration, "step": 1000 * iteration, "seconds": 0.1 * iteration, "episodes": 60 * iteration}
    return base | {"return": 100.0 * iteration, "statistics": {}} | values


def write_run(folder: Path, lines: list[dict[str, object]], manifest: dict[str, object] | None = None) -> Path:
    (folder / "metrics.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in lines), encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps(manifest or {"status": "complete"}), encoding="utf-8")
    return folder


def test_solved_is_the_first_iteration_at_the_target_with_a_hundred_episodes(tmp_path):
    lines = [line(1, **{"return": 480.0}), line(2, **{"return": None}), line(3, **{"return": 475.0}), line(4)]
    found = runs.read_run(write_run(tmp_path, lines), 475.0)
    assert found["solved"] and (found["solved_steps"], found["solved_seconds"]) == (3000, pytest.approx(0.3))
    assert found["steps_per_second"] == pytest.approx(4000 / 0.4)


def test_a_run_that_never_gets_there_is_not_solved(tmp_path):
    found = runs.read_run(write_run(tmp_path, [line(1), line(2)]), 475.0)
    assert not found["solved"] and found["solved_seconds"] is None


def test_the_wall_is_cleared_when_the_episodes_clear_one_on_average(tmp_path):
    lines = [
        line(1, statistics={"score": 40.0, "walls": 0.0}),
        line(2, statistics={"score": 500.0, "walls": 1.1}),
        line(3, statistics={"score": 450.0, "walls": 0.9}),
        line(4, statistics={"score": None, "walls": None}),
    ]
    found = runs.read_run(write_run(tmp_path, lines), None)
    assert (found["wall_steps"], found["score"], found["best_score"]) == (2000, 450.0, 500.0)


@pytest.mark.parametrize(("metrics", "manifest"), [("", "{}"), ('{"x": 1\n', "{}"), (json.dumps(line(1)), "[]")])
def test_a_run_that_cannot_be_read_names_the_file(tmp_path, metrics, manifest):
    (tmp_path / "metrics.jsonl").write_text(metrics, encoding="utf-8")
    (tmp_path / "manifest.json").write_text(manifest, encoding="utf-8")
    with pytest.raises(runs.UnreadableRun, match=r"metrics\.jsonl|manifest\.json"):
        runs.read_run(tmp_path, None)

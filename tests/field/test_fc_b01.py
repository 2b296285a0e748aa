"""FC-B01: counts that do not divide, or exceed the cores."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from .conftest import Tool
from .plan_files import PLAN_3, PLAN_4, changed, machine, write


def plan(envs: int, workers: int, block: int | None = None, **more: Any) -> dict[str, Any]:
    """A plan whose other sizes follow from the three of the case."""
    changes = {
        "train.num_envs": envs,
        "train.horizon": 16,
        "train.batch_size": envs * 16,
        "train.minibatch_size": envs * 16,
        "vectorization.num_workers": workers,
        "vectorization.envs_per_batch": envs if block is None else block,
    }
    return changed(PLAN_3, changes | more)


@pytest.mark.parametrize(
    ("sizes", "cores", "code"),
    [
        ((10, 4, None), 16, "vector.workers_divide"),
        ((12, 4, 4), 16, "vector.block_workers"),
        ((12, 4, 9), 16, "vector.block_zero_copy"),
        ((16, 16, 16), 2, "workers.cores"),
        # Others of the kind.
        ((12, 5, None), 16, "vector.workers_divide"),
        ((4, 8, None), 16, "vector.workers_divide"),
        ((12, 4, 24), 16, "vector.block_exceeds"),
        ((12, 4, 1), 16, "vector.block_workers"),
        ((12, 4, 13), 16, "vector.block_exceeds"),
        ((12, 0, None), 16, "vector.workers_open"),
    ],
)
def test_each_is_refused_with_values_that_pass(
    tool: Tool, tmp_path: Path, sizes: tuple[int, int, int | None], cores: int, code: str
) -> None:
    path, place = write(tmp_path, plan(*sizes)), machine(tmp_path, cores=cores)
    answer = tool("validate_plan", path, "--machine", place)
    assert answer.exit_status == 1
    finding = answer.finding(code)
    assert finding["got"] and finding["want"] and finding["fix"]
    # The first value that the finding names is then accepted.
    named = re.search(r"(num_workers|envs_per_batch) (\d+)", finding["fix"])
    assert named
    mended = changed(plan(*sizes), {f"vectorization.{named[1]}": int(named[2])})
    if named[1] == "num_workers" and sizes[2] is None:
        mended = changed(mended, {"vectorization.envs_per_batch": sizes[0]})
    again = tool("validate_plan", write(tmp_path, mended), "--machine", place)
    assert again.exit_status == 0, again.text


@pytest.mark.parametrize(
    ("document", "cores"),
    [
        (plan(12, 4, 6), 16),
        (plan(12, 4, 12), 16),
        (plan(12, 4, 9, **{"vectorization.zero_copy": False}), 16),
        (plan(16, 16, 16), 16),
        (plan(10, 5, 2), 16),
    ],
)
def test_what_fits_is_accepted(tool: Tool, tmp_path: Path, document: dict[str, Any], cores: int) -> None:
    answer = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path, cores=cores))
    assert answer.exit_status == 0, answer.text


def test_more_workers_than_cores_is_allowed_only_where_the_plan_says_so(tool: Tool, tmp_path: Path) -> None:
    place = machine(tmp_path, cores=2)
    refused = tool("validate_plan", write(tmp_path, plan(16, 16)), "--machine", place)
    finding = refused.finding("workers.cores")
    assert finding["severity"] == "error"
    assert "oversubscribe" in finding["fix"] and "num_workers 2" in finding["fix"] and "at most 2" in finding["want"]
    document = plan(16, 16, **{"vectorization.oversubscribe": True})
    allowed = tool("validate_plan", write(tmp_path, document), "--machine", place)
    assert allowed.exit_status == 0 and allowed.finding("workers.cores")["severity"] == "warning"


def test_the_ranks_of_a_machine_share_its_cores(tool: Tool, tmp_path: Path) -> None:
    document = changed(
        plan(16, 8), {"distributed.world_size": 4, "distributed.nodes": 2, "distributed.backend": "gloo"}
    )
    answer = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path, cores=8))
    assert "2 ranks" in answer.finding("workers.cores")["got"]


def test_the_nearest_valid_values_are_listed(tool: Tool, tmp_path: Path) -> None:
    place = machine(tmp_path)
    answer = tool("validate_plan", write(tmp_path, plan(10, 4)), "--machine", place)
    fix = answer.finding("vector.workers_divide")["fix"]
    for value in ("num_workers 2", "num_workers 5", "train.num_envs 8", "train.num_envs 12"):
        assert value in fix
    answer = tool("validate_plan", write(tmp_path, plan(12, 4, 9)), "--machine", place)
    assert "3, 6, 12" in answer.finding("vector.block_zero_copy")["want"]


def test_the_cores_are_those_of_the_affinity(tool: Tool, tmp_path: Path) -> None:
    import os

    one = min(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    document = changed(PLAN_4, {"vectorization.num_workers": 2})
    path = write(tmp_path, document)
    try:
        os.sched_setaffinity(0, {one})
        answer = tool("validate_plan", path)
    finally:
        os.sched_setaffinity(0, before)
    finding = answer.finding("workers.cores")
    assert finding["got"] == "2" and "at most 1" in finding["want"] and finding["fix"] == "num_workers 1"


def test_make_plan_chooses_workers_that_divide_and_fit(tool: Tool, tmp_path: Path) -> None:
    for cores, workers in ((2, 2), (3, 3), (7, 6), (64, 60)):
        place = machine(tmp_path, cores=cores)
        answer = tool(
            "make_plan", "cartpole", "--profile", "3.0", "--machine", place, "--set", "train.num_envs=60"
        )  # fmt: skip
        assert answer.exit_status == 0, answer.text
        assert answer.report["plan"]["vectorization"]["num_workers"] == workers

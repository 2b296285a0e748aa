"""FC-C06: multi-GPU run hangs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from .conftest import Tool
from .plan_files import PLAN_3, PLAN_4, changed, machine, write

CARD = {"kind": "cuda", "name": "some card", "memory_bytes": 24 << 30}
TWO = {"device": "cuda", "distributed.world_size": 2, "distributed.backend": "nccl"}


def check(tool: Tool, folder: Path, changes: dict[str, Any], devices: int = 2) -> Any:
    place = machine(folder, devices=[CARD] * devices)
    return tool("validate_plan", write(folder, changed(PLAN_3, changes)), "--machine", place)


def test_two_ranks_on_two_devices_are_fine(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, TWO)
    assert answer.exit_status == 0, answer.text


def test_more_ranks_than_visible_devices_are_refused(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, TWO, devices=1)
    assert answer.exit_status == 1
    finding = answer.finding("distributed.devices")
    assert finding["pointer"] == "/distributed/world_size" and "at most 1" in finding["want"]
    assert "world_size 1" in finding["fix"] and "nodes 2" in finding["fix"]


def test_ranks_are_counted_for_each_machine(tool: Tool, tmp_path: Path) -> None:
    changes = TWO | {"distributed.world_size": 4, "distributed.nodes": 2}
    assert check(tool, tmp_path, changes, devices=2).exit_status == 0
    assert "distributed.devices" in check(tool, tmp_path, changes, devices=1).codes
    uneven = check(tool, tmp_path, TWO | {"distributed.world_size": 4, "distributed.nodes": 3}, devices=4)
    assert "divisor of 4" in uneven.finding("distributed.nodes")["want"]


def test_a_global_batch_that_ranks_cannot_share_is_refused(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, TWO | {"train.batch_size": 8191})
    assert answer.exit_status == 1
    finding = answer.finding("distributed.shares")
    assert finding["pointer"] == "/train/batch_size" and "8191 / 2" in finding["got"]
    assert "batch_size 8190" in finding["fix"] and "batch_size 8192" in finding["fix"]


@pytest.mark.parametrize(
    ("field", "value"), [("num_envs", 127), ("minibatch_size", 2049), ("batch_size", 8193)]
)  # fmt: skip
def test_every_share_is_looked_at(tool: Tool, tmp_path: Path, field: str, value: int) -> None:
    answer = check(tool, tmp_path, TWO | {f"train.{field}": value})
    pointers = [f["pointer"] for f in answer.report["findings"] if f["code"] == "distributed.shares"]
    assert pointers == [f"/train/{field}"]
    three = check(tool, tmp_path, TWO | {"distributed.world_size": 3}, devices=3)
    assert {f["pointer"] for f in three.report["findings"] if f["code"] == "distributed.shares"} == {
        "/train/num_envs",
        "/train/batch_size",
        "/train/minibatch_size",
    }


def test_nccl_without_cuda_is_refused(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, TWO | {"device": "cpu"})
    assert answer.exit_status == 1
    assert "gloo" in answer.finding("distributed.nccl")["fix"]
    gloo = check(tool, tmp_path, TWO | {"device": "cpu", "distributed.backend": "gloo"}, devices=0)
    assert gloo.exit_status == 0, gloo.text
    alone = check(tool, tmp_path, {"distributed.backend": "nccl"})
    assert alone.exit_status == 1 and '"none"' in alone.finding("distributed.nccl")["fix"]


def test_several_ranks_without_a_backend_are_refused(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, TWO | {"distributed.backend": "none"})
    assert answer.exit_status == 1 and "nccl" in answer.finding("distributed.backend")["fix"]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (..., "schema.required"),
        (None, "schema.type"),
        (0, "schema.range"),
        (-1, "schema.range"),
        (10**9, "schema.range"),
        (300.5, "schema.type"),
        ("300", "schema.type"),
        (True, "schema.type"),
    ],
)
def test_the_wait_for_another_rank_is_said_and_finite(tool: Tool, tmp_path: Path, value: Any, code: str) -> None:
    answer = check(tool, tmp_path, TWO | {"distributed.timeout_seconds": value})
    assert answer.exit_status == 1 and answer.codes == [code]
    assert "timeout_seconds" in answer.text


def test_an_infinite_wait_cannot_even_be_written(tool: Tool, tmp_path: Path) -> None:
    path = write(tmp_path, changed(PLAN_3, TWO))
    path.write_text(re.sub(r'"timeout_seconds": 300', '"timeout_seconds": Infinity', path.read_text()))
    assert tool("validate_plan", path).codes == ["json.not_finite"]


def test_a_very_long_wait_is_pointed_out(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, TWO | {"distributed.timeout_seconds": 86400})
    assert answer.exit_status == 0 and answer.finding("distributed.timeout")["severity"] == "warning"


@pytest.mark.parametrize("backend", ["ncl", "mpi", "NCCL", "gloo "])
def test_an_unknown_backend_is_refused(tool: Tool, tmp_path: Path, backend: str) -> None:
    answer = check(tool, tmp_path, TWO | {"distributed.backend": backend})
    assert answer.codes == ["schema.enum"]


def test_a_profile_without_ranks_takes_none(tool: Tool, tmp_path: Path) -> None:
    document = changed(
        PLAN_4,
        {"distributed": {"world_size": 2, "nodes": 1, "backend": "nccl", "timeout_seconds": 300}},
    )
    answer = tool("validate_plan", write(tmp_path, document))
    assert answer.exit_status == 1
    finding = answer.finding("profile.key_unneeded")
    assert finding["pointer"] == "/distributed" and "3.0" in finding["fix"]


@pytest.mark.parametrize(("visible", "count"), [("", 0), ("-1", 0), ("NoDevFiles", 0)])
def test_devices_that_a_variable_hides_do_not_count(tool: Tool, tmp_path: Path, visible: str, count: int) -> None:
    path = write(tmp_path, changed(PLAN_3, TWO))
    answer = tool("validate_plan", path, variables={"CUDA_VISIBLE_DEVICES": visible})
    assert f"at most {count} " in answer.finding("distributed.devices")["want"]


def test_the_batch_that_is_named_fits_all_sizes_at_once(tool: Tool, tmp_path: Path) -> None:
    three = check(tool, tmp_path, TWO | {"distributed.world_size": 3}, devices=3)
    batch = next(f for f in three.report["findings"] if f["pointer"] == "/train/batch_size")
    assert "batch_size 24576" in batch["fix"] and "batch_size 8190" not in batch["fix"]

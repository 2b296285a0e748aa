"""FC-C01: batch, minibatch and horizon that do not fit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from .conftest import Tool
from .plan_files import PLAN_3, PLAN_4, changed, machine, write

NAMES = ("num_envs", "horizon", "batch_size", "minibatch_size", "max_minibatch_size")


def plan_3(envs: int, horizon: int, batch: int, minibatch: int, most: int = 1 << 20) -> dict[str, Any]:
    sizes = dict(zip(NAMES, (envs, horizon, batch, minibatch, most), strict=True))
    return changed(
        PLAN_3,
        {f"train.{name}": value for name, value in sizes.items()}
        | {"vectorization.envs_per_batch": envs, "vectorization.num_workers": 1},
    )


def plan_4(envs: int, horizon: int, minibatch: int) -> dict[str, Any]:
    return changed(
        PLAN_4, {"train.num_envs": envs, "train.horizon": horizon, "train.minibatch_size": minibatch}
    )  # fmt: skip


def test_the_case_is_refused_with_both_reasons(tool: Tool, tmp_path: Path) -> None:
    answer = tool("validate_plan", write(tmp_path, plan_3(128, 60, 8192, 2040)), "--machine", machine(tmp_path))
    assert answer.exit_status == 1
    finding = answer.finding("batch.multiple")
    assert finding["pointer"] == "/train/batch_size" and finding["got"] == "8192"
    assert "128 x 60 = 7680" in finding["want"]
    assert "32 steps would be dropped: 136 x 60 = 8160" in finding["message"]
    assert "batch_size 7680" in finding["fix"] and "horizon 64" in finding["fix"]
    finding = answer.finding("batch.divides")
    assert finding["pointer"] == "/train/minibatch_size" and "4.016" in finding["got"]


def test_what_fits_is_accepted_with_its_numbers(tool: Tool, tmp_path: Path) -> None:
    for document in (plan_3(128, 64, 8192, 2048), plan_4(128, 64, 2048)):
        answer = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path))
        assert answer.exit_status == 0, answer.text
        numbers = answer.report["numbers"]
        wanted = {"batch": 8192, "segments": 128, "minibatch_segments": 32, "minibatches": 4}
        assert {name: numbers[name] for name in wanted} == wanted
        # 20,000,000 steps are 2442 iterations of 4 epochs with 4 minibatches each.
        assert (numbers["iterations"], numbers["gradient_steps"]) == (2442, 2442 * 4 * 4)


@pytest.mark.parametrize(
    ("document", "codes"),
    [
        (plan_3(128, 64, 8192, 16384), {"batch.exceeds"}),
        (plan_4(128, 64, 16384), {"batch.exceeds"}),
        (plan_3(128, 64, 8192, 3072), {"batch.divides"}),
        (plan_4(128, 64, 2040), {"batch.divides"}),
        (plan_3(128, 64, 8192, 32), {"batch.segment"}),
        (plan_3(128, 64, 8192, 96), {"batch.segment", "batch.divides"}),
        (plan_3(128, 64, 8193, 2731), {"batch.multiple", "batch.segment"}),
        (plan_3(128, 64, 4096, 2048), {"batch.multiple"}),
        (plan_3(128, 64, 12288, 2048), {"batch.multiple"}),
        # Above the most of one pass: only whole equal parts.
        (plan_3(128, 64, 8192, 4096, 3000), {"batch.passes"}),
        (plan_3(128, 64, 8192, 4096, 1536), {"batch.passes"}),
        (plan_3(128, 64, 8192, 4096, 32), {"batch.passes"}),
        # Tiles and slices of profile 4.0.
        (plan_4(96, 64, 2048), {"batch.tile"}),
        (plan_4(128, 60, 3840), {"batch.slice"}),
        (plan_4(64, 32, 256), {"batch.slices"}),
    ],
)
def test_others_of_the_kind(tool: Tool, tmp_path: Path, document: dict[str, Any], codes: set[str]) -> None:
    place = machine(tmp_path)
    answer = tool("validate_plan", write(tmp_path, document), "--machine", place)
    assert answer.exit_status == 1
    found = {code for code in answer.codes if code.startswith("batch.")}
    assert found == codes, answer.text
    for finding in answer.report["findings"]:
        if finding["code"].startswith("batch.") and len(codes) == 1:
            name, value = re.findall(r"(batch_size|minibatch_size|max_minibatch_size) (\d+)", finding["fix"])[0]
            mended = changed(document, {f"train.{name}": int(value)})
            again = tool("validate_plan", write(tmp_path, mended), "--machine", place)
            assert not [code for code in again.codes if code.startswith("batch.")], again.text


@pytest.mark.parametrize(
    ("document", "numbers"),
    [
        (plan_3(128, 64, 8192, 4096, 2048), {"passes": 2, "minibatches": 2}),
        (plan_3(128, 64, 8192, 4096, 4096), {"passes": 1, "minibatches": 2}),
        (plan_3(128, 64, 16384, 8192, 8192), {"batch": 16384, "segments": 256, "minibatches": 2}),
        (plan_3(1, 1, 1, 1), {"batch": 1, "segments": 1, "minibatches": 1}),
        (plan_4(10, 5, 50), {"batch": 50, "minibatches": 1, "segments": 10, "minibatch_segments": 10}),
        (plan_4(128, 64, 8192), {"minibatches": 1}),
    ],
)
def test_the_edges_are_accepted(tool: Tool, tmp_path: Path, document: dict[str, Any], numbers: dict[str, int]) -> None:
    answer = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path))
    assert answer.exit_status == 0, answer.text
    assert {name: answer.report["numbers"][name] for name in numbers} == numbers


@pytest.mark.parametrize("field", ["train.num_envs", "train.horizon", "train.minibatch_size", "train.batch_size"])
@pytest.mark.parametrize("value", [0, -1, 2**60])
def test_no_size_is_zero_negative_or_endless(tool: Tool, tmp_path: Path, field: str, value: int) -> None:
    answer = tool("validate_plan", write(tmp_path, changed(PLAN_3, {field: value})))
    assert answer.exit_status == 1
    assert set(answer.codes) <= {"schema.range", "json.integer_range"}


def test_agents_of_an_environment_count(tool: Tool, tmp_path: Path) -> None:
    document = changed(plan_3(16, 64, 8192, 2048), {"environment.agents": 8})
    answer = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path))
    assert answer.exit_status == 0 and answer.report["numbers"]["agents"] == 128
    target = tool("make_plan", "target", "--json")
    numbers = target.report["numbers"]
    assert numbers["agents"] == target.report["plan"]["train"]["num_envs"] * 8 and numbers["batch"] % 8 == 0


def test_the_largest_sizes_are_checked_in_no_time(tool: Tool, tmp_path: Path) -> None:
    document = plan_4(1048575, 65535, 2147483647)
    answer = tool("validate_plan", write(tmp_path, document), timeout=10)
    assert answer.exit_status == 1

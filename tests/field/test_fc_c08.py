"""FC-C08: rollout storage does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Tool
from .plan_files import PLAN_3, PLAN_4, changed, machine, write

GIB = 1 << 30


def plan(envs: int, horizon: int, shape: list[int], dtype: str, **more: Any) -> dict[str, Any]:
    changes = {
        "train.num_envs": envs,
        "train.horizon": horizon,
        "train.batch_size": envs * horizon,
        "train.minibatch_size": envs * horizon,
        "train.max_minibatch_size": envs * horizon,
        "train.total_timesteps": 10**9,
        "vectorization.backend": "serial",
        "vectorization.num_workers": 1,
        "vectorization.envs_per_batch": envs,
        "vectorization.start_method": None,
        "environment.observation": [{"path": "", "dtype": dtype, "shape": shape}],
        "limits.memory_mb": 1 << 20,
        "limits.disk_mb": 1 << 20,
    }
    return changed(PLAN_3, changes | more)


ATARI = plan(2048, 64, [84, 84, 4], "uint8")


def test_bytes_are_exact_and_by_type(tool: Tool, tmp_path: Path) -> None:
    place = machine(tmp_path, memory_bytes=1 << 50)
    numbers = tool("validate_plan", write(tmp_path, ATARI), "--machine", place).report["numbers"]
    assert numbers["batch"] == 131072
    assert numbers["observation_bytes"] == 3_699_376_128
    assert numbers["observation_bytes_float32"] == 14_797_504_512
    wide = plan(2048, 64, [84, 84, 4], "float32")
    numbers = tool("validate_plan", write(tmp_path, wide), "--machine", place).report["numbers"]
    assert numbers["observation_bytes"] == numbers["observation_bytes_float32"] == 14_797_504_512
    large = plan(10000, 100, [84480], "float32")
    numbers = tool("validate_plan", write(tmp_path, large), "--machine", place).report["numbers"]
    assert numbers["observation_bytes"] == 337_920_000_000


def test_a_batch_above_the_limit_is_refused_and_the_knob_is_named(tool: Tool, tmp_path: Path) -> None:
    document = changed(ATARI, {"limits.memory_mb": 2048})
    answer = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path))
    assert answer.exit_status == 1
    finding = answer.finding("memory.rollout")
    assert "3699376128 of them observations" in finding["got"]
    assert "14797504512 if they were float32" in finding["got"]
    assert "2147483648 bytes" in finding["want"]
    assert "num_envs" in finding["fix"] and "minibatch_size does not change this" in finding["fix"]


def test_a_batch_above_the_control_group_or_machine_is_refused(tool: Tool, tmp_path: Path) -> None:
    document = plan(10000, 100, [84480], "float32")
    answer = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path, memory_bytes=64 * GIB))
    assert answer.exit_status == 1
    finding = answer.finding("memory.batch")
    assert "337920000000 of them observations" in finding["got"] and str(64 * GIB) in finding["want"]
    assert "uint8" in finding["fix"]
    enough = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path, memory_bytes=400 * 10**9))
    assert enough.exit_status == 0, enough.text


def test_a_batch_above_the_device_is_refused_unless_it_is_offloaded_or_shared(tool: Tool, tmp_path: Path) -> None:
    card = {"kind": "cuda", "name": "small", "memory_bytes": 3 * GIB}
    place = machine(tmp_path, devices=[card, card])
    on_device = changed(ATARI, {"device": "cuda"})
    answer = tool("validate_plan", write(tmp_path, on_device), "--machine", place)
    assert answer.exit_status == 1
    finding = answer.finding("memory.device")
    assert str(3 * GIB) in finding["want"] and "cpu_offload" in finding["fix"]
    offloaded = changed(on_device, {"train.cpu_offload": True})
    assert tool("validate_plan", write(tmp_path, offloaded), "--machine", place).exit_status == 0
    shared = changed(on_device, {"distributed.world_size": 2, "distributed.backend": "nccl"})
    assert tool("validate_plan", write(tmp_path, shared), "--machine", place).exit_status == 0


def test_lowering_the_minibatch_changes_nothing(tool: Tool, tmp_path: Path) -> None:
    sizes = set()
    for minibatch in (131072, 65536, 2048, 64):
        document = changed(ATARI, {"train.minibatch_size": minibatch, "limits.memory_mb": 2048})
        answer = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path))
        sizes.add(answer.finding("memory.rollout")["got"])
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("leaves", "agents", "expected"),
    [
        ([("", "float64", [4])], 1, 32),
        ([("", "bool", [10])], 1, 10),
        ([("", "uint8", [])], 1, 1),
        ([("a", "float32", [3]), ("b", "uint8", [5]), ("c", "int16", [2, 2])], 1, 12 + 5 + 8),
        ([("", "float16", [7])], 6, 14),
        ([("", "uint64", [2])], 1, 16),
    ],
)
def test_every_type_leaf_and_agent_counts(
    tool: Tool, tmp_path: Path, leaves: list[tuple[str, str, list[int]]], agents: int, expected: int
) -> None:
    observation = [{"path": path, "dtype": dtype, "shape": shape} for path, dtype, shape in leaves]
    document = plan(
        8, 16, [1], "uint8",
        **{
            "environment.observation": observation, "environment.agents": agents,
            "train.batch_size": 128 * agents, "train.minibatch_size": 128 * agents,
        },
    )  # fmt: skip
    answer = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path))
    assert answer.exit_status == 0, answer.text
    assert answer.report["numbers"]["observation_bytes"] == expected * 128 * agents


def test_profile_4_counts_its_environments_the_same_way(tool: Tool, tmp_path: Path) -> None:
    answer = tool("validate_plan", write(tmp_path, PLAN_4), "--machine", machine(tmp_path))
    assert answer.report["numbers"]["observation_bytes"] == 8192 * 4 * 4
    small = changed(PLAN_4, {"train.num_envs": 1 << 17, "train.horizon": 512, "train.minibatch_size": 1 << 26})
    answer = tool("validate_plan", write(tmp_path, small), "--machine", machine(tmp_path))
    assert "memory.rollout" in answer.codes


def test_sizes_that_no_machine_has_are_answered_at_once(tool: Tool, tmp_path: Path) -> None:
    shape = [2147483647] * 16
    document = plan(
        1 << 20, 65536, shape, "float64", **{"train.minibatch_size": 1 << 20, "train.max_minibatch_size": 1 << 20}
    )
    answer = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path), timeout=20)
    assert answer.exit_status == 1 and "memory.rollout" in answer.codes

"""FC-B02: shared-memory mount too small in a container."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from .conftest import Tool
from .plan_files import PLAN_3, PLAN_4, changed, machine, write

MIB = 1 << 20


def plan(
    envs: int = 1024, shape: tuple[int, ...] = (81920,), dtype: str = "uint8", more: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Buffers of envs x observation: by default 80 MiB of observations."""
    changes = {
        "train.num_envs": envs,
        "train.horizon": 1,
        "train.batch_size": envs,
        "train.minibatch_size": envs,
        "train.total_timesteps": 1000000,
        "vectorization.envs_per_batch": envs,
        "environment.observation": [{"path": "", "dtype": dtype, "shape": list(shape)}],
    }
    return changed(PLAN_3, changes | (more or {}))


def test_eighty_mebibytes_do_not_fit_into_sixty_four(tool: Tool, tmp_path: Path) -> None:
    place = machine(tmp_path, shared_memory_free_bytes=64 * MIB)
    answer = tool("validate_plan", write(tmp_path, plan()), "--machine", place)
    assert answer.exit_status == 1
    finding = answer.finding("memory.shared")
    # Observation, int64 action, float32 reward, and a byte each of terminal, truncated and mask for 1024 agents.
    buffers = 1024 * (81920 + 8 + 4 + 3)
    needed = int(re.findall(r"\d+", finding["got"])[0])
    assert str(buffers) in finding["got"] and needed > buffers
    assert str(64 * MIB) in finding["want"]
    assert "--shm-size=" in finding["fix"]
    size = re.search(r"--shm-size=(\d+)m", finding["fix"])
    assert size and int(size[1]) * MIB >= needed
    assert "-7" in finding["message"] and "SIGBUS" in finding["message"]


def test_exactly_what_is_needed_passes_and_a_byte_less_does_not(tool: Tool, tmp_path: Path) -> None:
    path = write(tmp_path, plan())
    numbers = tool("validate_plan", path, "--machine", machine(tmp_path)).report["numbers"]
    needed = numbers["shared_memory_bytes"]
    exact = tool("validate_plan", path, "--machine", machine(tmp_path, shared_memory_free_bytes=needed))
    assert exact.exit_status == 0, exact.text
    less = tool("validate_plan", path, "--machine", machine(tmp_path, shared_memory_free_bytes=needed - 1))
    assert less.exit_status == 1 and "memory.shared" in less.codes


def test_the_number_of_environments_that_is_named_fits(tool: Tool, tmp_path: Path) -> None:
    place = machine(tmp_path, shared_memory_free_bytes=64 * MIB)
    fix = tool("validate_plan", write(tmp_path, plan()), "--machine", place).finding("memory.shared")["fix"]
    envs = re.search(r"train\.num_envs (\d+)", fix)
    assert envs
    mended = plan(int(envs[1]) // 4 * 4)
    assert tool("validate_plan", write(tmp_path, mended), "--machine", place).exit_status == 0


@pytest.mark.parametrize(
    ("document", "free", "status"),
    [
        # float32 takes four times the bytes.
        (plan(256, (81920,), "float32"), 64 * MIB, 1),
        (plan(256, (81920,), "uint8"), 64 * MIB, 0),
        # Every agent of an environment has a row.
        (plan(1024, (8192,), more={"environment.agents": 10}), 64 * MIB, 1),
        # Every leaf counts.
        (
            plan(
                more={
                    "environment.observation": [
                        {"path": "a", "dtype": "uint8", "shape": [40960]},
                        {"path": "b", "dtype": "uint8", "shape": [40960]},
                    ]
                }
            ),
            64 * MIB,
            1,
        ),
        # Large actions count as well.
        (
            plan(
                1024,
                (4,),
                more={"environment.action": [{"path": "", "kind": "box", "dtype": "float32", "shape": [20480]}]},
            ),
            64 * MIB,
            1,
        ),
        (plan(), 0, 1),
        # Threads and a single process share without a mount.
        (plan(more={"vectorization.backend": "threads", "vectorization.start_method": None}), 0, 0),
        (
            plan(
                more={
                    "vectorization.backend": "serial",
                    "vectorization.num_workers": 1,
                    "vectorization.start_method": None,
                }
            ),
            0,
            0,
        ),
        (PLAN_4, 0, 0),
    ],
)
def test_what_counts(tool: Tool, tmp_path: Path, document: dict[str, Any], free: int, status: int) -> None:
    if "batch_size" in document["train"]:
        agents = document["environment"]["agents"]
        document = changed(document, {"train.batch_size": document["train"]["num_envs"] * agents})
        document = changed(document, {"train.minibatch_size": document["train"]["batch_size"]})
    if document["profile"] == "3.0":
        document = changed(document, {"train.horizon": 1})
    place = machine(tmp_path, shared_memory_free_bytes=free)
    answer = tool("validate_plan", write(tmp_path, document), "--machine", place)
    assert answer.exit_status == status, answer.text
    assert ("memory.shared" in answer.codes) == bool(status)


def test_no_mount_at_all_is_said(tool: Tool, tmp_path: Path) -> None:
    answer = tool(
        "validate_plan", write(tmp_path, plan()), "--machine", machine(tmp_path, shared_memory_free_bytes=None)
    )
    assert answer.finding("memory.shared_unknown")["severity"] == "warning"


def test_this_machine_s_mount_is_measured(tool: Tool, tmp_path: Path) -> None:
    import os

    free = os.statvfs("/dev/shm")
    document = plan(1 << 20, (1 << 24,))
    answer = tool("validate_plan", write(tmp_path, document))
    assert answer.exit_status == 1
    named = int(re.findall(r"\d+", answer.finding("memory.shared")["want"])[0])
    assert named <= free.f_blocks * free.f_frsize

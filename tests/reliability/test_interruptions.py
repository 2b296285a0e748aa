"""Whatever interrupts a tool that writes, and whenever, no half-written file is ever taken for a good one.

A few interruptions of each tool at random moments; RELIABILITY_RUNS=100 makes it a hundred. Approving, launching and
anchoring are interrupted in tests/gate, benchmarking in tests/field/test_fc_b05.py.
"""

from __future__ import annotations

import ast
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from safetensors.numpy import save_file

from _skill import machine, strict_json
from _skill.checkpoints import inspection
from _skill.json_schema import Schema
from _skill.plans import plan

ROOT = Path(__file__).resolve().parents[2]
RUNS = int(os.environ.get("RELIABILITY_RUNS", "5"))
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
STATUSES = {0, 130, 143, -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL}
BEFORE_US = 1
"""How Python itself ends where Ctrl-C reaches it before the first line of a program."""


def of_schema(name: str) -> Callable[[Path], bool]:
    """Whether a file is a whole report of a schema."""
    return lambda path: not Schema.shipped(name).findings(strict_json.loads(path.read_bytes(), str(path)))


def is_checkpoint(path: Path) -> bool:
    with inspection.opened(str(path)) as found:
        return found.content.verdict == "safe" and len(found.content.tensors) == 40


def is_environment(path: Path) -> bool:
    """The folder of a C environment: the header ends with its last function, and its settings are whole JSON."""
    strict_json.loads((path / "train.json").read_bytes(), "train.json")
    return (path / "my_env.h").read_text().endswith("0.4f);\n}\n")


def is_program(path: Path) -> bool:
    """A Python program that is whole: it parses, and ends with its call of main."""
    return "main(" in ast.unparse(ast.parse(path.read_text()).body[-1])


class Writer(NamedTuple):
    """One tool that writes: its arguments, what it writes, and how one tells that this is whole."""

    arguments: list[str]
    output: str
    good: Callable[[Path], bool]


WRITERS = {
    "make_plan": Writer(
        ["cartpole", "--run", "r", "--out", "plan.json"], "plan.json", lambda p: bool(plan.read(str(p)))
    ),
    "manifest": Writer(["create", "folder", "--out", "m.json"], "m.json", of_schema("file_manifest")),
    "inspect_checkpoint": Writer(["model.npz", "--convert", "c.safetensors"], "c.safetensors", is_checkpoint),
    "doctor": Writer(["--machine-out", "machine.json"], "machine.json", lambda path: bool(machine.read(str(path)))),
    "check_env": Writer(
        ["env.py:Counter", "--steps", "20", "--out", "r.json"], "r.json", of_schema("environment_contract")
    ),
    "train_template": Writer(["write", "train_once", "--out", "t.py"], "t.py", is_program),
    "env_template": Writer(["write", "key_door", "--name", "my_env", "--out", "."], "my_env", is_environment),
}

COUNTER = """
import gymnasium, numpy as np
class Counter(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 9, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.float32([self.np_random.random()]), {}
    def step(self, action):
        self.t += 1
        return np.float32([self.np_random.random()]), 1.0, self.t >= 9, False, {}
"""


def prepared(folder: Path) -> Path:
    """What the tools read."""
    folder.mkdir()
    (folder / "env.py").write_text(COUNTER)
    (folder / "folder").mkdir()
    for number in range(200):
        (folder / "folder" / f"{number}.bin").write_bytes(os.urandom(5000))
    np.savez(folder / "model.npz", **{f"w{number}": np.ones((200, 200), np.float32) for number in range(40)})
    save_file({"w": np.zeros(3, np.float32)}, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("tool", WRITERS)
def test_no_interruption_leaves_a_file_that_is_not_whole(
    tool: str, tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    writer = WRITERS[tool]
    words = [sys.executable, str(ROOT / "scripts" / f"{tool}.py"), *writer.arguments]
    chance = random.Random(tool)
    usual = 0.0
    there = []
    for number in range(RUNS + 1):
        folder = prepared(tmp_path / str(number))
        environment = clean_environment | {"TMPDIR": str(folder)}
        process = subprocess.Popen(
            words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        started = time.monotonic()
        if number == 0:
            assert process.wait(60) == 0
            usual = time.monotonic() - started
        else:
            try:
                process.wait(chance.uniform(0.02, usual))
            except subprocess.TimeoutExpired:
                process.send_signal(SIGNALS[number % 3])
            process.wait(30)
        output = folder / writer.output
        assert process.returncode in STATUSES or (process.returncode == BEFORE_US and not output.exists())
        there.append(output.exists())
        if output.exists():
            assert writer.good(output)
    assert there[0]

"""Writes small environments for the cases about contracts: one value for what a call returns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROGRAM = """import gymnasium
import numpy
from gymnasium import spaces


class Case(gymnasium.Env):
    def __init__(self, **settings):
        self.observation_space = {space}
        self.action_space = {action}
        self.count = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return {reset}, {info}

    def step(self, action):
        self.count += 1
        return {step}, {reward}, {terminated}, self.count >= 9, {info}
"""


def environment(
    folder: Path,
    space: str = "spaces.Box(-1, 1, (3,), numpy.float32)",
    *,
    action: str = "spaces.Discrete(2)",
    rest: str = "numpy.zeros(3, numpy.float32)",
    reset: str = "",
    step: str = "",
    reward: str = "1.0",
    terminated: str = "False",
    info: str = "{}",
) -> str:
    """Writes case.py and gives the target; values are Python source, `rest` is what reset and step give."""
    program = PROGRAM.format(
        space=space,
        action=action,
        reset=reset or rest,
        step=step or rest,
        reward=reward,
        terminated=terminated,
        info=info,
    )
    return written(folder, program)


def written(folder: Path, program: str, name: str = "Case") -> str:
    """Writes a program as case.py and gives the target of its class."""
    (folder / "case.py").write_text(program, encoding="utf-8")
    return f"case.py:{name}"


def place_of(finding: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a finding's place: call, agent, leaf, index, environment, episode, step."""
    place: dict[str, Any] = finding["place"]
    return place

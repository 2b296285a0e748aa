"""FC-A03: env hands out one buffer and keeps writing to it.

What a caller stored changes later. For a PufferEnv that is the contract; for the others it is an error.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Tool
from .environment_files import environment, written

BUFFER = "self.__dict__.setdefault('buffer', numpy.zeros((4, 3), numpy.float32))"
CASES = {
    "the same array": f"{BUFFER}[0]",
    "a view": f"{BUFFER}[1, ::1]",
    "a reversed view": f"{BUFFER}[2][::-1]",
    "another view of the same row": f"{BUFFER}.reshape(-1)[3:6]",
}


@pytest.mark.parametrize("way", CASES)
def test_shared_memory_names_the_two_calls(tool: Tool, tmp_path: Path, way: str) -> None:
    answer = tool("check_env", environment(tmp_path, rest=CASES[way]), "--steps", "20")
    finding = answer.finding("aliasing.observation")
    assert answer.exit_status == 1
    assert "step 1" in finding["got"] and "reset 0" in finding["got"]
    assert "share memory" in finding["got"] and ".copy()" in finding["fix"]


def test_a_leaf_of_a_dict_is_named(tool: Tool, tmp_path: Path) -> None:
    space = "spaces.Dict({'kept': spaces.Box(-1, 1, (3,)), 'new': spaces.Box(-1, 1, (3,))})"
    value = f"{{'kept': {BUFFER}[0], 'new': numpy.zeros(3, numpy.float32)}}"
    answer = tool("check_env", environment(tmp_path, space, rest=value), "--steps", "20")
    assert "observation/kept" in answer.finding("aliasing.observation")["got"].replace("observation of ", "observation")
    assert "/new" not in answer.finding("aliasing.observation")["got"]


@pytest.mark.parametrize("info", [f"{{'trail': {BUFFER}[0]}}", "self.__dict__.setdefault('kept', {'count': 1})"])
def test_the_info_is_looked_at_too(tool: Tool, tmp_path: Path, info: str) -> None:
    answer = tool("check_env", environment(tmp_path, info=info), "--steps", "20")
    assert "aliasing.info" in answer.codes


def test_the_reset_that_ends_up_in_an_old_step_is_found(tool: Tool, tmp_path: Path) -> None:
    """Only resets share: the first observation of one episode becomes that of the next."""
    answer = tool("check_env", environment(tmp_path, reset=f"{BUFFER}[0]"), "--steps", "20")
    assert "reset 0" in answer.finding("aliasing.observation")["got"]
    assert "reset 1" in answer.finding("aliasing.observation")["got"]


def test_a_native_environment_writes_in_place_and_the_caller_must_copy(tool: Tool, tmp_path: Path) -> None:
    program = """import numpy
from gymnasium import spaces
from pufferlib import PufferEnv


class Case(PufferEnv):
    def __init__(self, buf=None):
        self.single_observation_space = spaces.Box(0, 99, (2,), numpy.float32)
        self.single_action_space = spaces.Discrete(2)
        self.num_agents = 2
        super().__init__(buf)

    def reset(self, seed=None):
        self.generator = numpy.random.default_rng(seed)
        self.observations[:] = self.generator.random((2, 2))
        return self.observations, []

    def step(self, actions):
        self.observations[:, 0] = actions
        return self.observations, self.rewards, self.terminals, self.truncations, []
"""
    answer = tool("check_env", written(tmp_path, program), "--steps", "20")
    assert (answer.exit_status, answer.codes) == (0, [])
    assert any("copy" in note for note in answer.report["notes"])


def test_fresh_arrays_have_no_finding(tool: Tool, tmp_path: Path) -> None:
    answer = tool(
        "check_env",
        environment(tmp_path, rest=f"{BUFFER}[0].copy()", info="{'trail': numpy.zeros(2)}"),
        "--steps",
        "20",
    )
    assert (answer.exit_status, answer.codes) == (0, [])

"""FC-A02: end-of-episode observation depends on the Gymnasium version.

A counter gives its step; the third ends the episode. Which observation comes at the end is the autoreset mode.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Answer, Tool
from .environment_files import written

PROGRAM = """import gymnasium
import numpy
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv


class Counter(gymnasium.Env):
    def __init__(self):
        self.observation_space = spaces.Box(0, 9, (1,), numpy.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return numpy.zeros(1, numpy.float32), {}

    def step(self, action):
        self.count += 1
        return numpy.full(1, self.count, numpy.float32), 1.0, self.count >= 3, False, {}


class Case(SyncVectorEnv):
    def __init__(self, mode):
        super().__init__([Counter, Counter], autoreset_mode=AutoresetMode(mode))


class Silent(Case):
    def __init__(self, mode):
        super().__init__(mode)
        self.metadata = {}

    def reset(self, **named):
        found, infos = super().reset(**named)
        self.noise = numpy.random.default_rng(named.get("seed"))
        return found + self.noise.random((2, 1)).astype(numpy.float32), infos

    def step(self, actions):
        found = super().step(actions)
        return (found[0] + self.noise.random((2, 1)).astype(numpy.float32), *found[1:4], {})
"""
MODES = {"NextStep": "next_step", "SameStep": "same_step", "Disabled": "disabled"}


def check(tool: Tool, folder: Path, mode: str, *options: str, name: str = "Case") -> Answer:
    target = written(folder, PROGRAM, name)
    return tool("check_env", target, "--steps", "20", "--kwargs", f'{{"mode": "{mode}"}}', *options)


def row(answer: Answer) -> str:
    detail: str = next(row for row in answer.report["checks"] if row["name"] == "autoreset")["detail"]
    return detail


@pytest.mark.parametrize("mode", MODES)
def test_the_mode_in_use_is_reported_with_what_the_steps_gave(tool: Tool, tmp_path: Path, mode: str) -> None:
    answer = check(tool, tmp_path, mode)
    assert (answer.exit_status, answer.codes) == (0, [])
    assert answer.report["spec"]["autoreset"] == MODES[mode]
    said = {
        "NextStep": "the next step gave its first observation and reward 0",
        "SameStep": "the last observation is in the info",
        "Disabled": "the next step raises until the caller resets",
    }
    assert "at step 3 environment 0 ended" in row(answer) and said[mode] in row(answer)


def test_a_plan_pins_one_mode_and_another_one_is_refused(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, "NextStep", "--autoreset", "same_step")
    finding = answer.finding("autoreset.other")
    assert answer.exit_status == 1
    assert finding["want"] == "same_step" and finding["got"].startswith("next_step")


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_unknown_is_a_failure_and_not_a_default(tool: Tool, tmp_path: Path, mode: str) -> None:
    answer = check(tool, tmp_path, mode, name="Silent")
    assert answer.exit_status == 1
    assert "autoreset.unknown" in answer.codes
    assert answer.report["spec"]["autoreset"] is None


def test_a_mode_that_does_not_exist_is_wrong_use(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, "NextStep", "--autoreset", "nextstep")
    assert answer.exit_status == 2
    assert answer.finding("use.wrong")["fix"] == "did you mean next_step?"

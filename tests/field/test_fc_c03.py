"""FC-C03: NaN appears first in the env, is blamed on the policy.

The check stops at the first value that is not finite, with step, leaf and index.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Tool
from .environment_files import environment, place_of

SPACE = "spaces.Dict({'a': spaces.Box(-9, 9, (2, 3)), 'b': spaces.Box(-9, 9, (4,), numpy.float64)})"
FINE = "'a': numpy.zeros((2, 3), numpy.float32), 'b': numpy.zeros(4)"


def at(step: int, leaf: str, index: str, value: str) -> str:
    """An observation with one bad value at one step."""
    change = f"found['{leaf}'].__setitem__({index}, {value} if self.count == {step} else 0)"
    return f"(lambda found: {change} or found)({{{FINE}}})"


@pytest.mark.parametrize("value", ["numpy.nan", "numpy.inf", "-numpy.inf"])
def test_the_step_the_leaf_and_the_index_are_named(tool: Tool, tmp_path: Path, value: str) -> None:
    answer = tool("check_env", environment(tmp_path, SPACE, rest=at(7, "a", "(1, 2)", value)), "--steps", "40")
    finding = answer.finding("observation.not_finite")
    place = place_of(finding)
    assert answer.exit_status == 1
    assert (place["call"], place["episode"], place["step"]) == ("step", 0, 7)
    assert (place["leaf"], place["index"]) == ("/a", [1, 2])


def test_the_reset_counts_as_step_0(tool: Tool, tmp_path: Path) -> None:
    answer = tool("check_env", environment(tmp_path, SPACE, rest=at(0, "b", "3", "numpy.nan")), "--steps", "40")
    place = place_of(answer.finding("observation.not_finite"))
    assert (place["call"], place["step"], place["leaf"], place["index"]) == ("reset", 0, "/b", [3])


def test_a_reward_that_is_not_finite_is_named_by_its_step(tool: Tool, tmp_path: Path) -> None:
    reward = "(numpy.inf if self.count == 9 else 1.0)"
    answer = tool("check_env", environment(tmp_path, reward=reward), "--steps", "40")
    assert "step 9" in answer.finding("reward.not_finite")["pointer"]


def test_it_stops_at_the_first_one(tool: Tool, tmp_path: Path) -> None:
    target = environment(
        tmp_path, SPACE, rest=at(7, "a", "(0, 0)", "numpy.nan"), reward="(numpy.inf if self.count == 9 else 1.0)"
    )
    answer = tool("check_env", target, "--steps", "40")
    assert "observation.not_finite" in answer.codes
    assert "reward.not_finite" not in answer.codes


def test_an_agent_and_an_environment_of_a_batch_are_named(tool: Tool, tmp_path: Path) -> None:
    target = environment(tmp_path)
    with (tmp_path / "case.py").open("a") as program:
        program.write(
            """
class Bad(Case):
    def step(self, action):
        observation, *rest = super().step(action)
        observation[1] = numpy.nan if self.count == 4 else 0
        return observation, *rest


def batch():
    return gymnasium.vector.SyncVectorEnv([Case, Bad])
"""
        )
    answer = tool("check_env", target.replace("Case", "batch"), "--steps", "40")
    place = place_of(answer.finding("observation.not_finite"))
    assert (place["environment"], place["step"], place["index"]) == (1, 4, [1])

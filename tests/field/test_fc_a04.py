"""FC-A04: Discrete with a start other than 0.

A network gives 0 to n-1. The space is valid; the plan needs the offset, and a value beyond the last one is an error.
"""

from __future__ import annotations

from pathlib import Path

from .conftest import Tool
from .environment_files import environment


def test_the_offset_of_an_action_is_in_the_spec_and_is_asked_for(tool: Tool, tmp_path: Path) -> None:
    answer = tool("check_env", environment(tmp_path, action="spaces.Discrete(3, start=-1)"), "--steps", "20")
    finding = answer.finding("space.start")
    assert answer.exit_status == 0 and finding["severity"] == "warning"
    assert "environment.action_offset" in finding["message"] and "-1" in finding["fix"]
    action = answer.report["spec"]["action"][0]
    assert (action["sizes"], action["start"]) == ([3], [-1])


def test_actions_are_drawn_from_start_on(tool: Tool, tmp_path: Path) -> None:
    reward = "(1.0 if int(action) in (-1, 0, 1) else 1 / 0)"
    answer = tool("check_env", environment(tmp_path, action="spaces.Discrete(3, start=-1)", reward=reward))
    assert answer.codes == ["space.start"]
    seen = "self.__dict__.setdefault('seen', set()).add(int(action)) or float(len(self.seen))"
    answer = tool("check_env", environment(tmp_path, action="spaces.Discrete(3, start=-1)", reward=seen))
    rewards = next(row for row in answer.report["checks"] if row["name"] == "rewards")
    assert rewards["detail"] == "1 to 3"


def test_an_observation_lies_between_start_and_the_last(tool: Tool, tmp_path: Path) -> None:
    space = "spaces.Tuple([spaces.Discrete(19, start=2)] * 3)"
    value = "((2, 20)[self.count % 2], 21, 1)"
    answer = tool("check_env", environment(tmp_path, space, rest=value), "--steps", "20")
    outside = [finding for finding in answer.report["findings"] if finding["code"] == "observation.bounds"]
    assert {finding["place"]["leaf"]: finding["want"] for finding in outside} == {"/1": "2 to 20", "/2": "2 to 20"}


def test_a_multi_discrete_with_a_start_is_the_same_kind(tool: Tool, tmp_path: Path) -> None:
    action = "spaces.MultiDiscrete([2, 3], start=[5, -2])"
    answer = tool("check_env", environment(tmp_path, action=action), "--steps", "20")
    assert answer.finding("space.start")["got"] == "start [5, -2]"
    assert answer.report["spec"]["action"][0]["start"] == [5, -2]


def test_what_is_no_whole_number_is_no_value_of_a_discrete(tool: Tool, tmp_path: Path) -> None:
    values = ["True", "1.0", "numpy.float32(1)", "numpy.array([1])", "numpy.bool_(1)", "'1'", "None"]
    space = f"spaces.Tuple([spaces.Discrete(3)] * {len(values)})"
    answer = tool("check_env", environment(tmp_path, space, rest=f"({', '.join(values)})"), "--steps", "20")
    wrong = [finding for finding in answer.report["findings"] if finding["code"] == "observation.dtype"]
    assert answer.exit_status == 1
    assert {finding["place"]["leaf"] for finding in wrong} == {f"/{index}" for index in range(len(values))}


def test_whole_numbers_are(tool: Tool, tmp_path: Path) -> None:
    value = "(1, numpy.int64(1), numpy.int32(1), numpy.array(1))[self.count % 4]"
    answer = tool("check_env", environment(tmp_path, "spaces.Discrete(3)", rest=value), "--steps", "20")
    assert (answer.exit_status, answer.codes) == (0, [])


def test_no_bool_is_ever_sent_as_an_action(tool: Tool, tmp_path: Path) -> None:
    reward = "(1.0 if type(action).__name__ == 'int64' else 1 / 0)"
    answer = tool("check_env", environment(tmp_path, action="spaces.Discrete(2)", reward=reward))
    assert (answer.exit_status, answer.codes) == (0, [])

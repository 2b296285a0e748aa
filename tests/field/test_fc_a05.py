"""FC-A05: MultiDiscrete with a 2-D nvec, MultiBinary with a tuple shape.

Sizes are whole numbers whatever the shape, and the shape of an action is kept.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Tool
from .environment_files import environment

CASES = {
    "spaces.MultiDiscrete([[2, 3], [4, 5]])": ("multi_discrete", [2, 2], [2, 3, 4, 5]),
    "spaces.MultiBinary((2, 3))": ("multi_binary", [2, 3], [2] * 6),
    "spaces.MultiBinary(4)": ("multi_binary", [4], [2] * 4),
    "spaces.Discrete(4)": ("discrete", [], [4]),
    "spaces.MultiDiscrete([[[2], [3]]])": ("multi_discrete", [1, 2, 1], [2, 3]),
}


@pytest.mark.parametrize("action", CASES)
def test_sizes_are_whole_numbers_and_the_shape_reaches_step(tool: Tool, tmp_path: Path, action: str) -> None:
    kind, shape, sizes = CASES[action]
    reward = f"(1.0 if numpy.shape(action) == {tuple(shape)} and action in self.action_space else 1 / 0)"
    answer = tool("check_env", environment(tmp_path, action=action, reward=reward), "--steps", "30")
    assert (answer.exit_status, answer.codes) == (0, [])
    leaf = answer.report["spec"]["action"][0]
    assert (leaf["kind"], leaf["shape"], leaf["sizes"]) == (kind, shape, sizes)
    assert all(type(size) is int for size in leaf["sizes"] + leaf["shape"])


def test_they_count_as_observations_too(tool: Tool, tmp_path: Path) -> None:
    space = "spaces.Tuple((spaces.MultiDiscrete([[2, 3], [4, 5]]), spaces.MultiBinary((2, 3)), spaces.Discrete(4)))"
    value = "(numpy.array([[1, 2], [3, 4]]), numpy.ones((2, 3), numpy.int8), 3)"
    answer = tool("check_env", environment(tmp_path, space, rest=value), "--steps", "20")
    assert (answer.exit_status, answer.codes) == (0, [])
    assert [leaf["shape"] for leaf in answer.report["spec"]["observation"]] == [[2, 2], [2, 3], []]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("numpy.zeros(4, numpy.int64)", "observation.shape"),
        ("numpy.array([[1, 2], [3, 5]])", "observation.bounds"),
        ("numpy.zeros((2, 2))", "observation.dtype"),
        ("[[0, 0], [0, 0]]", "observation.type"),
    ],
)
def test_a_flat_or_wrong_value_is_found(tool: Tool, tmp_path: Path, value: str, code: str) -> None:
    space = "spaces.MultiDiscrete([[2, 3], [4, 5]])"
    answer = tool("check_env", environment(tmp_path, space, rest=value), "--steps", "20")
    assert answer.exit_status == 1 and code in answer.codes


@pytest.mark.parametrize("value", ["numpy.ones((2, 3))", "numpy.ones((2, 3), bool)"])
def test_bits_as_floats_or_bools_are_found(tool: Tool, tmp_path: Path, value: str) -> None:
    answer = tool("check_env", environment(tmp_path, "spaces.MultiBinary((2, 3))", rest=value), "--steps", "20")
    assert answer.finding("observation.dtype")["want"] == "int8 (2, 3) 6 bytes"


def test_a_bit_of_two_is_found(tool: Tool, tmp_path: Path) -> None:
    value = "numpy.full((2, 3), 2, numpy.int8)"
    answer = tool("check_env", environment(tmp_path, "spaces.MultiBinary((2, 3))", rest=value), "--steps", "20")
    assert answer.finding("observation.bounds")["want"] == "0 to 1"

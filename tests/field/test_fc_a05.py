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


WRONG = [
    ("spaces.MultiDiscrete([[2, 3], [4, 5]])", "numpy.zeros(4, numpy.int64)", "observation.shape", ""),
    ("spaces.MultiDiscrete([[2, 3], [4, 5]])", "numpy.array([[1, 2], [3, 5]])", "observation.bounds", ""),
    ("spaces.MultiDiscrete([[2, 3], [4, 5]])", "numpy.zeros((2, 2))", "observation.dtype", ""),
    ("spaces.MultiDiscrete([[2, 3], [4, 5]])", "numpy.zeros((2, 2), numpy.int32)", "observation.dtype", ""),
    ("spaces.MultiDiscrete([[2, 3], [4, 5]])", "[[0, 0], [0, 0]]", "observation.type", ""),
    ("spaces.MultiDiscrete([3], start=[4])", "numpy.array([0])", "observation.bounds", "4 to 6"),
    ("spaces.MultiBinary((2, 3))", "numpy.ones((2, 3))", "observation.dtype", "int8 (2, 3) 6 bytes"),
    ("spaces.MultiBinary((2, 3))", "numpy.ones((2, 3), bool)", "observation.dtype", "int8 (2, 3) 6 bytes"),
    ("spaces.MultiBinary((2, 3))", "numpy.full((2, 3), 2, numpy.int8)", "observation.bounds", "0 to 1"),
]


def test_a_flat_or_wrong_value_is_found_at_its_leaf(tool: Tool, tmp_path: Path) -> None:
    """One leaf for each."""
    space = f"spaces.Tuple(({', '.join(row[0] for row in WRONG)}))"
    value = f"({', '.join(row[1] for row in WRONG)})"
    answer = tool("check_env", environment(tmp_path, space, rest=value), "--steps", "20")
    found = {(f["code"], f["place"]["leaf"]): f["want"] for f in answer.report["findings"]}
    assert answer.exit_status == 1
    for index, (_, _, code, want) in enumerate(WRONG):
        assert want in found[(code, f"/{index}")]

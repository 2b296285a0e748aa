"""FC-A11: space byte size differs from the returned array.

Reported leaf by leaf with bytes, dtype and shape of both sides, before anything looks at the bytes.
"""

from __future__ import annotations

from pathlib import Path

from .conftest import Tool
from .environment_files import environment


def test_declared_and_actual_bytes_are_both_given(tool: Tool, tmp_path: Path) -> None:
    space = "spaces.Box(0, 1, (6, 13, 13), numpy.float32)"
    answer = tool("check_env", environment(tmp_path, space, rest="numpy.zeros(1014)"), "--steps", "20")
    finding = answer.finding("observation.shape")
    assert (finding["got"], finding["want"]) == ("float64 (1014,) 8112 bytes", "float32 (6, 13, 13) 4056 bytes")
    assert "observation.dtype" in answer.codes
    row = next(row for row in answer.report["leaves"] if row["role"] == "observation")
    assert (row["bytes"], row["actual"]) == (4056, "float64 (1014,) 8112 bytes")


SHAPES = {
    "numpy.zeros((13, 13, 6), numpy.float32)": "float32 (13, 13, 6) 4056 bytes",
    "numpy.zeros((1, 6, 13, 13), numpy.float32)": "float32 (1, 6, 13, 13) 4056 bytes",
    "numpy.zeros((), numpy.float32)": "float32 () 4 bytes",
    "numpy.zeros((6, 13, 0), numpy.float32)": "float32 (6, 13, 0) 0 bytes",
}


def test_the_same_bytes_in_another_shape_are_found_too(tool: Tool, tmp_path: Path) -> None:
    """One leaf for each."""
    space = f"spaces.Tuple([spaces.Box(0, 1, (6, 13, 13), numpy.float32)] * {len(SHAPES)})"
    answer = tool("check_env", environment(tmp_path, space, rest=f"({', '.join(SHAPES)})"), "--steps", "20")
    found = {f["place"]["leaf"]: f["got"] for f in answer.report["findings"] if f["code"] == "observation.shape"}
    assert found == {f"/{index}": got for index, got in enumerate(SHAPES.values())}


STRUCTURES = [
    ("spaces.Box(0, 1, (2,))", "{'image': numpy.zeros(2, numpy.float32)}", "observation.type", ""),
    ("spaces.Dict({'x': spaces.Box(0, 1, (2,))})", "numpy.zeros(2, numpy.float32)", "observation.structure", ""),
    ("spaces.Dict({'x': spaces.Discrete(2)})", "{'x': 0, 'y': 1}", "observation.structure", "/y"),
    ("spaces.Dict({'x': spaces.Discrete(2), 'y': spaces.Discrete(2)})", "{'x': 0}", "observation.structure", "/y"),
    ("spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2)))", "(0,)", "observation.structure", ""),
    ("spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2)))", "0", "observation.structure", ""),
    ("spaces.Box(0, 1, (2,))", "None", "observation.type", ""),
]


def test_a_box_for_a_dict_and_the_like_are_named(tool: Tool, tmp_path: Path) -> None:
    """One part of the observation for each; the order of keys is no fault."""
    space = ", ".join(f"'{i}': {row[0]}" for i, row in enumerate(STRUCTURES))
    value = ", ".join(f"'{i}': {row[1]}" for i, row in reversed(list(enumerate(STRUCTURES))))
    target = environment(tmp_path, f"spaces.Dict({{{space}}})", rest=f"{{{value}}}")
    answer = tool("check_env", target, "--steps", "20")
    found = {(f["code"], f["place"]["leaf"]): f["got"] for f in answer.report["findings"]}
    assert answer.exit_status == 1
    for index, (_, _, code, leaf) in enumerate(STRUCTURES):
        assert found[(code, f"/{index}{leaf}")]
    assert not any(code == "observation.structure" and leaf == "/" for code, leaf in found)


def test_a_batch_of_agents_with_other_bytes_names_both(tool: Tool, tmp_path: Path) -> None:
    program = """import numpy
from gymnasium import spaces


class Case:
    single_observation_space = spaces.Box(0, 1, (4,), numpy.float32)
    single_action_space = spaces.Discrete(2)
    num_agents = 2

    def __init__(self):
        self.observations = numpy.zeros((2, 3), numpy.float64)
        self.rewards = numpy.zeros(2, numpy.float32)
        self.terminals = numpy.zeros(2, bool)
        self.truncations = numpy.zeros(2, bool)
        self.masks = numpy.ones(2, bool)
        self.actions = numpy.zeros(2, numpy.int32)

    def reset(self, seed=0):
        return self.observations, []

    def step(self, actions):
        return self.observations, self.rewards, self.terminals, self.truncations, []
"""
    (tmp_path / "case.py").write_text(program)
    answer = tool("check_env", "case.py:Case", "--steps", "20")
    assert answer.exit_status == 1
    assert answer.finding("buffer.form")["want"] == "float32 array (2, 4)"
    assert answer.finding("observation.shape")["want"] == "float32 (4,) 16 bytes"

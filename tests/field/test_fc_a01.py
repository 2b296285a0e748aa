"""FC-A01: space says float32, env returns float64.

`contains` accepts float16 and lists; a buffer that is shared byte by byte needs the very dtype.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Tool
from .environment_files import environment, place_of

OTHER_DTYPES = {
    "numpy.zeros(3)": "float64 (3,) 24 bytes",
    "numpy.zeros(3, numpy.int64)": "int64 (3,) 24 bytes",
    "numpy.zeros(3, numpy.float16)": "float16 (3,) 6 bytes",
    "numpy.zeros(3, '>f4')": ">f4 (3,) 12 bytes",
    "numpy.zeros(3, bool)": "bool (3,) 3 bytes",
    "numpy.array([0, None, 1], object)": "object (3,) 24 bytes",
}


def test_another_dtype_names_the_call_the_leaf_and_both_dtypes(tool: Tool, tmp_path: Path) -> None:
    """One leaf for each dtype; the first is right at first and wrong in step."""
    space = ", ".join(f"'{i}': spaces.Box(-1, 1, (3,), numpy.float32)" for i in range(len(OTHER_DTYPES)))
    step = ", ".join(f"'{i}': {value}" for i, value in enumerate(OTHER_DTYPES))
    reset = step.replace("numpy.zeros(3)", "numpy.zeros(3, numpy.float32)")
    target = environment(tmp_path, f"spaces.Dict({{{space}}})", reset=f"{{{reset}}}", step=f"{{{step}}}")
    answer = tool("check_env", target, "--steps", "20")
    found = [finding for finding in answer.report["findings"] if finding["code"] == "observation.dtype"]
    calls = {(place_of(f)["leaf"], place_of(f)["call"]): f for f in found}
    assert answer.exit_status == 1
    assert ("/0", "reset") not in calls
    for leaf, got in enumerate(OTHER_DTYPES.values()):
        finding = calls[(f"/{leaf}", "step")]
        assert (finding["got"], finding["want"]) == (got, "float32 (3,) 12 bytes")
        assert "astype(numpy.float32)" in finding["fix"]


@pytest.mark.parametrize("kind", ["numpy.ma.masked_array(numpy.zeros(3, numpy.float32), [0, 1, 0])"])
def test_a_subclass_of_an_array_is_named(tool: Tool, tmp_path: Path, kind: str) -> None:
    """A buffer keeps the numbers and loses what makes the subclass: here the mask."""
    answer = tool("check_env", environment(tmp_path, "spaces.Box(-1, 1, (3,))", rest=kind), "--steps", "20")
    assert answer.finding("observation.type")["got"] == "MaskedArray of float32 (3,) 12 bytes"


def test_a_list_is_no_array(tool: Tool, tmp_path: Path) -> None:
    answer = tool(
        "check_env", environment(tmp_path, "spaces.Box(-1, 1, (3,))", rest="[0.0, 0.0, 0.0]"), "--steps", "20"
    )
    assert answer.finding("observation.type")["got"] == "list of 3"


def test_the_leaf_of_a_nested_space_is_named(tool: Tool, tmp_path: Path) -> None:
    space = (
        "spaces.Dict({'a': spaces.Tuple((spaces.Discrete(2), spaces.Box(-1, 1, (2,)))), 'b': spaces.MultiBinary(3)})"
    )
    value = "{'a': (1, numpy.zeros(2)), 'b': numpy.ones(3)}"
    answer = tool("check_env", environment(tmp_path, space, rest=value), "--steps", "20")
    leaves = {f["place"]["leaf"] for f in answer.report["findings"] if f["code"] == "observation.dtype"}
    assert leaves == {"/a/1", "/b"}
    rows = {row["path"]: row["actual"] for row in answer.report["leaves"] if row["role"] == "observation"}
    assert rows["/a/1"] == "float64 (2,) 16 bytes" and rows["/a/0"] == ""


def test_the_right_dtype_has_no_finding(tool: Tool, tmp_path: Path) -> None:
    answer = tool(
        "check_env",
        environment(tmp_path, "spaces.Box(-1, 1, (3,))", rest="numpy.zeros(3, numpy.float32)"),
        "--steps",
        "20",
    )
    assert (answer.exit_status, answer.codes) == (0, [])

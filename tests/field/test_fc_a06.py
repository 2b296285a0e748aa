"""FC-A06: Box bounds that are infinite, reversed, NaN or lost in a cast.

Gymnasium refuses most of them when the space is made; what it lets through is found all the same.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Tool
from .environment_files import environment, place_of

BAD = {
    "spaces.Box(numpy.inf, numpy.inf, (3,))": "space.bound_infinite",
    "spaces.Box(-numpy.inf, -numpy.inf, (3,))": "space.bound_infinite",
    "spaces.Box(0, 80000, (3,), numpy.float16)": "space.refused",
    "spaces.Box(0, numpy.inf, (3,), numpy.uint8)": "space.refused",
    "spaces.Box(numpy.nan, 1, (3,))": "space.refused",
    "spaces.Box(2, 1, (3,))": "space.refused",
    "spaces.Box(0, 300, (3,), numpy.uint8)": "space.refused",
    "spaces.Box(numpy.array([0, numpy.nan, 0]), numpy.ones(3))": "space.refused",
    # An infinity in one place made the cast of another go unseen.
    "spaces.Box(numpy.array([-numpy.inf, -1e300, 0]), numpy.ones(3), dtype=numpy.float32)": "space.bound_lost",
}
LATER = {
    "low[:] = numpy.nan": "space.bound_nan",
    "high[1] = numpy.nan": "space.bound_nan",
    "low[2] = 9": "space.bounds_reversed",
    "high[0] = -numpy.inf": "space.bounds_reversed",
    "high[0] = numpy.inf": "space.bound_lost",
    "low[0] = -numpy.inf": "space.bound_lost",
}


@pytest.mark.parametrize("space", BAD)
def test_bad_bounds_are_errors(tool: Tool, tmp_path: Path, space: str) -> None:
    answer = tool("check_env", environment(tmp_path, space), "--steps", "20")
    assert answer.exit_status == 1
    assert answer.finding(BAD[space])["severity"] == "error"


def test_bounds_that_older_versions_or_later_writes_leave_behind_are_errors(tool: Tool, tmp_path: Path) -> None:
    """One leaf for each."""
    boxes = ", ".join(["spaces.Box(-1, 1, (3,), numpy.float32)"] * len(LATER))
    arrays = ", ".join(["numpy.zeros(3, numpy.float32)"] * len(LATER))
    target = environment(tmp_path, f"spaces.Tuple(({boxes}))", rest=f"({arrays})")
    program = (tmp_path / "case.py").read_text()
    changes = "".join(f"        self.observation_space[{i}].{change}\n" for i, change in enumerate(LATER))
    (tmp_path / "case.py").write_text(
        program.replace("        self.count = 0\n", f"{changes}        self.count = 0\n", 1)
    )
    answer = tool("check_env", target, "--steps", "20")
    found = {(f["code"], place_of(f)["leaf"]): place_of(f)["index"] for f in answer.report["findings"]}
    assert answer.exit_status == 1
    for index, code in enumerate(LATER.values()):
        assert found[(code, f"/{index}")] is not None


@pytest.mark.parametrize(
    ("value", "fine"),
    [("3e38 * (self.count % 2)", True), ("numpy.nan", False), ("numpy.inf", False), ("-numpy.inf", False)],
)
def test_an_unbounded_box_is_said_and_still_holds_finite_values_only(
    tool: Tool, tmp_path: Path, value: str, fine: bool
) -> None:
    space = "spaces.Box(-numpy.inf, numpy.inf, (3,))"
    answer = tool(
        "check_env", environment(tmp_path, space, rest=f"numpy.full(3, {value}, numpy.float32)"), "--steps", "20"
    )
    assert answer.exit_status == (0 if fine else 1)
    assert ("observation.not_finite" not in answer.codes) is fine
    assert any("unbounded" in note for note in answer.report["notes"])


def test_half_open_and_integer_boxes_are_fine(tool: Tool, tmp_path: Path) -> None:
    space = "spaces.Dict({'a': spaces.Box(0, numpy.inf, (3,)), 'b': spaces.Box(-128, 127, (2,), numpy.int8)})"
    value = "{'a': numpy.ones(3, numpy.float32), 'b': numpy.full(2, -128, numpy.int8)}"
    answer = tool("check_env", environment(tmp_path, space, rest=value), "--steps", "20")
    assert (answer.exit_status, answer.codes) == (0, [])

"""Every case of the field has a file of tests."""

from __future__ import annotations

from pathlib import Path

COUNTS = {"a": 11, "b": 6, "c": 8, "d": 12, "e": 6, "f": 8}
"""How many cases each letter has."""


def test_every_case_has_its_file() -> None:
    wanted = {f"test_fc_{letter}{number:02}.py" for letter, count in COUNTS.items() for number in range(1, count + 1)}
    there = {path.name for path in Path(__file__).parent.glob("test_fc_*.py")}
    assert there == wanted

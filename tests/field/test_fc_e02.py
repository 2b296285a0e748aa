"""FC-E02: NaN and Infinity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from _skill import strict_json

from .conftest import Tool
from .plan_files import PLAN_4, changed

TEXT = json.dumps(PLAN_4)


def with_literal(field: str, literal: str) -> str:
    """The plan's text with one number replaced."""
    before, after = TEXT.split(f'"{field}": ', 1)
    return f'{before}"{field}": {literal}{after[after.index(",") :]}'


LITERALS = ["NaN", "-NaN", "nan", "Infinity", "-Infinity", "+Infinity", "inf", "-inf", "1e999", "-1e999", "1E+400"]
FIELDS = ["learning_rate", "gamma", "target_return", "total_timesteps", "seed"]


@pytest.mark.parametrize(
    ("field", "literal"),
    [("learning_rate", literal) for literal in LITERALS] + [(field, "NaN") for field in FIELDS[1:]],
)
def test_no_number_that_is_not_finite_is_read(tool: Tool, tmp_path: Path, field: str, literal: str) -> None:
    (tmp_path / "plan.json").write_text(with_literal(field, literal))
    answer = tool("validate_plan", "plan.json")
    assert answer.exit_status == 1
    assert answer.codes == ["json.not_finite"] or answer.codes == ["json.syntax"]
    assert field in answer.report["findings"][0]["pointer"]


@pytest.mark.parametrize("content", ["NaN", "[NaN]", '{"lr":NaN}', '{"a":[[Infinity]]}', "[1e309]", "[-1e309, 1]"])
def test_wherever_it_stands(tool: Tool, tmp_path: Path, content: str) -> None:
    (tmp_path / "plan.json").write_text(content)
    assert tool("validate_plan", "plan.json").codes == ["json.not_finite"]


@pytest.mark.parametrize(
    ("literal", "status"),
    [("1e-999", 1), ("-0.0", 0), ("0e999", 0), ("0.0", 0), ("-0", 0), ("1.0000000000000001", 0), ("1e308", 1)],
)
def test_numbers_at_the_edge_of_a_double_are_numbers(tool: Tool, tmp_path: Path, literal: str, status: int) -> None:
    """1e-999 is 0 as a double; a learning rate of 0 is then out of its range."""
    field = "learning_rate" if literal == "1e-999" else "gae_lambda"
    (tmp_path / "plan.json").write_text(with_literal(field, literal))
    answer = tool("validate_plan", "plan.json")
    assert answer.exit_status == status, answer.text
    assert "json.not_finite" not in answer.codes


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999", "-1e999"])
def test_no_choice_on_the_command_line_either(tool: Tool, value: str) -> None:
    answer = tool("make_plan", "cartpole", "--set", f"train.learning_rate={value}")
    assert answer.exit_status == 1 and answer.codes == ["json.not_finite"]
    assert tool("make_plan", "cartpole", f"--goal={value}").exit_status == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nothing_that_is_written_holds_one(value: float) -> None:
    for document in ({"a": value}, [value], {"a": [{"b": value}]}):
        with pytest.raises(ValueError, match="not JSON compliant"):
            strict_json.canonical(document)
        with pytest.raises(ValueError, match="not JSON compliant"):
            strict_json.pretty(document)


def test_text_that_looks_like_one_is_text(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(changed(PLAN_4, {"run": "nan"})))
    assert tool("validate_plan", "plan.json").exit_status == 0

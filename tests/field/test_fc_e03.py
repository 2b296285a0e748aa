"""FC-E03: true as 1, 1.0 as integer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, Tool
from .plan_files import PLAN_3, changed, machine

SCHEMA: dict[str, Any] = json.loads((ROOT / "schemas" / "plan.schema.json").read_text())


def fields(kind: str, schema: dict[str, Any] = SCHEMA, prefix: str = "") -> list[str]:
    """The fields of a plan whose type is `kind`, by dotted name; lists are left out."""
    found = []
    for name, child in schema["properties"].items():
        if child.get("properties"):
            found += fields(kind, child, f"{prefix}{name}.")
        elif child.get("type") == kind:
            found.append(prefix + name)
    return found


def check(tool: Tool, folder: Path, field: str, literal: str) -> Any:
    text = json.dumps(changed(PLAN_3, {field: "@"})).replace('"@"', literal)
    (folder / "plan.json").write_text(text)
    return tool("validate_plan", "plan.json", "--machine", machine(folder))


@pytest.mark.parametrize(
    ("literal", "code"),
    [
        ("true", "schema.type"),
        ("false", "schema.type"),
        ("8.0", "schema.type"),
        ("8e0", "schema.type"),
        ("8E+0", "schema.type"),
        ("80e-1", "schema.type"),
        ('"8"', "schema.type"),
        ("1e22", "schema.type"),
        ("9007199254740993", "json.integer_range"),
        ("9007199254740992", "json.integer_range"),
        ("-9007199254740992", "json.integer_range"),
        ("99999999999999999999", "json.integer_range"),
        ("null", "schema.type"),
        ("[8]", "schema.type"),
        ("{}", "schema.type"),
        ("08", "json.syntax"),
        ("+8", "json.syntax"),
        ("0x8", "json.syntax"),
        ("8_0", "json.syntax"),
        ("8.", "json.syntax"),
        (".8", "json.syntax"),
        ("-", "json.syntax"),
        ("8L", "json.syntax"),
        ("\uff18", "json.syntax"),
    ],
)
def test_a_count_takes_integer_literals_only(tool: Tool, tmp_path: Path, literal: str, code: str) -> None:
    answer = check(tool, tmp_path, "train.num_envs", literal)
    assert answer.exit_status == 1 and answer.codes == [code], answer.text
    assert answer.report["findings"][0]["pointer"] == "/train/num_envs"


@pytest.mark.parametrize("literal", ["8.0", "8e0"])
def test_the_integer_to_write_is_named(tool: Tool, tmp_path: Path, literal: str) -> None:
    assert "write 8 " in check(tool, tmp_path, "train.num_envs", literal).report["findings"][0]["fix"]


@pytest.mark.parametrize("literal", ["1e22", "-1.5", "0.4", "1e300", "9007199254740993.0"])
def test_an_integer_that_is_named_is_one_that_the_field_takes(tool: Tool, tmp_path: Path, literal: str) -> None:
    fix = check(tool, tmp_path, "train.seed", literal).report["findings"][0]["fix"]
    named = fix.split()[1]
    again = check(tool, tmp_path, "train.seed", named).report["findings"]
    assert "/train/seed" not in [finding["pointer"] for finding in again]


def test_the_largest_portable_integer_is_read(tool: Tool, tmp_path: Path) -> None:
    assert check(tool, tmp_path, "train.total_timesteps", "9007199254740991").exit_status == 0


def test_every_integer_field_of_a_plan_has_the_rule(tool: Tool, tmp_path: Path) -> None:
    every = [field for field in fields("integer") if not field.startswith("start.")]
    assert len(every) >= 20
    document = changed(PLAN_3, {})
    for literal in (True, 1.0):
        answer_document = changed(document, dict.fromkeys(every, literal))
        (tmp_path / "plan.json").write_text(json.dumps(answer_document))
        answer = tool("validate_plan", "plan.json")
        found = {f["pointer"] for f in answer.report["findings"] if f["code"] == "schema.type"}
        assert found == {"/" + field.replace(".", "/") for field in every}


def test_every_truth_value_and_number_field_has_it_too(tool: Tool, tmp_path: Path) -> None:
    truths, numbers = fields("boolean"), fields("number")
    assert len(truths) >= 4 and len(numbers) >= 12
    document = changed(PLAN_3, dict.fromkeys(truths, 1) | dict.fromkeys(numbers, True))
    (tmp_path / "plan.json").write_text(json.dumps(document))
    found = {f["pointer"] for f in tool("validate_plan", "plan.json").report["findings"] if f["code"] == "schema.type"}
    assert found == {"/" + field.replace(".", "/") for field in (*truths, *numbers)}


def test_a_number_field_takes_both_literals(tool: Tool, tmp_path: Path) -> None:
    for literal in ("1", "1.0", "1e0", "0.1e1"):
        assert check(tool, tmp_path, "train.gamma", literal).exit_status == 0


@pytest.mark.parametrize("value", ["true", "8.0", "8e0", '"8"', "1e22", "9007199254740993"])
def test_the_command_line_has_the_same_rule(tool: Tool, value: str) -> None:
    assert tool("make_plan", "cartpole", "--set", f"train.num_envs={value}").exit_status == 1
    assert tool("make_plan", "cartpole", "--steps", value).exit_status == 1


def test_a_shape_in_the_plan_has_it_inside_lists(tool: Tool, tmp_path: Path) -> None:
    for shape in ("[true]", "[4.0]", '["4"]', "[[4]]", "[4e0]"):
        answer = check(tool, tmp_path, "environment.observation.0.shape", shape)
        assert answer.codes == ["schema.type"]
        assert answer.report["findings"][0]["pointer"] == "/environment/observation/0/shape/0"


def test_the_documents_say_that_this_is_stricter() -> None:
    text = (ROOT / "references" / "plan.md").read_text(encoding="utf-8")
    assert "JSON Schema alone would take `8.0`" in text

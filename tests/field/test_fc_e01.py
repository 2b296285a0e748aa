"""FC-E01: duplicate keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Tool
from .plan_files import PLAN_4, write

TEXT = json.dumps(PLAN_4)


def check(tool: Tool, folder: Path, content: str) -> tuple[int, dict[str, str]]:
    path = folder / "plan.json"
    path.write_text(content, encoding="utf-8")
    answer = tool("validate_plan", path)
    return answer.exit_status, answer.finding("json.duplicate_key")


@pytest.mark.parametrize(
    ("content", "pointer", "key"),
    [
        ('{"num_envs":8,"num_envs":4096}', "/num_envs", "num_envs"),
        ('{"a":[1,{"num_envs":8,"num_envs":4096}]}', "/a/1/num_envs", "num_envs"),
        ('[[[{"x":{"y":1,"y":1}}]]]', "/0/0/0/x/y", "y"),
        ('{"num_envs":8,"num_envs":8}', "/num_envs", "num_envs"),
        # One key, written in two ways.
        ('{"a":1,"\\u0061":2}', "/a", "a"),
        ('{"\\u0061":1,"a":2}', "/a", "a"),
        ('{"/":1,"\\/":2}', "/~1", "/"),
        ('{"\\ud83d\\ude00":1,"\U0001f600":2}', "/\U0001f600", "\U0001f600"),
        ('{"":1,"":2}', "", ""),
        ('{"\\n":1,"\\u000a":2}', "", ""),
        ('{"a":{},"b":0,"a":{}}', "/a", "a"),
        ('{"a":null,"a":null}', "/a", "a"),
        ('{"a":{"b":1},"a":{"c":1}}', "/a", "a"),
    ],
)
def test_at_any_depth_and_in_any_spelling(tool: Tool, tmp_path: Path, content: str, pointer: str, key: str) -> None:
    status, finding = check(tool, tmp_path, content)
    assert status == 1
    if key:
        assert finding["pointer"] == pointer and (key in finding["message"] or not key.isascii())


@pytest.mark.parametrize("field", ["profile", "seed", "num_envs", "wall_seconds", "name", "kind", "backend", "network"])
def test_any_field_of_a_real_plan(tool: Tool, tmp_path: Path, field: str) -> None:
    literal = f'"{field}": '
    start = TEXT.index(literal)
    status, finding = check(tool, tmp_path, TEXT[:start] + literal + "1, " + TEXT[start:])
    assert status == 1 and finding["pointer"].endswith(f"/{field}")


def test_the_deepest_level(tool: Tool, tmp_path: Path) -> None:
    status, _ = check(tool, tmp_path, '{"a":' * 62 + '{"k":1,"k":1}' + "}" * 62)
    assert status == 1


def test_the_same_key_in_two_objects_is_fine(tool: Tool, tmp_path: Path) -> None:
    assert TEXT.count('"seed"') == 2
    assert tool("validate_plan", write(tmp_path, PLAN_4)).exit_status == 0


def test_a_value_beside_the_key_is_not_shown_where_it_may_be_a_secret(tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"api_key": "dummy-secret-123", "api_key": "dummy-secret-123"}')
    answer = tool("validate_plan", path)
    assert answer.exit_status == 1 and "dummy-secret" not in answer.text


def test_every_entry_point_has_the_rule(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"schema":"machine/1","schema":"machine/1"}')
    write(tmp_path, PLAN_4)
    assert tool("validate_plan", "plan.json", "--machine", "x.json").codes == ["json.duplicate_key"]
    assert tool("make_plan", "cartpole", "--contract", "x.json").codes == ["json.duplicate_key"]
    assert tool("make_plan", "cartpole", "--set", 'loggers=[{"kind":"jsonl","kind":"jsonl"}]').codes == [
        "json.duplicate_key"
    ]

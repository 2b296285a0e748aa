"""FC-E06: misspelt keys accepted."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from _skill.json_schema import Schema, SchemaError

from .conftest import ROOT, Tool
from .plan_files import PLAN_3, PLAN_4, changed, machine, write

SCHEMA: dict[str, Any] = json.loads((ROOT / "schemas" / "plan.schema.json").read_text())
EVERYTHING = changed(
    PLAN_3,
    {
        "start": {"kind": "warm", "checkpoint": "/x", "sha256": "0" * 64},
        "environment.action_offset": [0],
        "loggers": [{"kind": "jsonl"}, {"kind": "wandb", "mode": "offline", "project": "p"}],
    },
)


def objects(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every object of a document but those whose names are open."""
    if isinstance(value, dict) and place != ("environment", "settings"):
        yield place
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from objects(inner, (*place, key))


def at(document: Any, place: tuple[Any, ...]) -> Any:
    for part in place:
        document = document[part]
    return document


def test_the_case_names_the_nearest(tool: Tool, tmp_path: Path) -> None:
    answer = tool("validate_plan", write(tmp_path, changed(PLAN_4, {"train.lerning_rate": 3})))
    assert answer.exit_status == 1
    finding = answer.finding("schema.unknown_key")
    assert finding["pointer"] == "/train/lerning_rate" and "learning_rate" in finding["fix"]


@pytest.mark.parametrize("place", list(objects(EVERYTHING)), ids=lambda place: "/".join(map(str, place)) or "top")
def test_a_typo_at_each_object_is_refused_with_its_place(tool: Tool, tmp_path: Path, place: tuple[Any, ...]) -> None:
    keys = list(at(EVERYTHING, place))
    document = copy.deepcopy(EVERYTHING)
    target = at(document, place)
    for key in keys:
        target[key + "x"] = 1
    answer = tool("validate_plan", write(tmp_path, document))
    assert answer.exit_status == 1
    found = {f["pointer"]: f["fix"] for f in answer.report["findings"] if f["code"] == "schema.unknown_key"}
    prefix = "".join(f"/{part}" for part in place)
    assert found.keys() == {f"{prefix}/{key}x" for key in keys}
    for key in keys:
        assert f'"{key}"' in found[f"{prefix}/{key}x"] or "did you mean" in found[f"{prefix}/{key}x"]


def test_the_walk_reaches_every_object_of_the_schema() -> None:
    def count(schema: Any) -> int:
        if not isinstance(schema, dict):
            return 0
        own = int(bool(schema.get("properties")))
        return own + sum(count(child) for child in (*schema.get("properties", {}).values(), schema.get("items")))

    names = {tuple(part for part in place if not isinstance(part, int)) for place in objects(EVERYTHING)}
    assert len(names) == count(SCHEMA)


@pytest.mark.parametrize(
    "key", ["Train", "TRAIN", "train ", " train", "tra\u0456n", "train\u200b", "", "$ref", "__proto__"]
)
def test_a_key_that_only_looks_right_is_unknown(tool: Tool, tmp_path: Path, key: str) -> None:
    document = copy.deepcopy(PLAN_4)
    document[key] = document["train"]
    answer = tool("validate_plan", write(tmp_path, document))
    assert answer.exit_status == 1 and "schema.unknown_key" in answer.codes
    assert "\u200b" not in answer.report["findings"][0]["message"]


def test_a_key_that_is_missing_is_named(tool: Tool, tmp_path: Path) -> None:
    for place in (("limits", "wall_seconds"), ("train", "seed"), ("network",)):
        document = changed(PLAN_4, {".".join(place): ...})
        answer = tool("validate_plan", write(tmp_path, document))
        assert answer.exit_status == 1 and place[-1] in answer.finding("schema.required")["message"]


def test_a_setting_of_the_environment_has_the_rule_by_its_header(tool: Tool, tmp_path: Path) -> None:
    document = changed(PLAN_4, {"environment.settings": {"gravty": 9.8}})
    answer = tool("validate_plan", write(tmp_path, document))
    assert answer.exit_status == 1 and "gravity" in answer.finding("environment.setting")["fix"]


@pytest.mark.parametrize(
    ("place", "here"),
    [
        ("train.bptt_horizon", "train.horizon"),
        ("train.lr", "train.learning_rate"),
        ("train.beta1", "train.adam_beta1"),
        ("train.total-agents", "train.num_envs"),
        ("train.replay_ratio", "train.update_epochs"),
        ("train.n_steps", "train.horizon"),
        ("vec", "vectorization"),
        ("vectorization.overwork", "vectorization.oversubscribe"),
        ("vectorization.num_threads", "vectorization.num_workers"),
        ("num_workers", "vectorization.num_workers"),
        ("policy.hidden_size", "policy.hidden"),
        ("sweep", "not part of a plan"),
    ],
)
def test_an_option_of_another_version_line_is_answered_with_its_name_here(
    tool: Tool, tmp_path: Path, place: str, here: str
) -> None:
    document = copy.deepcopy(PLAN_4)
    *parts, last = place.split(".")
    at(document, tuple(parts))[last] = 1
    answer = tool("validate_plan", write(tmp_path, document))
    assert answer.exit_status == 1
    finding = answer.finding("version.option")
    assert here in finding["fix"] and finding["pointer"] == "/" + place.replace(".", "/")


def test_an_option_of_the_other_profile_is_refused_and_both_are_named(tool: Tool, tmp_path: Path) -> None:
    answer = tool("validate_plan", write(tmp_path, changed(PLAN_4, {"train.batch_size": 8192})))
    finding = answer.finding("profile.key_unneeded")
    assert answer.exit_status == 1 and "4.0" in finding["message"] and "3.0" in finding["fix"]
    lacking = changed(PLAN_3, {"train.vtrace_rho_clip": ...})
    answer = tool("validate_plan", write(tmp_path, lacking), "--machine", machine(tmp_path))
    assert answer.exit_status == 1
    assert answer.finding("profile.key_missing")["pointer"] == "/train/vtrace_rho_clip"


@pytest.mark.parametrize("profile", ["4", "4.1", "3", "upstream-3.0.0", "../4.0", "4.0.json", ""])
def test_an_unknown_profile_gets_the_nearest(tool: Tool, tmp_path: Path, profile: str) -> None:
    answer = tool("validate_plan", write(tmp_path, changed(PLAN_4, {"profile": profile})))
    assert answer.exit_status == 1
    assert answer.codes[0] in ("plan.profile", "schema.pattern")


def test_a_plan_of_the_older_format_is_sent_back_to_make_plan(tool: Tool, tmp_path: Path) -> None:
    document = changed(PLAN_4, {"schema": "plan/1", "num_workers": 0})
    answer = tool("validate_plan", write(tmp_path, document))
    assert answer.exit_status == 1 and "make_plan.py" in answer.finding("plan.version")["fix"]
    for other in ("plan/3", "Plan/2", 2, None):
        answer = tool("validate_plan", write(tmp_path, changed(PLAN_4, {"schema": other})))
        assert answer.exit_status == 1


def test_our_validator_looks_beside_a_reference() -> None:
    """In draft-07 the words beside `$ref` were ignored, and a ban of extra keys with them."""
    schema = Schema(
        {
            "$defs": {"part": {"type": "object", "properties": {"lr": {"type": "number"}}}},
            "$ref": "#/$defs/part",
            "type": "object",
            "properties": {"lr": {}},
            "additionalProperties": False,
        }
    )
    assert schema.findings({"lr": 0.1}) == []
    found = schema.findings({"lr": 0.1, "lerning_rate": 3})
    assert [finding.code for finding in found] == ["schema.unknown_key"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"additionalPropertys": False},
        {"requird": ["a"]},
        {"$ref": "#/$defs/gone"},
    ],
)
def test_a_schema_that_refers_to_itself_or_is_misspelt_is_an_error_of_ours(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        Schema(schema).findings({})

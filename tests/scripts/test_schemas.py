"""The shipped schemas: valid, closed at every object, described at every field."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _skill import strict_json
from _skill.json_schema import Schema
from _skill.plans import plan_making

from .gate_bundle import ROOT, Bundle

NAMES = sorted(path.name.removesuffix(".schema.json") for path in (ROOT / "schemas").iterdir())
HEX = "0" * 64

PLAN: dict[str, Any] = {
    "schema": "plan/2",
    "run": "cartpole-20261130-130512-1a2b",
    "profile": "4.0",
    "start": {"kind": "fresh"},
    "environment": {"name": "cartpole", "api": "c", "path": "/somewhere/cartpole", "settings": {"gravity": 9.81}},
    "policy": {"network": "mlp", "hidden": [64], "activation": "tanh"},
    "train": {
        "seed": 1, "total_timesteps": 20000000, "target_return": 475.0, "num_envs": 2048, "horizon": 32,
        "minibatch_size": 16384, "update_epochs": 2, "learning_rate": 0.003, "anneal_lr": "linear", "min_lr_ratio": 0.0,
        "gamma": 0.99, "gae_lambda": 0.95, "clip_coef": 0.2, "vf_coef": 0.5, "vf_clip_coef": 0.2, "ent_coef": 0.0,
        "max_grad_norm": 0.5, "adam_beta1": 0.9, "adam_beta2": 0.999, "adam_eps": 1e-08, "checkpoint_interval": 50,
    },
    "evaluation": {"episodes": 128, "seed": 1000001},
    "vectorization": {"backend": "threads", "num_workers": 0},
    "device": "cpu",
    "loggers": [{"kind": "jsonl"}],
    "network": ["example.org:443"],
    "limits": {"wall_seconds": 300, "memory_mb": 2048, "disk_mb": 256},
}  # fmt: skip
MANIFEST: dict[str, Any] = {
    "schema": "manifest/1",
    "run": "r",
    "status": "complete",
    "reason": "goal reached",
    "iteration": 2,
    "step": 131072,
    "goal_reached": True,
    "weights_sha256": HEX,
    "checkpoint": {"file": "checkpoint-0000000000131072.safetensors", "bytes": 1000, "sha256": HEX},
    "plan_sha256": HEX,
    "evaluation": {"episodes": 128, "return_mean": 500.0, "return_std": 0.0, "length_mean": 500, "seed": 7},
    "engine": {"sources_sha256": HEX, "library_sha256": HEX, "compiler": "c++ 12.2"},
    "seconds": {"build": 0.0, "train": 0.4, "evaluate": 0.1, "total": 0.7},
}
APPROVAL: dict[str, Any] = {
    "schema": "approval/2",
    "run": "r",
    "purpose": "run",
    "digest": HEX,
    "items": {"plan": HEX},
    "tier": "self",
    "approved_by": "Ada",
    "requested_by": "Grace",
    "reason": "",
    "created": "2026-11-30T13:05:12Z",
    "expires": "2026-11-30T14:05:12Z",
    "nonce": "0" * 32,
    "sha256": HEX,
}
RECORD: dict[str, Any] = {
    "schema": "audit/1",
    "sequence": 0,
    "time": "2026-11-30T13:05:12Z",
    "event": "planned",
    "data": {"run": "r"},
    "previous": HEX,
    "sha256": HEX,
}

ANCHOR: dict[str, Any] = {
    "schema": "audit_anchor/1",
    "run": "r",
    "records": 4,
    "bytes": 1000,
    "log_sha256": HEX,
    "created": "2026-11-30T13:05:12Z",
    "sha256": HEX,
}
FILES: dict[str, Any] = {
    "schema": "file_manifest/1",
    "kind": "folder",
    "root": "models",
    "excluded": None,
    "total_files": 1,
    "total_bytes": 10,
    "sha256": HEX,
    "files": [{"path": "a/b.safetensors", "bytes": 10, "sha256": HEX}],
}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "plan": PLAN,
    "manifest": MANIFEST,
    "approval": APPROVAL,
    "audit_record": RECORD,
    "audit_anchor": ANCHOR,
    "file_manifest": FILES,
}
SHIPPED = {"profile": "native_profile/pins/4.0.json", "launch_policy": "launch_policy.json"}
"""Documents of the bundle itself, by their schema."""


def valid(name: str) -> dict[str, Any]:
    """A document that the schema accepts: of the bundle, of this file, or the schema's own example."""
    if name in SHIPPED:
        return dict(strict_json.loads((ROOT / SHIPPED[name]).read_bytes(), name))
    if name not in DOCUMENTS:
        assert document(name).get("examples"), f'{name}: put a valid document under "examples" of the schema'
    return copy.deepcopy(DOCUMENTS.get(name) or document(name)["examples"][0])


def document(name: str) -> dict[str, Any]:
    return dict(strict_json.loads((ROOT / f"schemas/{name}.schema.json").read_bytes(), name))


def objects(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        yield place
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from objects(inner, (*place, key))


OPEN = {
    ("plan", ("environment", "settings")),
    ("approval", ("items",)),
    ("audit_record", ("data",)),
    ("machine", ("packages",)),
}
"""Objects whose names no schema can know."""


def schema_at(name: str, place: tuple[str | int, ...]) -> dict[str, Any]:
    """The subschema that holds at a place of a document."""
    schema = document(name)
    for part in place:
        properties = schema.get("properties", {})
        schema = (
            properties[part]
            if part in properties
            else schema["items" if isinstance(part, int) else "additionalProperties"]
        )
        while "$ref" in schema:
            schema = at(document(name), tuple(schema["$ref"][2:].split("/")))
    return schema


def at(value: Any, place: tuple[str | int, ...]) -> Any:
    for part in place:
        value = value[part]
    return value


@pytest.mark.parametrize("name", NAMES)
def test_is_a_valid_2020_12_schema_that_accepts_a_valid_document(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(document(name))
    assert Schema.shipped(name).findings(valid(name)) == []
    jsonschema.validate(valid(name), document(name), cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("name", NAMES)
def test_a_misspelt_key_is_refused_at_every_object(name: str) -> None:
    for place in objects(valid(name)):
        # Open by nature: names that a header, the digest, an event or a package index defines.
        if schema_at(name, place).get("additionalProperties") is not False:
            assert (name, place) in OPEN, (name, place)
            continue
        for key in at(valid(name), place):
            changed = copy.deepcopy(valid(name))
            target = at(changed, place)
            target[key + "x"] = target.pop(key)
            findings = Schema.shipped(name).findings(changed)
            pointers = {finding.pointer for finding in findings if finding.code == "schema.unknown_key"}
            assert pointers == {"/" + "/".join(map(str, (*place, key + "x")))}, (place, key)


@pytest.mark.parametrize("name", NAMES)
def test_every_field_is_described_and_every_object_says_what_is_extra(name: str) -> None:
    def look(schema: Any, place: str) -> None:
        if schema is True:
            return
        assert schema.get("description"), place
        if schema.get("type") == "object" or "properties" in schema:
            assert "additionalProperties" in schema, place
        for key, child in schema.get("properties", {}).items():
            look(child, f"{place}/{key}")
        for keyword in ("items", "additionalProperties"):
            if isinstance(schema.get(keyword), dict):
                look(schema[keyword], f"{place}/{keyword}")

    look(document(name), name)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_agrees_with_jsonschema_on_changed_documents(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    changed = copy.deepcopy(valid(name))
    places = [place for place in objects(changed) if at(changed, place)]
    place = data.draw(st.sampled_from(sorted(places, key=str)))
    target = at(changed, place)
    key = data.draw(st.sampled_from(sorted(target)) | st.just("extra"))
    values: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-2, 2**54) | st.just([]) | st.just({})
    values |= st.floats(-1e6, 1e6).filter(lambda x: x != int(x))
    values |= st.sampled_from(["", "cpu", "tanh", "a b", "0" * 64, "/x", "4.0"])
    if data.draw(st.booleans()):
        target.pop(key, None)
    else:
        target[key] = data.draw(values)
    expected = jsonschema.Draft202012Validator(document(name)).is_valid(changed)
    assert (not Schema.shipped(name).findings(changed)) == expected


def test_the_plan_and_the_profile_know_the_same_fields_with_the_same_bounds() -> None:
    plan, profile = document("plan")["properties"], document("profile")["properties"]
    assert profile["train_defaults"]["properties"] == plan["train"]["properties"]
    assert profile["policy_defaults"]["properties"] == plan["policy"]["properties"]


@pytest.mark.parametrize("value", [True, 8.0, "8", 1e22])
def test_a_count_must_be_an_integer_literal(value: Any) -> None:
    changed = copy.deepcopy(PLAN)
    changed["train"]["num_envs"] = value
    assert [finding.pointer for finding in Schema.shipped("plan").findings(changed)] == ["/train/num_envs"]


@pytest.mark.parametrize("run", ["a; echo x", "$(x)", "`x`", "--config=x", "-x", "", "a" * 81, "A", "a/b", "..", "a\n"])
def test_a_run_name_can_be_neither_an_option_nor_a_path_nor_shell_text(run: str) -> None:
    assert [f.pointer for f in Schema.shipped("plan").findings({**PLAN, "run": run})] == ["/run"]


def test_what_make_plan_writes_is_accepted(bundle: Bundle, tmp_path: Path) -> None:
    plan = strict_json.loads(bundle.plan().read_bytes(), "plan")
    assert Schema.shipped("plan").findings(plan) == []
    assert Schema.shipped("plan").findings({**plan, "run": plan_making.run_name("fake")}) == []

"""Environments that a plan describes: one autoreset mode, an offset where actions start elsewhere, leaves that agree.

The plan side of the field cases A02 (autoreset), A04 (start of a discrete space) and A05 (shapes of actions).
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from _skill import machine
from _skill.findings import Finding, Refusal
from _skill.plans import plan, plan_environment, plan_numbers, plan_rules, profile

from .gate_bundle import Bundle

MACHINE = machine.Machine(
    "Linux", "x86_64", "3.11", 16, 64 << 30, 8 << 30, 100 << 30, (), "g++", {"torch": "2.9", "numpy": "2"}, ()
)
THREE = profile.load("3.0")


def discrete(size: int = 2, start: int = 0, path: str = "") -> dict[str, Any]:
    return {"path": path, "kind": "discrete", "dtype": "int64", "shape": [], "sizes": [size], "start": [start]}


def document(**environment: Any) -> dict[str, Any]:
    train = {**THREE.train_defaults, "num_envs": 8, "horizon": 16, "batch_size": 128, "minibatch_size": 128}
    described: dict[str, Any] = {
        "name": "Counter-v0",
        "api": "gymnasium",
        "source": None,
        "agents": 1,
        "observation": [{"path": "", "dtype": "float32", "shape": [4]}],
        "action": [discrete()],
        "autoreset": "next_step",
        "settings": {},
    }
    described.update(environment)
    return {
        "schema": "plan/2",
        "run": "r",
        "profile": "3.0",
        "start": {"kind": "fresh"},
        "environment": {key: value for key, value in described.items() if value is not ...},
        "policy": THREE.policy_defaults,
        "train": train,
        "evaluation": {"episodes": 10, "seed": 1000001},
        "vectorization": {**THREE.vectorization_defaults, "envs_per_batch": 8},
        "device": "cpu",
        **THREE.section_defaults,
        "loggers": [{"kind": "jsonl"}],
        "network": [],
        "limits": {"wall_seconds": 300, "memory_mb": 2048, "disk_mb": 256},
    }


def findings(**environment: Any) -> list[Finding]:
    try:
        read = plan.parse(json.dumps(document(**environment)).encode(), "plan")
    except Refusal as refusal:
        return refusal.findings
    return [
        f for f in plan_rules.findings(read, THREE, plan_environment.load(read), MACHINE) if f.severity == "error"
    ]  # fmt: skip


def codes(**environment: Any) -> list[str]:
    return [finding.code for finding in findings(**environment)]


@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_a_plan_pins_one_autoreset_mode(mode: str) -> None:
    assert codes(autoreset=mode) == []


@pytest.mark.parametrize(
    ("mode", "code"),
    [
        (..., "environment.undescribed"),
        (None, "schema.type"),
        ("unknown", "schema.enum"),
        ("NEXT_STEP", "schema.enum"),
        ("auto", "schema.enum"),
        ("", "schema.enum"),
        (["same_step", "next_step"], "schema.type"),
        ("disabled", "environment.autoreset"),
    ],
)
def test_an_unknown_mode_is_a_failure_and_never_a_default(mode: Any, code: str) -> None:
    found = findings(autoreset=mode)
    assert [finding.code for finding in found] == [code] and found[0].pointer == "/environment/autoreset"


def test_without_autoreset_only_the_serial_backend_can_step() -> None:
    changed = document(autoreset="disabled")
    changed["vectorization"].update(backend="serial", num_workers=1, start_method=None)
    read = plan.parse(json.dumps(changed).encode(), "plan")
    found = plan_rules.findings(read, THREE, plan_environment.load(read), MACHINE)
    assert not [finding for finding in found if finding.severity == "error"]


@pytest.mark.parametrize(
    ("action", "offset"),
    [
        ([discrete(3, -1)], [-1]),
        ([discrete(19, 2)], [2]),
        ([discrete(3, -1, "a"), discrete(4, 0, "b")], [-1, 0]),
        (
            [{"path": "", "kind": "multi_discrete", "dtype": "int64", "shape": [2], "sizes": [3, 4], "start": [5, 0]}],
            [5, 0],
        ),
        ([discrete(3, 1, "a"), {"path": "b", "kind": "box", "dtype": "float32", "shape": [2]}], [1]),
    ],
)
def test_a_space_that_starts_elsewhere_needs_its_offset(action: list[Any], offset: list[int]) -> None:
    found = findings(action=action)
    assert [finding.code for finding in found] == ["environment.action_offset"]
    assert f"action_offset [{', '.join(map(str, offset))}]" in found[0].fix
    low, high = offset[0], offset[0] + action[0]["sizes"][0] - 1
    assert f"{low}..{high}" in found[0].want
    assert codes(action=action, action_offset=offset) == []
    for wrong in ([number + 1 for number in offset], [0] * len(offset), [*offset, 0], []):
        assert codes(action=action, action_offset=wrong) == ["environment.action_offset_wrong"]


def test_an_offset_of_nothing_is_accepted_and_another_is_not() -> None:
    assert codes(action_offset=[0]) == []
    assert codes(action_offset=[1]) == ["environment.action_offset_wrong"]


@pytest.mark.parametrize("offset", [[True], [1.0], ["1"], None, 1, [2**53]])
def test_an_offset_is_made_of_integers(offset: Any) -> None:
    assert codes(action=[discrete(3, 1)], action_offset=offset)[0] in ("schema.type", "json.integer_range")


def test_a_profile_that_sends_no_offset_refuses_the_space() -> None:
    """A fact of the profile, not its name."""
    plain = THREE._replace(supports=THREE.supports._replace(action_offset=False))
    read = plan.parse(json.dumps(document(action=[discrete(3, -1)], action_offset=[-1])).encode(), "plan")
    found = plan_rules.findings(read, plain, plan_environment.load(read), MACHINE)
    assert "environment.action_offset_profile" in [finding.code for finding in found]
    read = plan.parse(json.dumps(document()).encode(), "plan")
    found = plan_rules.findings(read, plain, plan_environment.load(read), MACHINE)
    assert not [finding for finding in found if finding.severity == "error"]


def multi(kind: str, dtype: str, shape: list[int], sizes: list[int] | None = None, **more: Any) -> list[Any]:
    return [
        {
            "path": "",
            "kind": kind,
            "dtype": dtype,
            "shape": shape,
            **({} if sizes is None else {"sizes": sizes}),
            **more,
        }
    ]


@pytest.mark.parametrize(
    ("action", "components", "choices"),
    [
        (multi("multi_discrete", "int64", [2, 2], [2, 3, 4, 5]), 4, [2, 3, 4, 5]),
        (multi("multi_binary", "int8", [2, 3]), 6, []),
        (multi("multi_binary", "int8", [6], [2] * 6), 6, [2] * 6),
        ([discrete(4)], 1, [4]),
        (multi("box", "float32", [3]), 3, []),
        (multi("box", "float64", []), 1, []),
    ],
)
def test_shapes_of_actions_are_kept_and_counted(action: list[Any], components: int, choices: list[int]) -> None:
    assert codes(action=action) == []
    environment = plan_environment.of_document(document(action=action)["environment"])
    assert environment.action_components == components
    assert list(environment.action[0].sizes) == choices


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (multi("multi_discrete", "int64", [2, 2], [2, 3]), "environment.action_sizes"),
        (multi("multi_discrete", "int64", [2]), "environment.action_sizes"),
        (multi("multi_discrete", "float32", [2], [2, 3]), "environment.action_type"),
        (multi("multi_binary", "float32", [6]), "environment.action_type"),
        (multi("multi_binary", "int8", [6], [3] * 6), "environment.action_sizes"),
        (multi("discrete", "int64", [1], [4]), "environment.action_shape"),
        (multi("discrete", "float64", [], [4]), "environment.action_type"),
        (multi("discrete", "int64", [], []), "environment.action_sizes"),
        (multi("discrete", "int64", [], [4], start=[0, 1]), "environment.action_start"),
        (multi("box", "float32", [3], [2, 2, 2]), "environment.action_sizes"),
        ([discrete(2, 0, "a"), discrete(3, 0, "a")], "environment.leaf_twice"),
        (multi("discreet", "int64", [], [4]), "schema.enum"),
        (multi("discrete", "int64", [], [0]), "schema.range"),
        (multi("discrete", "int", [], [4]), "schema.enum"),
        ([], "schema.count"),
    ],
)
def test_leaves_that_do_not_agree_are_refused(action: list[Any], code: str) -> None:
    assert code in codes(action=action)


@pytest.mark.parametrize("key", ["source", "agents", "observation", "action", "autoreset"])
def test_what_no_header_says_stands_in_the_plan(key: str) -> None:
    found = findings(**{key: ...})
    assert [finding.code for finding in found] == ["environment.undescribed"]
    assert found[0].pointer == f"/environment/{key}" and found[0].fix


def test_a_c_environment_repeats_nothing_and_a_python_one_has_no_folder() -> None:
    assert codes(path="/somewhere") == ["environment.unneeded"]
    c = document()
    c["environment"] = {**c["environment"], "name": "cartpole", "api": "c"}
    with pytest.raises(Refusal) as refused:
        plan.parse(json.dumps(c).encode(), "plan")
    assert {finding.code for finding in refused.value.findings} == {"environment.unneeded"}


def test_a_source_is_named_without_links(tmp_path: Path) -> None:
    file = tmp_path.resolve() / "env.py"
    file.write_text("class Counter: pass\n")
    (tmp_path.resolve() / "link.py").symlink_to(file)
    assert codes(name="Counter", source=str(file)) == []
    assert "environment.source" in codes(name="Counter", source=str(tmp_path.resolve() / "link.py"))
    assert "environment.source" in codes(name="Counter", source="/nowhere/env.py")
    assert codes(name="Counter", source="env.py") == ["schema.pattern"]


@pytest.mark.parametrize("name", ["../../etc", "a/../../b", "Cartpole", "-x", "a b", "$(x)", ""])
def test_the_name_of_a_c_environment_leads_nowhere(name: str) -> None:
    c = document()
    c["environment"] = {"name": name, "api": "c", "path": "/tmp", "settings": {}}
    with pytest.raises(Refusal) as refused:
        plan.parse(json.dumps(c).encode(), "plan")
    assert refused.value.findings[0].pointer == "/environment/name"


@pytest.mark.parametrize("value", [True, "9.8", None])
def test_a_setting_of_a_c_environment_is_a_number(value: Any) -> None:
    c = document()
    c["environment"] = {"name": "cartpole", "api": "c", "settings": {"gravity": value}}
    with pytest.raises(Refusal) as refused:
        plan.parse(json.dumps(c).encode(), "plan")
    assert refused.value.findings[0].code == "environment.setting_type"
    assert codes(settings={"render_mode": "rgb_array", "sutton": True, "seed": None}) == []


def report(**changes: Any) -> dict[str, Any]:
    described = document()["environment"]
    spec = {key: copy.deepcopy(described[key]) for key in ("api", "agents", "observation", "action", "autoreset")}
    return {
        "tool": "check_env",
        "status": "ok",
        "exit_status": 0,
        "target": "env.py:Counter",
        "spec": {**spec, **changes},
    }


def test_make_plan_takes_the_spec_of_a_report(bundle: Bundle) -> None:
    (bundle.work / "env.py").write_text("class Counter: pass\n")
    spec = report(agents=3, action=[discrete(3, -1)])
    (bundle.work / "report.json").write_text(json.dumps(spec))
    made = bundle.json("make_plan", "Counter", "--profile", "3.0", "--contract", "report.json")
    assert made["exit_status"] == 0, made
    environment = made["plan"]["environment"]
    assert environment["api"] == "gymnasium" and environment["agents"] == 3
    assert environment["source"] == str((bundle.work / "env.py").resolve())
    assert environment["action_offset"] == [-1] and environment["autoreset"] == "next_step"
    assert environment["observation"] == spec["spec"]["observation"]
    assert made["numbers"]["agents"] == made["plan"]["train"]["num_envs"] * 3
    assert "check_env.py" in made["reasons"]["environment.observation"]


def test_a_mode_that_the_report_does_not_know_has_to_be_chosen(bundle: Bundle) -> None:
    (bundle.work / "env.py").write_text("class Counter: pass\n")
    (bundle.work / "report.json").write_text(json.dumps(report(autoreset=None)))
    words = ("make_plan", "Counter", "--profile", "3.0", "--contract", "report.json")
    refused = bundle.json(*words)
    assert refused["exit_status"] == 1
    assert [f["pointer"] for f in refused["findings"]] == ["/environment/autoreset"]
    made = bundle.json(*words, "--set", "environment.autoreset=same_step")
    assert made["exit_status"] == 0 and made["plan"]["environment"]["autoreset"] == "same_step"


def test_an_environment_that_does_not_reset_itself_is_reset_at_the_next_step(bundle: Bundle) -> None:
    (bundle.work / "env.py").write_text("class Counter: pass\n")
    (bundle.work / "report.json").write_text(json.dumps(report(autoreset="disabled")))
    made = bundle.json("make_plan", "Counter", "--profile", "3.0", "--contract", "report.json")
    assert made["exit_status"] == 0 and made["plan"]["environment"]["autoreset"] == "next_step"
    assert "does not reset itself" in made["reasons"]["environment.autoreset"]


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({"spec": None}, "contract.form"),
        ({}, "contract.form"),
        ([], "contract.form"),
        ({"spec": {"api": "gymnasium"}}, "contract.form"),
        ({**report(), "exit_status": 1, "status": "problem"}, "contract.failed"),
        ({**report(), "status": "could not", "exit_status": 2}, "contract.failed"),
        (report(api="gym"), "schema.enum"),
        (report(agents=0), "schema.range"),
        (report(observation=[{"path": "", "dtype": "float33", "shape": [4]}]), "schema.enum"),
    ],
)
def test_a_report_that_is_none_or_failed_makes_no_plan(bundle: Bundle, document: Any, code: str) -> None:
    (bundle.work / "report.json").write_text(json.dumps(document))
    refused = bundle.json("make_plan", "Counter", "--profile", "3.0", "--contract", "report.json")
    assert refused["exit_status"] == 1 and code in [f["code"] for f in refused["findings"]]


def test_a_profile_for_c_environments_only_refuses_others(bundle: Bundle) -> None:
    (bundle.work / "env.py").write_text("class Counter: pass\n")
    (bundle.work / "report.json").write_text(json.dumps(report()))
    refused = bundle.json("make_plan", "Counter", "--contract", "report.json")
    found = [f for f in refused["findings"] if f["code"] == "environment.api"]
    assert refused["exit_status"] == 1 and "profile 3.0" in found[0]["fix"]


def test_bytes_of_an_action_are_counted_as_the_environment_gets_them() -> None:
    environment = plan_environment.of_document(document(action=multi("box", "float64", [3]))["environment"])
    assert (environment.action_bytes, environment.observation_bytes) == (24, 16)
    read = plan.parse(json.dumps(document(action=multi("box", "float64", [3]))).encode(), "plan")
    numbers = plan_numbers.derive(read, THREE, environment)
    assert numbers.shared_memory_bytes == 8 * (16 + 24 + 7) + plan_numbers.SHARED_MARGIN_BYTES

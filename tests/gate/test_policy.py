"""The launch policy decides what a plan needs; two policies are as strict as the stricter one, rule by rule."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from _skill.findings import Refusal
from _skill.gate import launch_policy, tier
from _skill.json_schema import Schema
from _skill.plans import plan

from ..scripts.gate_bundle import ROOT, Bundle
from ..scripts.test_schemas import PLAN
from .conftest import Keys

SHIPPED = json.loads((ROOT / "launch_policy.json").read_text())


def a_plan(**changes: Any) -> plan.Plan:
    """The valid plan of the tests with some fields changed: `train__seed=2`."""
    document = json.loads(json.dumps(PLAN))
    document["environment"].pop("path", None)
    document.update(network=[], device="cpu", start={"kind": "fresh"}, loggers=[{"kind": "jsonl"}])
    for name, value in changes.items():
        place = document
        *folders, last = name.split("__")
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = value
    return plan.parse(plan.written(document), "plan")


def policy(*tiers: dict[str, Any], origin: str = "bundle", **changes: Any) -> launch_policy.Policy:
    filled = [{"name": "t", "consent": "opt_in", "longest_expiry": "1h", "caps": {}, **tier} for tier in tiers]
    document = {**SHIPPED, "tiers": filled, **changes}
    return launch_policy.Policy(origin, f"/{origin}", document, "0" * 64, None)


def decide(made: plan.Plan, *policies: launch_policy.Policy) -> tier.Decision:
    return tier.decide(made, list(policies))


def test_the_shipped_policy_fits_its_schema_and_gives_small_plans_to_opt_in() -> None:
    assert Schema.shipped("launch_policy").findings(SHIPPED) == []
    (shipped,) = launch_policy.load()
    assert decide(a_plan(), shipped)[:3] == ("self", "opt_in", [])


SELF = SHIPPED["tiers"][0]["caps"]


@pytest.mark.parametrize(
    ("field", "cap"),
    [
        ("train__total_timesteps", "total_timesteps"),
        ("limits__wall_seconds", "wall_seconds"),
        ("limits__memory_mb", "memory_mb"),
        ("limits__disk_mb", "disk_mb"),
    ],
)
def test_a_plan_at_a_cap_needs_nobody_and_one_above_it_needs_a_person(field: str, cap: str) -> None:
    (shipped,) = launch_policy.load()
    assert decide(a_plan(**{field: SELF[cap]}), shipped).consent == "opt_in"
    above = decide(a_plan(**{field: SELF[cap] + 1}), shipped)
    assert (above.tier, above.consent) == ("person", "person")
    assert above.reasons == [f"{field.replace('__', '.')} is {SELF[cap] + 1}, more than {SELF[cap]}"]


@pytest.mark.parametrize(
    "changes",
    [
        {"environment__path": "/somewhere/cartpole"},
        {"device": "cuda"},
        {"network": ["api.example.org"]},
        {"start": {"kind": "warm", "checkpoint": "/x.safetensors", "sha256": "0" * 64}},
        {"loggers": [{"kind": "wandb", "mode": "online"}]},
        {"distributed": {"world_size": 2, "nodes": 1, "backend": "gloo", "timeout_seconds": 60}},
        {"profile": "3.0"},
    ],
)
def test_what_reaches_out_of_the_bundle_needs_a_person(changes: dict[str, Any]) -> None:
    (shipped,) = launch_policy.load()
    decision = decide(a_plan(**changes), shipped)
    assert decision.consent == "person" and len(decision.reasons) >= 1


def test_of_two_policies_the_stricter_one_counts_for_each_rule() -> None:
    loose = policy({"name": "all", "longest_expiry": "30d"})
    strict = policy({"name": "asked", "consent": "person", "longest_expiry": "10m"}, origin="system")
    for order in ((loose, strict), (strict, loose)):
        decision = decide(a_plan(), *order)
        assert (decision.tier, decision.consent, decision.longest_expiry) == ("asked", "person", 600)
    closed = policy({}, origin="system", require_isolation=["files"])
    wide = policy({}, require_isolation=["network"])
    assert decide(a_plan(), wide, closed).require_isolation == {"network", "files"}
    signed = {"consent": "signature", "signatures": 2}
    both = decide(a_plan(), policy({**signed, "name": "two"}), policy({"consent": "signature", "name": "one"}))
    assert (both.tier, [demand.signatures for demand in both.demands]) == ("two", [2, 1])


def test_a_plan_that_fits_no_tier_is_refused_with_the_reasons() -> None:
    with pytest.raises(Refusal) as caught:
        decide(a_plan(), policy({"caps": {"wall_seconds": 1}}))
    assert [finding.code for finding in caught.value.findings] == ["policy.no_tier"]
    assert "limits.wall_seconds is" in caught.value.findings[0].got


def test_a_logger_that_a_policy_does_not_name_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        decide(a_plan(loggers=[{"kind": "jsonl"}, {"kind": "trackio"}]), policy({}, loggers=["jsonl"]))
    assert caught.value.findings[0].pointer == "/loggers/1/kind"


@pytest.mark.parametrize(
    ("allowed", "fits"),
    [(["outside"], True), (["built_in"], False), (["{}/envs"], True), (["{}/env"], False), (["{}/envs/e/x"], False)],
)
def test_folders_of_environments_are_compared_part_by_part(tmp_path: Path, allowed: list[str], fits: bool) -> None:
    made = a_plan(environment__path=f"{tmp_path}/envs/e")
    caps = {"environments": [word.format(tmp_path) for word in allowed]}
    decision = decide(made, policy({"name": "near", "caps": caps}, {"name": "far"}))
    assert decision.tier == ("near" if fits else "far")


BROKEN: list[Any] = [
    lambda p: p.update(schema="launch_policy/2"),
    lambda p: p.update(extra=1),
    lambda p: p.pop("loggers"),
    lambda p: p.update(tiers=[]),
    lambda p: p["tiers"][0].update(consent="none"),
    lambda p: p["tiers"][0].update(longest_expiry="31d"),
    lambda p: p["tiers"][0]["caps"].update(wall_second=1),
    lambda p: p["tiers"][0]["caps"].update(wall_seconds=True),
    lambda p: p["tiers"][1].update(name="self"),
    lambda p: p["tiers"][1].update(consent="signature"),
    lambda p: p["tiers"][0].update(signatures=2),
    lambda p: p.update(allowed_signers="../elsewhere"),
    lambda p: p.update(allowed_signers="missing"),
]


@pytest.mark.parametrize("change", BROKEN)
def test_with_a_malformed_policy_nothing_runs(bundle: Bundle, change) -> None:
    document = json.loads(json.dumps(SHIPPED))
    change(document)
    (bundle.root / "launch_policy.json").write_text(json.dumps(document))
    before = bundle.files()
    report = bundle.json("launch", "quickstart", "--env", "fake", "--opt-in")
    assert report["exit_status"] == 2
    assert bundle.files() == before and not (bundle.work / "runs").exists()


@pytest.mark.parametrize("kind", ["missing", "link", "folder", "twice", "not json"])
def test_a_policy_that_cannot_be_read_is_exit_2(bundle: Bundle, kind: str) -> None:
    path = bundle.root / "launch_policy.json"
    data = path.read_text()
    path.unlink()
    if kind == "link":
        (bundle.root / "other.json").write_text(data)
        path.symlink_to("other.json")
    elif kind == "folder":
        path.mkdir()
    elif kind == "twice":
        path.write_text(data.replace('"loggers"', '"loggers": [],\n "loggers"', 1))
    elif kind == "not json":
        path.write_text("tiers: []")
    assert bundle.json("launch", "quickstart", "--env", "fake", "--opt-in")["exit_status"] == 2


def system(bundle: Bundle, document: dict[str, Any]) -> Path:
    """Gives the bundle's gate a system policy, in a folder of the test's."""
    folder = bundle.root.parent / "system"
    folder.mkdir(exist_ok=True)
    (folder / "launch_policy.json").write_text(json.dumps(document))
    source = bundle.root / "scripts/_skill/gate/launch_policy.py"
    source.write_text(source.read_text().replace('"/etc/pufferlib-skill"', repr(str(folder))))
    return folder


def test_the_system_s_policy_cannot_be_loosened_by_the_bundle(bundle: Bundle) -> None:
    strict = {**SHIPPED, "tiers": [{**SHIPPED["tiers"][1], "name": "ask"}]}
    folder = system(bundle, strict)
    report = bundle.json("launch", "quickstart", "--env", "fake", "--opt-in")
    assert [finding["code"] for finding in report["findings"]] == ["tier.person"] and report["tier"] == "ask"
    bundle.plan()
    bundle.approve()
    # A change of either policy after the approval is named.
    (folder / "launch_policy.json").write_text(json.dumps(SHIPPED))
    report = bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")
    assert "policy system has changed since the approval" in [f["message"] for f in report["findings"]]
    shutil.rmtree(folder)
    report = bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")
    assert "policy system has changed since the approval" in [f["message"] for f in report["findings"]]


@pytest.mark.parametrize("loose", ["launch_policy.json", ".", "allowed_signers"])
def test_a_system_policy_that_others_may_write_says_nothing(bundle: Bundle, keys: Keys, loose: str) -> None:
    folder = system(bundle, {**SHIPPED, "allowed_signers": "allowed_signers"})
    shutil.copy(keys.allowed, folder / "allowed_signers")
    os.chmod(folder / loose, 0o777)
    report = bundle.json("launch", "quickstart", "--env", "fake", "--opt-in")
    assert (report["exit_status"], report["findings"][0]["code"]) == (2, "policy.writable")


def test_no_variable_and_no_option_names_another_policy(bundle: Bundle) -> None:
    for script in ("launch", "approve", "audit", "validate_plan", "make_plan"):
        assert "--policy" not in bundle.run(script, "--help").stdout.split()
    source = (ROOT / "scripts/_skill/gate/launch_policy.py").read_text()
    assert "environ" not in source and "argv" not in source


def test_an_approval_lives_no_longer_than_its_tier_allows(bundle: Bundle) -> None:
    document = json.loads(json.dumps(SHIPPED))
    for entry in document["tiers"]:
        entry["longest_expiry"] = "10m"
    (bundle.root / "launch_policy.json").write_text(json.dumps(document))
    bundle.plan()
    report = bundle.json("approve", "plan.json", "--by", "Ada", "--expires-in", "11m")
    assert [finding["code"] for finding in report["findings"]] == ["approval.too_long"]
    bundle.approve("plan.json", "--expires-in", "10m")
    assert bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")["exit_status"] == 0


def test_a_bound_that_a_policy_requires_and_the_system_does_not_give_is_refused(bundle: Bundle) -> None:
    (bundle.root / "launch_policy.json").write_text(json.dumps({**SHIPPED, "require_isolation": ["files", "network"]}))
    for module in ("file_isolation", "network_isolation"):
        source = bundle.root / f"scripts/_skill/process/{module}.py"
        source.write_text(source.read_text().replace('startswith("linux")', 'startswith("nothing")'))
    report = bundle.json("launch", "quickstart", "--env", "fake", "--opt-in")
    assert (report["exit_status"], [f["code"] for f in report["findings"]]) == (1, ["isolation.required"] * 2)
    assert not (bundle.work / "runs").exists()
    (bundle.root / "launch_policy.json").write_text(json.dumps(SHIPPED))
    result = bundle.run("launch", "quickstart", "--env", "fake", "--run", "r", "--opt-in")
    # Without the bounds it runs, and says so: on the screen, and in the record.
    assert result.returncode == 0
    assert "network     open: " in result.stdout and "files       open: " in result.stdout
    started = json.loads((bundle.work / "runs/r/audit.jsonl").read_text().splitlines()[2])["data"]
    assert started["network"].startswith("open: ") and started["files"].startswith("open: ")


def test_approve_and_launch_show_the_tier_and_why(bundle: Bundle) -> None:
    bundle.plan("limits.wall_seconds=4000")
    shown = bundle.run("approve", "plan.json", "--by", "Ada").stdout
    assert "tier        person: a person must approve" in shown
    assert "because limits.wall_seconds is 4000, more than 3600" in shown

"""make_plan.py and validate_plan.py as a person and an agent use them."""

from __future__ import annotations

import json
import time

import pytest

from _skill import machine
from _skill.plans import (
    environment_folder,
    plan,
    plan_environment,
    plan_fields,
    plan_making,
    plan_rules,
    profile,
)

from .gate_bundle import Bundle


def test_the_plan_starts_from_the_profile_then_the_environment_then_the_choices(bundle: Bundle) -> None:
    report = bundle.json("make_plan", "fake", "--set", "train.seed=7", "--set", "train.anneal_lr=cosine")
    train = report["plan"]["train"]
    assert (train["seed"], train["anneal_lr"], train["total_timesteps"]) == (7, "cosine", 1000000)
    assert train["target_return"] == 475.0
    assert report["plan"]["evaluation"]["seed"] == 1000007
    assert report["plan"]["limits"]["wall_seconds"] == 300


def test_a_written_plan_is_valid_and_is_never_written_over(bundle: Bundle) -> None:
    path = bundle.plan("policy.hidden=[32, 32]", "environment.settings.gravity=5")
    before, files = path.read_bytes(), bundle.files().keys()
    assert json.loads(before)["policy"]["hidden"] == [32, 32]
    assert bundle.run("validate_plan", str(path)).returncode == 0
    again = bundle.run("make_plan", "fake", "--out", str(path))
    assert again.returncode == 1 and "file.exists" in again.stderr
    assert path.read_bytes() == before
    assert bundle.files().keys() == files


@pytest.mark.parametrize(
    ("arguments", "near", "status"),
    [
        (["fak"], "did you mean fake?", 2),
        (["fake", "--set", "train.learnin_rate=1"], "--set train.learning_rate=1", 2),
        (["fake", "--set", "learning_rate=1"], "--set train.learning_rate=1", 2),
        (["fake", "--set", "environment.settings.gravty=1"], "--set environment.settings.gravity=1", 2),
        (["fake", "--set", "train.anneal_lr=cosin"], 'did you mean "cosine"?', 1),
        (["fake", "--set", "train.num_envs=8.0"], "write 8", 1),
        (["fake", "--set", "train.num_envs=2e3"], "write 2000", 1),
        (["fake", "--set", "train.num_envs=true"], "an integer", 1),
        (["fake", "--set", "train.gamma=1.5"], "the nearest valid value is 1", 1),
        (["fake", "--set", "train.gamma=NaN"], "a finite number", 1),
        (["fake", "--set", "train.num_envs=1000"], "num_envs 1024", 1),
        (["fake", "--profile", "4.1"], 'use "4.0"', 2),
        (["fake", "--sett", "train.seed=1"], "did you mean --set?", 2),
        (["fake", "--outt=x"], "did you mean --out?", 2),
        (["fake", "--set", "run=x"], "run is not chosen with --set", 2),
        (["fake", "--run", "$(x)"], "schema.pattern", 1),
        (["fake", "more"], "unexpected argument", 2),
        (["fake", "--goal", "high"], "wrong type", 1),
        (["fake", "--steps", "1e6"], "write 1000000", 1),
        (["fake", "--device", "gpu"], "schema.enum", 1),
        (["fake", "--device", "cuda"], 'use "cpu", or profile 3.0', 1),
        (["fake", "--set", "train.bptt_horizon=16"], "--set train.horizon=16", 2),
        (["fake", "--set", "num_threads=4"], "--set vectorization.num_workers=4", 2),
        (["fake", "--set", "train.batch_size=4"], "--set", 2),
        (["fake", "--machine", "gone.json"], "file.unreadable", 2),
        (["fake", "--contract", "gone.json"], "file.unreadable", 2),
        (["--explain", "train.learnin_rate"], "did you mean train.learning_rate?", 2),
        (["--explain", "seed"], "did you mean train.seed or evaluation.seed?", 2),
        (["--explain", "bptt_horizon"], "the field is train.horizon", 2),
        (["--explain", "sweep"], "not part of a plan", 2),
        ([], "required", 2),
    ],
)
def test_a_wrong_choice_names_the_nearest_valid_one(
    bundle: Bundle, arguments: list[str], near: str, status: int
) -> None:
    result = bundle.run("make_plan", *arguments)
    assert (near in result.stderr, result.returncode) == (True, status), result.stderr
    assert "Traceback" not in result.stderr


def test_validate_names_every_mistake_of_a_plan(bundle: Bundle) -> None:
    path = bundle.plan()
    document = json.loads(path.read_text())
    document["train"]["lerning_rate"] = 3
    document["train"]["num_envs"] = "8"
    document["limits"]["wall_seconds"] = 0
    path.write_text(json.dumps(document))
    report = bundle.json("validate_plan", str(path))
    assert report["exit_status"] == 1
    assert {(finding["code"], finding["pointer"]) for finding in report["findings"]} == {
        ("schema.unknown_key", "/train/lerning_rate"),
        ("schema.type", "/train/num_envs"),
        ("schema.range", "/limits/wall_seconds"),
    }


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b'{"a":1,"a":2}', 1, "json.duplicate_key"),
        (b"[" * 100_000, 1, "json.depth"),
        (b"\xef\xbb\xbf{}", 1, "json.bom"),
        (b" " * (2 << 20), 1, "json.size"),
        (b"[]", 1, "schema.type"),
        (None, 2, "file.unreadable"),
    ],
)
def test_hostile_files_end_in_one_clean_finding(bundle: Bundle, content: bytes | None, status: int, code: str) -> None:
    path = bundle.work / "plan.json"
    if content is not None:
        path.write_bytes(content)
    result = bundle.run("validate_plan", "plan.json")
    assert result.returncode == status
    assert code in result.stderr and "Traceback" not in result.stderr
    assert len(result.stderr) < 2000


def test_a_plan_for_an_environment_outside_the_bundle_needs_a_person(bundle: Bundle) -> None:
    folder = bundle.work / "mine" / "fake"
    folder.mkdir(parents=True)
    (folder / "fake.h").write_text((bundle.root / "native_profile/pufferlib/ocean/fake/fake.h").read_text())
    report = bundle.json("make_plan", "fake", "--env-path", "mine/fake")
    assert report["plan"]["environment"]["path"] == str(folder.resolve())
    assert report["tier"] == "person"
    missing = bundle.run("make_plan", "other", "--env-path", "mine/fake")
    assert missing.returncode == 2 and "holds no other.h" in missing.stderr


def test_text_from_an_environment_is_escaped(bundle: Bundle) -> None:
    header = bundle.root / "native_profile/pufferlib/ocean/fake/fake.h"
    header.write_text(header.read_text().replace("Does nothing", "\x1b[31mIgnore\u200b\u202e all"))
    result = bundle.run("make_plan", "fake", "--out", "p.json")
    assert result.returncode == 0
    assert "\\x1b[31mIgnore\\u200b\\u202e all" in result.stdout
    assert "\x1b" not in result.stdout and "\u202e" not in result.stdout


def test_every_field_has_the_reason_for_its_value(bundle: Bundle) -> None:
    """But the name of the format and what the command line names."""
    choices = ["--goal", "100", "--set", "train.gamma=0.9"]
    report = bundle.json("make_plan", "fake", *choices, "--steps", "500000")
    plan, reasons = report["plan"], report["reasons"]
    fields = {
        f"{section}.{key}" if isinstance(value, dict) else section
        for section, value in plan.items()
        for key in (value if isinstance(value, dict) else [section])
    }
    unexplained = {"schema", "environment.name", "environment.api", "environment.settings"}
    assert fields - reasons.keys() == unexplained
    for name in ("train.target_return", "train.gamma", "train.total_timesteps"):
        assert reasons[name] == "your choice"
    assert (plan["train"]["target_return"], plan["train"]["total_timesteps"]) == (100, 500000)
    assert reasons["train.seed"] == "default of profile 4.0"
    assert "train.seed" in reasons["evaluation.seed"]
    report = bundle.json("make_plan", "fake")
    assert "fake/train.json" in report["reasons"]["train.total_timesteps"]
    assert "fake/train.json" in report["reasons"]["train.target_return"]


def test_people_see_numbers_and_reasons(bundle: Bundle) -> None:
    shown = bundle.run("make_plan", "fake", "--out", "p.json").stdout
    for words in ("segments", "gradient steps", "a checkpoint", "train.seed", "default of profile 4.0"):
        assert words in shown
    checked = bundle.run("validate_plan", "p.json").stdout
    for words in ("segments", "gradient_steps", "rollout_bytes", "disk_bytes"):
        assert words in checked


def test_a_field_is_explained_without_an_environment(bundle: Bundle) -> None:
    shown = bundle.run("make_plan", "--explain", "train.minibatch_size").stdout
    for words in ("Agent steps in one gradient step", "integer", "1 to 2147483647", "4096", "profile 4.0", "batch"):
        assert words in shown
    field = bundle.json("make_plan", "fake", "--explain", "train.total_timesteps")["field"]
    assert (field["default"], "fake/train.json" in field["why"]) == (1000000, True)
    assert bundle.json("make_plan", "--explain", "horizon")["field"]["name"] == "train.horizon"
    three = bundle.json("make_plan", "--explain", "horizon", "--profile", "3.0")["field"]
    assert three["default"] == 64 and "3.0" in three["why"]


def test_every_field_of_the_schema_can_be_explained() -> None:
    fields = plan_fields.every()
    assert len(fields) > 70
    for field in fields.values():
        assert field.meaning and field.kind, field
    assert plan_fields.INTERACTIONS.keys() <= fields.keys()


def test_a_plan_for_another_machine_is_checked_against_it(bundle: Bundle) -> None:
    small = machine.Machine("Linux", "x86_64", "3.11", 1, 1 << 30, 1 << 20, 1 << 20, (), None, {}, ())
    (bundle.work / "small.json").write_text(json.dumps(small.as_json()))
    report = bundle.json("make_plan", "fake", "--machine", "small.json")
    codes = {finding["code"]: finding["severity"] for finding in report["findings"]}
    assert codes == {"budget.disk_free": "error", "memory.machine": "warning"}
    path = bundle.plan()
    report = bundle.json("validate_plan", str(path), "--machine", "small.json")
    assert [f["code"] for f in report["findings"] if f["severity"] == "error"] == ["budget.disk_free"]
    report = bundle.json("make_plan", "fake", "--profile", "3.0", "--machine", "small.json")
    assert "memory.shared" in [finding["code"] for finding in report["findings"]]
    assert report["plan"]["vectorization"]["num_workers"] == 1


def test_a_visible_device_is_chosen_where_the_profile_can_train_on_it(bundle: Bundle) -> None:
    card = machine.Device("cuda", "card", 24 << 30)
    packages = {"torch": "2.9", "numpy": "2", "triton": "3"}
    large = machine.Machine("Linux", "x86_64", "3.11", 8, 64 << 30, 8 << 30, 100 << 30, (card,), "g++", packages, ())
    (bundle.work / "large.json").write_text(json.dumps(large.as_json()))
    for engine, device in (("4.0", "cpu"), ("3.0", "cuda")):
        report = bundle.json("make_plan", "fake", "--profile", engine, "--machine", "large.json")
        assert report["exit_status"] == 0 and report["plan"]["device"] == device
    assert "1 cuda device" in report["reasons"]["device"]


def test_every_environment_of_the_bundle_has_a_plan_for_every_profile() -> None:
    place = machine.Machine(
        "Linux", "x86_64", "3.11", 6, 64 << 30, 8 << 30, 100 << 30, (), "g++", {"torch": "2.9", "numpy": "2"}, ()
    )
    for name in environment_folder.built_in_names():
        for engine in profile.names():
            made = plan_making.with_reasons(name, None, [], "r", engine, None, place)
            read = plan.parse(plan.written(made.document), "plan")
            found = plan_rules.findings(read, profile.load(engine), plan_environment.load(read), place)
            assert [f for f in found if f.severity == "error"] == [], (name, engine)


def test_what_follows_from_a_choice_follows_it() -> None:
    place = machine.Machine("Linux", "x86_64", "3.11", 6, 64 << 30, 8 << 30, 100 << 30, (), "g++", {}, ())
    choices = ["train.num_envs=96", "train.horizon=10"]
    document = plan_making.with_reasons("cartpole", None, choices, "r", "3.0", None, place).document
    train, vectorization = document["train"], document["vectorization"]
    assert train["batch_size"] == 960 and 960 % train["minibatch_size"] == 0 and train["minibatch_size"] % 10 == 0
    assert (vectorization["envs_per_batch"], vectorization["num_workers"]) == (96, 6)
    choices = ["train.num_envs=96", "train.batch_size=1920", "vectorization.num_workers=3", "evaluation.seed=5000"]
    document = plan_making.with_reasons("cartpole", None, choices, "r", "3.0", None, place).document
    assert document["train"]["batch_size"] == 1920 and document["vectorization"]["num_workers"] == 3
    assert document["evaluation"]["seed"] == 5000


def test_planning_is_a_matter_of_milliseconds() -> None:
    """The quickstart does it before anybody has seen a word: measured at 10 ms, without the start of Python."""
    began = time.perf_counter()
    document = plan_making.make("cartpole", None, [], "r")
    read = plan.parse(plan.written(document), "plan")
    plan_rules.findings(read, profile.load("4.0"), plan_environment.load(read))
    assert time.perf_counter() - began < 0.25

"""make_plan.py and validate_plan.py as a person and an agent use them."""

from __future__ import annotations

import json

import pytest

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
    before = path.read_bytes()
    assert json.loads(before)["policy"]["hidden"] == [32, 32]
    assert bundle.run("validate_plan", str(path)).returncode == 0
    again = bundle.run("make_plan", "fake", "--out", str(path))
    assert again.returncode == 1 and "file.exists" in again.stderr
    assert path.read_bytes() == before
    assert sorted(p.name for p in bundle.work.iterdir() if p.is_file()) == ["plan.json"]


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

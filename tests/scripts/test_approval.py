"""An approval allows one launch of exactly what was approved, by whom the tier asks for, while it lasts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _skill import clock, strict_json
from _skill.findings import Refusal
from _skill.gate import approval, digest
from _skill.plans import plan

from .gate_bundle import Bundle
from .test_schemas import PLAN


def launch_refused(bundle: Bundle, *arguments: str, **options) -> list[str]:
    """Launches with the approval, asserts refusal and that nothing at all was written; returns the messages."""
    before = bundle.files()
    report = bundle.json(
        "launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json", *arguments, **options
    )
    assert report["exit_status"] == 1
    assert bundle.files() == before
    assert not (bundle.work / "runs").exists()
    return [finding["message"] for finding in report["findings"]]


def edit(name: str) -> Callable[[Bundle], None]:
    def change(bundle: Bundle) -> None:
        path = bundle.root / name
        data = bytearray(path.read_bytes())
        # One bit, in a place where the file stays what it is.
        place = data.rindex(b" ")
        data[place : place + 1] = b"\n" if name.endswith(".h") else b"\t" if name.endswith("json") else b" "
        if not name.endswith((".h", "json")):
            data += b"\n"
        path.write_bytes(data)

    return change


def add(name: str) -> Callable[[Bundle], None]:
    def change(bundle: Bundle) -> None:
        (bundle.root / name).write_text("x")

    return change


CHANGES: list[tuple[Callable[[Bundle], None], str]] = [
    (edit("plan.json"), "plan has changed"),
    (edit("native_profile/pufferlib/__main__.py"), "engine pufferlib/__main__.py has changed"),
    (edit("native_profile/pufferlib/ocean/fake/fake.h"), "engine pufferlib/ocean/fake/fake.h has changed"),
    (edit("native_profile/pufferlib/ocean/fake/train.json"), "engine pufferlib/ocean/fake/train.json has changed"),
    (edit("native_profile/pins/4.0.json"), "profile 4.0 has changed"),
    (edit("scripts/launch.py"), "gate scripts/launch.py has changed"),
    (edit("scripts/_skill/gate/tier.py"), "gate scripts/_skill/gate/tier.py has changed"),
    (edit("schemas/plan.schema.json"), "gate schemas/plan.schema.json has changed"),
    (add("native_profile/pufferlib/json.py"), "engine pufferlib/json.py is new"),
    (lambda b: (b.root / "native_profile/pufferlib/__init__.py").unlink(), "engine pufferlib/__init__.py is gone"),
    (lambda b: b.variables.update(CXX="/bin/true"), "variable CXX is new"),
    (lambda b: b.variables.update(HOME="/elsewhere"), "variable HOME has changed"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES, ids=[message for _, message in CHANGES])
def test_whatever_changes_after_the_approval_is_refused_by_name(bundle: Bundle, change, message: str) -> None:
    bundle.plan()
    bundle.approve()
    change(bundle)
    assert any(message in found for found in launch_refused(bundle))


def test_another_interpreter_is_refused_by_name(bundle: Bundle) -> None:
    bundle.plan()
    bundle.approve()
    # The same program under another name, as a virtual environment has it.
    link = bundle.work / "python"
    link.symlink_to(os.path.realpath(sys.executable))
    before = bundle.files()
    command = bundle.command("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json", "--json")
    result = subprocess.run(
        [str(link), *command[1:]], cwd=bundle.work, env=bundle.variables, capture_output=True, text=True, check=False
    )
    messages = [finding["message"] for finding in json.loads(result.stdout)["findings"]]
    assert result.returncode == 1 and "interpreter path has changed since the approval" in messages
    assert bundle.files() == before


def test_a_changed_program_behind_the_same_path_changes_the_digest(bundle: Bundle, tmp_path: Path, monkeypatch) -> None:
    program = tmp_path / "python"
    program.write_bytes(b"one")
    monkeypatch.setattr(sys, "executable", str(program))
    before = digest.machine_items({})
    program.write_bytes(b"two")
    after = digest.machine_items({})
    assert [name for name in before if before[name] != after[name]] == ["interpreter program"]


def test_another_working_folder_is_refused_by_name(bundle: Bundle, tmp_path: Path) -> None:
    bundle.plan()
    bundle.approve()
    other = tmp_path / "other"
    other.mkdir()
    for name in ("plan.json", "plan.approval.json"):
        shutil.copy(bundle.work / name, other)
    bundle.work = other
    messages = launch_refused(bundle)
    assert "working folder has changed since the approval" in messages


def test_a_change_in_another_environment_changes_no_approval(bundle: Bundle) -> None:
    bundle.plan()
    bundle.approve()
    edit("native_profile/pufferlib/ocean/other/other.h")(bundle)
    report = bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")
    assert report["result"] == "complete"


def test_an_environment_folder_outside_is_covered_file_by_file_and_needs_a_person(
    bundle: Bundle, tmp_path: Path
) -> None:
    folder = tmp_path / "fake"
    folder.mkdir()
    shutil.copy(bundle.root / "native_profile/pufferlib/ocean/fake/fake.h", folder)
    (folder / "extra.h").write_text("int x;\n")
    opt_in = bundle.json("launch", "quickstart", "--env", "fake", "--env-path", str(folder), "--opt-in")
    assert [finding["code"] for finding in opt_in["findings"]] == ["tier.person"]
    assert not (bundle.work / "runs").exists()
    made = bundle.run(
        "make_plan",
        "fake",
        "--env-path",
        str(folder),
        "--set=environment.settings.mode=11",
        "--out",
        "plan.json",
        "--run",
        "r",
    )
    assert made.returncode == 0
    refused = bundle.run("approve", "plan.json", "--opt-in")
    assert refused.returncode == 1 and "tier.person" in refused.stderr
    bundle.approve()
    (folder / "extra.h").write_text("int y;\n")
    assert "environment extra.h has changed since the approval" in launch_refused(bundle)
    (folder / "extra.h").write_text("int x;\n")
    report = bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")
    seen = json.loads((bundle.work / "runs/r/seen.json").read_text())
    assert report["result"] == "complete"
    # The child is pointed at the private copy, not at the folder that anybody may still edit.
    assert seen["environment"] == ["extra.h", "fake.h"]
    assert str(folder) not in seen["arguments"]


@pytest.mark.parametrize("kind", ["link", "pipe", "folder link"])
def test_links_and_pipes_among_the_sources_are_refused(bundle: Bundle, kind: str) -> None:
    bundle.plan()
    place = bundle.root / "native_profile/pufferlib/more"
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/etc/hostname" if kind == "link" else "/etc")
    result = bundle.run("launch", "run", "--plan", "plan.json")
    assert result.returncode == 1 and "source.file" in result.stderr


def test_it_is_used_once(bundle: Bundle) -> None:
    bundle.plan()
    bundle.approve()
    first = bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")
    assert (first["exit_status"], first["result"]) == (0, "complete")
    shutil.rmtree(bundle.work / "runs/r")
    before = bundle.files()
    second = bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")
    assert [finding["code"] for finding in second["findings"]] == ["approval.used"]
    assert bundle.files() == before


def test_the_same_approval_with_its_keys_in_another_order_is_damaged_and_no_second_one(bundle: Bundle) -> None:
    bundle.plan()
    path = bundle.approve()
    document = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(document.items())), indent=2) + "\n")
    assert "the approval has been changed since it was written" in launch_refused(bundle)
    items = dict(reversed(document["items"].items()))
    path.write_text(strict_json.pretty({**document, "items": items}) + "\n")
    assert "the approval has been changed since it was written" in launch_refused(bundle)


def test_it_expires(bundle: Bundle) -> None:
    bundle.plan()
    bundle.approve("plan.json", "--expires-in", "1s")
    time.sleep(1.2)
    assert "the approval expired" in launch_refused(bundle)[0]


@pytest.mark.parametrize("duration", ["0s", "1", "h", "1.5h", "31d", "-1h", "1h ", "99999999s", ""])
def test_a_duration_is_whole_and_at_most_thirty_days(bundle: Bundle, duration: str) -> None:
    bundle.plan()
    result = bundle.run("approve", "plan.json", "--by", "Ada", f"--expires-in={duration}")
    assert (result.returncode, (bundle.work / "plan.approval.json").exists()) == (2, False)


def test_no_digest_that_anybody_supplies_counts(bundle: Bundle) -> None:
    # Field case F07: random digits, upper-case digits, another plan's approval, a digest inside the plan.
    bundle.plan()
    bundle.plan("train.seed=5", name="other.json", run="other")
    bundle.approve("other.json")
    approval_path = bundle.work / "plan.approval.json"
    shutil.copy(bundle.work / "other.approval.json", approval_path)
    assert "the approval is for something else" in launch_refused(bundle)
    approval_path.unlink()
    good = bundle.approve().read_bytes()
    right = json.loads(good)["digest"]
    for wrong in (right.upper(), os.urandom(32).hex()):
        approval_path.write_bytes(good.replace(right.encode(), wrong.encode()))
        launch_refused(bundle)
    approval_path.write_bytes(good)
    plan_path = bundle.work / "plan.json"
    plan_path.write_text(json.dumps({**json.loads(plan_path.read_text()), "digest": right}))
    # It is refused as something that looks like a key, and would be refused as an unknown key.
    assert "the value looks like a key of hexadecimal digits" in launch_refused(bundle)


def test_the_marker_of_two_launches_at_once_lets_one_pass(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/.gate/used").mkdir(parents=True)
    given_approval = example()
    approval.use(given_approval)
    with pytest.raises(Refusal) as caught:
        approval.use(given_approval)
    assert caught.value.findings[0].code == "approval.used"


def example(seconds: int = 60) -> approval.Approval:
    return approval.create(
        plan.parse(json.dumps(PLAN).encode(), "plan"), {"plan": "0" * 64}, "run", "person", "Ada", "", seconds
    )


def test_every_single_bit_change_of_an_approval_is_detected() -> None:
    data = example().data
    for index in range(len(data) * 8):
        changed = bytearray(data)
        changed[index // 8] ^= 1 << index % 8
        with pytest.raises(Refusal):
            approval.parse(bytes(changed), "approval")


def test_every_single_bit_change_of_a_plan_changes_its_digest() -> None:
    data = plan.written(PLAN)
    seen = {plan.parse(data, "plan").sha256}
    for index in range(len(data) * 8):
        changed = bytearray(data)
        changed[index // 8] ^= 1 << index % 8
        try:
            seen.add(plan.parse(bytes(changed), "plan").sha256)
        except Refusal:
            continue
    assert plan.parse(data, "plan").sha256 in seen and len(seen) > 100


def test_an_approval_from_the_future_or_with_impossible_times_is_refused() -> None:
    parsed = plan.parse(json.dumps(PLAN).encode(), "plan")
    given_approval = example()
    assert approval.findings(given_approval, parsed, {"plan": "0" * 64}, "run", "person") == []
    for created, expires in (
        ("2100-01-01T00:00:00Z", "2100-01-01T01:00:00Z"),
        ("2026-02-30T00:00:00Z", "2026-03-01T00:00:00Z"),
        ("2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"),
        ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"),
    ):
        document = {**given_approval.document, "created": created, "expires": expires}
        changed = approval.Approval(given_approval.data, document)
        found = approval.findings(changed, parsed, {"plan": "0" * 64}, "run", "person")
        assert [finding.code for finding in found] == ["approval.time"]


@given(st.integers(0, 253402300799))
def test_instants_are_read_back(seconds: int) -> None:
    assert clock.seconds_of(clock.instant(seconds)) == seconds


def test_opt_in_and_a_name_exclude_each_other(bundle: Bundle) -> None:
    bundle.plan()
    assert bundle.run("approve", "plan.json", "--by", "Ada", "--opt-in").returncode == 2
    assert bundle.run("approve", "plan.json").returncode == 2
    assert bundle.run("approve", "plan.json", "--by", "a\nb").returncode == 1
    assert bundle.run("approve", "plan.json", "--opt-in").returncode == 0

"""FC-F05 · Script changed between approval and run.

One byte of anything that an approval covers, changed in between, refuses the launch by that thing's name and leaves
nothing behind; also where the change comes after the last check. An approval is used once, and not for ever.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..scripts.gate_bundle import Bundle, build_bundle, modes


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return build_bundle(tmp_path / "bundle")


SHAPES = {"hidden.0": (64, 4), "actor": (2, 64), "critic": (1, 64)}
"""The stand-in's policy: four inputs, one hidden layer of 64, two actions, one value."""


def weights(seed: int = 1) -> bytes:
    """A small safetensors file of a policy's weights."""
    header: dict[str, Any] = {}
    size = 0
    for layer, shape in SHAPES.items():
        for name, part in (("weight", shape), ("bias", shape[:1])):
            count = 4 * part[0] * (part[1] if len(part) == 2 else 1)
            offsets = [size, size + count]
            header[f"policy.{layer}.{name}"] = {"dtype": "F32", "shape": list(part), "data_offsets": offsets}
            size += count
    words = json.dumps(header).encode()
    words += b" " * (-len(words) % 8)
    return len(words).to_bytes(8, "little") + words + bytes([seed] * size)


def warm_plan(bundle: Bundle, data: bytes = weights(), name: str = "start.safetensors") -> Path:
    """A plan that starts from weights, and the file of the weights."""
    path = bundle.root.parent / name
    path.write_bytes(data)
    bundle.plan(mode="shows")
    plan = json.loads((bundle.work / "plan.json").read_text())
    plan["start"] = {"kind": "warm", "checkpoint": str(path), "sha256": hashlib.sha256(data).hexdigest()}
    (bundle.work / "plan.json").write_text(json.dumps(plan))
    return path


def outside_plan(bundle: Bundle) -> Path:
    """A plan with an environment from outside the bundle, and its header."""
    folder = bundle.root.parent / "outside" / "fake"
    folder.mkdir(parents=True)
    shutil.copy(bundle.root / "native_profile/pufferlib/ocean/fake/fake.h", folder)
    words = ["--env-path", str(folder), "--run", "r", "--out", "plan.json"]
    assert bundle.run("make_plan", "fake", *words).returncode == 0
    return folder / "fake.h"


def launch(bundle: Bundle, **options: Any) -> dict[str, Any]:
    return bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json", **options)


def flip(path: Path, place: int = -1) -> None:
    """Changes one byte so that the file stays what it is: a space of a text becomes a tab, or a byte another one."""
    data = bytearray(path.read_bytes())
    at = data.rfind(b" ") if place < 0 and b" " in data else place
    data[at] = 9 if data[at] == 32 else data[at] ^ 1
    path.write_bytes(data)


def in_bundle(name: str) -> Callable[[Bundle], None]:
    return lambda bundle: flip(bundle.root / name)


def own_policy(bundle: Bundle) -> None:
    document = json.loads((bundle.root / "launch_policy.json").read_text())
    document["allowed_signers"] = "allowed_signers"
    (bundle.root / "launch_policy.json").write_text(json.dumps(document))
    (bundle.root / "allowed_signers").write_text("ada@example.org ssh-ed25519 AAAA\n")
    (bundle.root / "allowed_signers").chmod(0o644)


def own_compiler(bundle: Bundle) -> None:
    path = bundle.root.parent / "compiler"
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)
    bundle.variables["CXX"] = str(path)


def planned_with(prepare: Callable[[Bundle], None]) -> Callable[[Bundle], None]:
    def both(bundle: Bundle) -> None:
        prepare(bundle)
        bundle.plan()

    return both


CHANGES: dict[str, tuple[Callable[[Bundle], object], Callable[[Bundle], object]]] = {
    "plan": (Bundle.plan, in_bundle("plan.json")),
    "gate scripts/launch.py": (Bundle.plan, in_bundle("scripts/launch.py")),
    "gate scripts/_skill/process/isolation.py": (Bundle.plan, in_bundle("scripts/_skill/process/isolation.py")),
    "gate schemas/approval.schema.json": (Bundle.plan, in_bundle("schemas/approval.schema.json")),
    "engine pufferlib/__main__.py": (Bundle.plan, in_bundle("native_profile/pufferlib/__main__.py")),
    "engine pufferlib/ocean/fake/fake.h": (Bundle.plan, in_bundle("native_profile/pufferlib/ocean/fake/fake.h")),
    "engine pufferlib/sitecustomize.py": (
        Bundle.plan,
        lambda b: (b.root / "native_profile/pufferlib/sitecustomize.py").write_text(""),
    ),
    "profile 4.0": (Bundle.plan, in_bundle("native_profile/pins/4.0.json")),
    "policy bundle": (Bundle.plan, in_bundle("launch_policy.json")),
    "allowed signers bundle": (
        planned_with(own_policy),
        lambda b: (b.root / "allowed_signers").write_text("bob@example.org ssh-ed25519 AAAA\n"),
    ),
    "environment fake.h": (outside_plan, lambda b: flip(b.root.parent / "outside/fake/fake.h")),
    "environment extra.h": (outside_plan, lambda b: (b.root.parent / "outside/fake/extra.h").write_text("int x;")),
    "variable HOME": (Bundle.plan, lambda b: b.variables.update(HOME=str(b.root))),
    "variable XDG_CACHE_HOME": (Bundle.plan, lambda b: b.variables.update(XDG_CACHE_HOME=str(b.root / "cache"))),
    "compiler program": (planned_with(own_compiler), lambda b: flip(b.root.parent / "compiler")),
    "compiler path": (Bundle.plan, own_compiler),
}


@pytest.mark.parametrize("item", CHANGES)
def test_one_byte_of_any_item_refuses_the_launch_by_name_and_leaves_nothing(bundle: Bundle, item: str) -> None:
    prepare, change = CHANGES[item]
    prepare(bundle)
    bundle.approve()
    change(bundle)
    before = bundle.files()
    report = launch(bundle)
    assert report["exit_status"] == 1
    named = [finding["message"] for finding in report["findings"] if finding["code"] == "digest.changed"]
    assert any(message.startswith(f"{item} ") for message in named), report["findings"]
    assert bundle.files() == before and not (bundle.work / "runs").exists()


def test_unchanged_it_runs_once_and_not_a_second_time(bundle: Bundle) -> None:
    bundle.plan()
    bundle.approve()
    assert launch(bundle)["result"] == "complete"
    assert launch(bundle)["exit_status"] == 1
    shutil.rmtree(bundle.work / "runs/r")
    assert [finding["code"] for finding in launch(bundle)["findings"]] == ["approval.used"]


def test_without_the_marks_the_run_s_own_log_knows_a_used_approval(bundle: Bundle) -> None:
    bundle.plan(mode="killed")
    assert bundle.run("launch", "run", "--plan", "plan.json", "--opt-in").returncode == 1
    assert bundle.run("approve", "runs/r", "--by", "Ada", "--out", "again.json").returncode == 0
    # The stand-in dies again, and leaves the same manifest and checkpoint.
    bundle.run("launch", "resume", "runs/r", "--approval", "again.json")
    shutil.rmtree(bundle.work / "runs/.gate")
    report = bundle.json("launch", "resume", "runs/r", "--approval", "again.json")
    assert [finding["code"] for finding in report["findings"]] == ["approval.used"]


def test_a_clock_that_goes_backwards_brings_no_approval_to_life(bundle: Bundle) -> None:
    bundle.plan()
    bundle.approve()
    assert launch(bundle)["result"] == "complete"
    (mark,) = (bundle.work / "runs/.gate/used").iterdir()
    later = mark.stat().st_mtime + 7200
    os.utime(mark, (later, later))
    bundle.plan(name="two.json", run="two")
    bundle.approve("two.json")
    report = bundle.json("launch", "run", "--plan", "two.json", "--approval", "two.approval.json")
    assert [finding["code"] for finding in report["findings"]] == ["clock.backwards"]


def test_weights_of_a_warm_start_run_from_a_private_copy(bundle: Bundle) -> None:
    path = warm_plan(bundle)
    bundle.approve()
    report = launch(bundle)
    assert report["result"] == "complete", report["findings"]
    seen = json.loads((bundle.work / "runs/r/seen.json").read_text())
    copy = bundle.work / "runs/r/start.safetensors"
    assert seen["arguments"][-2:] == ["--start-from", str(copy)] and str(path) not in seen["arguments"]
    assert copy.read_bytes() == path.read_bytes()
    flip(copy, len(weights()) - 1)
    assert bundle.json("audit", "verify", "runs/r")["exit_status"] == 1


@pytest.mark.parametrize("change", ["byte", "gone", "link", "folder", "pipe"])
def test_weights_that_change_after_the_approval_are_refused(bundle: Bundle, change: str) -> None:
    path = warm_plan(bundle)
    bundle.approve()
    other = path.with_name("other.safetensors")
    other.write_bytes(weights())
    if change == "byte":
        flip(path, len(weights()) - 1)
    else:
        path.unlink()
    if change == "link":
        path.symlink_to(other)
    elif change == "folder":
        path.mkdir()
    elif change == "pipe":
        os.mkfifo(path)
    before = bundle.files()
    report = launch(bundle)
    places = [finding["pointer"] for finding in report["findings"] if finding["severity"] == "error"]
    assert report["exit_status"] in (1, 2) and places[0] in ("/start/checkpoint", "/start/sha256", str(path))
    assert bundle.files() == before and not (bundle.work / "runs").exists()


SWAP = """
import os, sys
sys.path.insert(0, "scripts")
from _skill.gate import approval, launch, launch_request
from _skill.plans import plan
from _skill.findings import Refusal, Report
request = launch_request.build(plan.read("plan.json"))
given = approval.create(request.plan, request.items, "run", request.tier, "Ada", "", 60)
exec(compile(sys.argv[1], "change", "exec"))
try:
    launch.launch(request, given, Report("race", False))
except Refusal as refusal:
    print(refusal.exit_status, refusal.findings[0].code, os.path.exists("runs"))
"""


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("open('../start.safetensors', 'r+b').write(b'x')", "start.changed"),
        ("os.replace('../other.safetensors', '../start.safetensors')", "start.changed"),
        ("os.remove('../start.safetensors'); os.symlink('other.safetensors', '../start.safetensors')", "file.kind"),
        ("open('native_profile/pufferlib/new.py', 'w').close()", "digest.changed"),
        ("os.rename('native_profile/pufferlib/ocean/fake/fake.h', 'x'); "
         "os.symlink(os.path.abspath('x'), 'native_profile/pufferlib/ocean/fake/fake.h')", "source.file"),
        ("os.rename('native_profile/pufferlib/ocean/fake', 'x'); "
         "os.symlink(os.path.abspath('x'), 'native_profile/pufferlib/ocean/fake')", "source.file"),
        ("os.mkdir('runs'); os.symlink('/', 'runs/.gate')", "run.place"),
    ],
)  # fmt: skip
def test_a_swap_between_the_last_check_and_the_copy_is_refused_too(bundle: Bundle, change: str, code: str) -> None:
    warm_plan(bundle)
    (bundle.root.parent / "other.safetensors").write_bytes(weights(2))
    command = [sys.executable, "-c", SWAP, change]
    result = subprocess.run(
        command, cwd=bundle.work, env=bundle.variables, capture_output=True, text=True, check=False, timeout=30
    )
    assert result.stdout.split()[:2] == [result.stdout.split()[0], code], result.stderr
    assert not (bundle.work / "runs/r").exists()


def test_every_mode_of_the_stand_in_has_a_number_of_its_own() -> None:
    assert len(set(modes().values())) == len(modes())

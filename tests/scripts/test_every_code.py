"""Answers about plans and about the system that no other test asks for, each by its code, place and remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _skill import command_line, machine
from _skill.findings import Finding, Report
from _skill.plans import plan, plan_environment, plan_rules, profile

from ..field.plan_files import MACHINE, PLAN_3, PLAN_4, changed
from .gate_bundle import build_bundle


def errors(folder: Path, document: dict[str, Any], **changes: Any) -> list[Finding]:
    """What is wrong with a plan on a machine that has everything."""
    named = {name.replace("__", "."): value for name, value in changes.items()}
    read = plan.parse(json.dumps(changed(document, named)).encode(), "plan")
    (folder / "machine.json").write_text(json.dumps(MACHINE))
    here = machine.read(str(folder / "machine.json"))
    found = plan_rules.findings(read, profile.load(read.document["profile"]), plan_environment.load(read), here)
    return [finding for finding in found if finding.severity == "error"]


def test_a_backend_that_is_serial_has_one_worker(tmp_path: Path) -> None:
    serial = {"vectorization__backend": "serial", "vectorization__start_method": None}
    (finding,) = errors(tmp_path, PLAN_3, **serial, vectorization__num_workers=2)
    assert (finding.code, finding.pointer) == ("vector.serial", "/vectorization/num_workers")
    assert (finding.got, finding.want, finding.fix) == ("2", "1", "num_workers 1")
    assert errors(tmp_path, PLAN_3, **serial, vectorization__num_workers=1) == []


def test_a_checkpoint_behind_a_link_is_named_by_its_own_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "w.safetensors").write_bytes(b"")
    (tmp_path / "link").symlink_to("real")
    path = tmp_path / "link" / "w.safetensors"
    (finding,) = errors(tmp_path, PLAN_4, start={"kind": "warm", "checkpoint": str(path), "sha256": "0" * 64})
    assert (finding.code, finding.pointer) == ("start.path", "/start/checkpoint")
    assert str(tmp_path / "real" / "w.safetensors") in finding.fix


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ([], "native_profile/pufferlib/ocean/fake/train.json"),
        ({"training": {}}, "native_profile/pufferlib/ocean/fake/train.json"),
        ({"train": 5}, "native_profile/pufferlib/ocean/fake/train.json#/train"),
        ({"train": {"horizn": 8}}, "/train/horizn"),
    ],
)
def test_first_settings_of_an_environment_have_the_keys_of_a_plan(document: object, place: str, tmp_path: Path) -> None:
    bundle = build_bundle(tmp_path / "bundle")
    (bundle.root / "native_profile/pufferlib/ocean/fake/train.json").write_text(json.dumps(document))
    report = bundle.json("make_plan", "fake", "--run", "r", "--out", "plan.json")
    (finding,) = report["findings"]
    assert (report["exit_status"], finding["code"], finding["pointer"]) == (2, "environment.training", place)
    assert place[0] != "/" or finding["fix"] == "did you mean horizon?"
    assert not (bundle.work / "plan.json").exists()


def answer(body: Callable[[], None]) -> tuple[int, list[Finding]]:
    def tool(_: object, report: Report) -> int:
        body()
        return report.finish(0, "done")

    report = Report("tool", True)
    return command_line._guarded(tool, [], report), report.findings


def test_what_the_system_refuses_is_could_not_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def read() -> None:
        (tmp_path / "nowhere").read_bytes()

    status, (finding,) = answer(read)
    assert (status, finding.code) == (2, "system.error")
    assert (finding.message, finding.pointer) == ("No such file or directory", str(tmp_path / "nowhere"))
    assert json.loads(capsys.readouterr().out)["exit_status"] == 2


@pytest.mark.parametrize("number", [5, 28])
def test_an_error_of_the_system_names_the_file(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        raise OSError(number, "the reason", "a/file")

    status, (finding,) = answer(fails)
    assert (status, finding) == (2, Finding("system.error", "the reason", "a/file"))

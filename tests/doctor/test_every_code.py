"""Each line that keeps a profile from running becomes a finding: its code, its exit status, and what mends it."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from _skill import machine
from _skill.doctor import examination, packages, profiles, resources, system
from _skill.doctor.row import COULD_NOT, MISSING, Request, Row
from _skill.findings import Report
from _skill.plans import profile as plan_profiles
from _skill.process import process_tree

from ..docs.test_error_catalogue import catalogue

doctor = importlib.import_module("doctor")


def request(folder: str = ".", **changes: Any) -> Request:
    return Request(machine.measure(programs=False)._replace(**changes), folder, False)


@functools.cache
def examined() -> list[Row]:
    """The lines of this machine; a compiler runs for them, so once."""
    return examination.examine(request())


def answer(monkeypatch: pytest.MonkeyPatch, *rows: Row, profile: str = "4.0") -> tuple[int, list[Any]]:
    """Exit status and findings of the tool where these lines stand in place of those of their names."""
    names = {row.name for row in rows}
    others = [row for row in examined() if row.name not in names]
    monkeypatch.setattr(examination, "examine", lambda _: [*others, *rows])
    report = Report("doctor", True)
    return doctor.main(["--profile", profile], report), report.findings


@pytest.fixture(autouse=True)
def quiet(capsys: pytest.CaptureFixture[str]) -> None:
    """The reports are read from memory; this machine is looked at before a test changes what it seems to be."""
    examined()


def lacking(row: Row, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is one that is missing, under this code, and the tool says so with its remedy."""
    assert (row.state, row.code) == (MISSING, code), row
    status, findings = answer(monkeypatch, row)
    (finding,) = findings
    assert (status, finding.code, finding.got, finding.fix) == (1, code, row.found, row.fix)


def only(rows: list[Row], name: str) -> Row:
    (row,) = (row for row in rows if row.name == name)
    return row


def test_a_python_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "OLDEST_PYTHON", (99, 0))
    lacking(only(system.check(request()), "python"), "doctor.python", monkeypatch)


@pytest.mark.parametrize("what", ["macOS", "no /proc"])
def test_a_system_on_which_nothing_can_be_launched(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        if what == "macOS":
            patched.setattr(sys, "platform", "darwin")
        else:
            patched.setattr(process_tree, "VISIBLE", False)
        row = only(system.check(request()), "system")
    lacking(row, "doctor.system", monkeypatch)


@pytest.mark.parametrize("what", ["full", "not writable"])
def test_a_folder_that_cannot_hold_a_run(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    free = 1 << 20 if what == "full" else 1 << 40
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda *_: what == "full")
        row = only(resources.check(request(disk_free_bytes=free)), "disk")
    lacking(row, "doctor.disk", monkeypatch)


def test_a_folder_whose_room_is_unknown_could_not_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    row = only(resources.check(request(disk_free_bytes=None)), "disk")
    assert row.state == COULD_NOT
    status, (finding,) = answer(monkeypatch, row)
    assert (status, finding.code) == (2, "doctor.disk")


def test_a_folder_for_the_engine_that_cannot_be_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda *_: False)
        row = only(resources.check(request()), "cache")
    assert "PUFFER_CACHE" in row.fix
    lacking(row, "doctor.cache", monkeypatch)


def test_an_extension_for_another_python_counts_for_a_profile_of_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch-2.9.0.dist-info").mkdir()
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "_C.cpython-35m-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
    monkeypatch.syspath_prepend(str(tmp_path))
    rows = [row for row in packages.check(request()) if row.name.startswith("extension torch/")]
    assert [(row.state, row.code) for row in rows] == [(MISSING, "doctor.extension")]
    status, findings = answer(monkeypatch, *rows, profile="3.0")
    (finding,) = (finding for finding in findings if finding.code == "doctor.extension")
    assert status == 1 and "cpython-35m" in finding.message + finding.got and finding.fix


def test_a_profile_that_is_not_launched_yet_says_which_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    status, findings = answer(monkeypatch, profile="3.0")
    (finding,) = (finding for finding in findings if finding.code == "doctor.profile")
    assert (status, finding.got, finding.fix) == (1, "3.0", "use --profile 4.0")


def test_every_line_that_a_profile_needs_has_its_code_in_the_catalogue() -> None:
    known, rows = catalogue(), examined()
    needed = {Row(name, MISSING, "").code for name in (*profiles._ALWAYS, "compiler", "package x", "extension x/y")}
    assert needed <= known.keys()
    assert {row.name for row in rows} >= set(profiles._ALWAYS)
    for name in plan_profiles.names():
        for lack in profiles.judge(request(), [row._replace(state=MISSING) for row in rows], name).lacks:
            assert lack.code in known, lack

"""Each weakness of a skill has a bundle that shows it: its code, its severity, and where it is."""

from __future__ import annotations

import base64
import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest

from _skill.findings import Finding, Refusal
from _skill.skills import answers, bundle, lint
from _skill.skills.bundle import Bundle

from . import bundles


def found(root: Path, **options: Any) -> list[Finding]:
    return lint.check(Bundle(str(root), **options))


def head(lines: str) -> bundles.Files:
    return bundles.head(f"name: a-skill\ndescription: Checks a plan.\n{lines}")


NOISE = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(20))


@pytest.mark.parametrize(
    ("code", "severity", "place", "files"),
    [
        ("front_matter.comment", "warning", "SKILL.md:4", head("# why\nlicense: MIT")),
        ("front_matter.comment", "error", "SKILL.md:4", head('license: "MIT" # why')),
        ("front_matter.indent", "error", "SKILL.md:6", head("metadata:\n   a: b\n  c: d")),
        ("hidden.alt", "warning", "SKILL.md:8", bundles.body('[x](https://example.org "' + "long " * 30 + '")')),
        ("hidden.encoded_data", "warning", "references/x.md:3", bundles.reference(base64.b64encode(NOISE).decode())),
        ("hidden.private_use", "warning", "references/x.md:3", bundles.reference("a sign \ue000 of its own")),
        ("program.backticks", "warning", "scripts/x.sh:2", bundles.shell("now=`date`")),
        ("program.privileged", "warning", "scripts/x.sh:2", bundles.shell("sudo ls")),
        ("skill.allowed_tools", "error", "SKILL.md:4", head('allowed-tools: ""')),
        ("skill.license", "error", "SKILL.md:4", head('license: " "')),
        ("text.bom", "warning", "references/x.md:1", {"references/x.md": b"\xef\xbb\xbf# X\n"}),
    ],
)
def test_a_weakness_is_named_with_its_line(
    code: str, severity: str, place: str, files: bundles.Files, tmp_path: Path
) -> None:
    (finding,) = (finding for finding in found(bundles.write(tmp_path, files)) if finding.code == code)
    assert (finding.severity, finding.pointer) == (severity, place)
    assert not [other for other in found(bundles.write(tmp_path / "good", {})) if other.code == code]


def test_a_name_with_a_vendor_s_name_is_warned_about(tmp_path: Path) -> None:
    root = bundles.write(tmp_path, bundles.head("name: claude-checks\ndescription: Checks a plan."))
    (finding,) = found(root, name="claude-checks")
    assert (finding.code, finding.severity, finding.got) == ("skill.name_vendor", "warning", "claude")


def test_more_to_read_than_is_read_could_not_be_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MAX_TOTAL_BYTES", 1000)
    root = bundles.write(tmp_path, bundles.reference("x" * 1000))
    with pytest.raises(Refusal) as caught:
        Bundle(str(root))
    assert ([f.code for f in caught.value.findings], caught.value.exit_status) == (["bundle.size"], 2)
    Bundle(str(root), leave_out=("references",))


def test_a_check_that_takes_too_long_ends_as_no_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Bundle(str(bundles.write(tmp_path, bundles.reference("x"))))
    monkeypatch.setattr(opened, "_deadline", 0.0)
    with pytest.raises(Refusal) as caught:
        lint.check(opened)
    assert ([f.code for f in caught.value.findings], caught.value.exit_status) == (["bundle.time"], 2)


@pytest.mark.parametrize("name", ["nowhere", "file", "a\0b"])
def test_a_folder_that_cannot_be_opened_could_not_be_checked(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Refusal) as caught:
        Bundle(str(tmp_path / name))
    assert ([f.code for f in caught.value.findings], caught.value.exit_status) == (["bundle.unreadable"], 2)


def answered(tmp_path: Path, text: str) -> list[Finding]:
    return answers.check(Bundle(str(bundles.write(tmp_path, bundles.script(text)))))


def test_a_help_of_more_than_a_screen_is_warned_about(tmp_path: Path) -> None:
    (finding,) = answered(tmp_path, f"print('line\\n' * {answers.LONGEST_LINES})")
    assert (finding.code, finding.severity, finding.got) == ("script.long_help", "warning", "61 lines")


def test_a_script_that_cannot_be_started_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    (finding,) = answered(tmp_path, "print('help')")
    assert (finding.code, finding.severity, finding.pointer) == ("script.not_run", "error", "scripts/x.py")

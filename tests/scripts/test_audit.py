"""The audit log: any edit, removal, reorder or doubling is found, and the first bad record is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _skill.findings import Refusal
from _skill.gate import audit_log
from _skill.gate.audit_log import HEAD, LOG, AuditLog

from .gate_bundle import Bundle


def small(folder: Path, count: int = 4) -> Path:
    log = AuditLog.create(str(folder))
    for number in range(count):
        log.append(("started" if number else "planned", {"number": number}))
    log.close()
    return folder / LOG


def first(path: Path) -> tuple[str, str]:
    finding = audit_log.verify(str(path)).findings[0]
    return finding.code, finding.message.split(":")[0]


def test_an_untouched_log_verifies(tmp_path: Path) -> None:
    verified = audit_log.verify(str(small(tmp_path)))
    assert verified.findings == [] and len(verified.records) == 4


def test_every_single_bit_change_of_the_log_and_of_its_anchor_is_found(tmp_path: Path) -> None:
    path = small(tmp_path, 2)
    for file in (path, tmp_path / HEAD):
        data = file.read_bytes()
        for index in range(len(data) * 8):
            changed = bytearray(data)
            changed[index // 8] ^= 1 << index % 8
            file.write_bytes(changed)
            assert audit_log.verify(str(path)).findings, (file.name, index)
        file.write_bytes(data)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda r: [r[0], r[1].replace(b'"number":1', b'"number":9'), *r[2:]], ("audit.changed", "record 1")),
        (lambda r: [r[0], *r[2:]], ("audit.order", "record 1")),
        (lambda r: [r[1], r[0], *r[2:]], ("audit.order", "record 0")),
        (lambda r: [r[0], r[1], r[1], *r[2:]], ("audit.order", "record 2")),
        (lambda r: r[:3], ("audit.removed", "record 3")),
        (lambda r: [], ("audit.removed", "record 0")),
        (lambda r: [*r, r[3]], ("audit.order", "record 4")),
        (lambda r: [*r[:3], r[3][:-5]], ("audit.torn", "record 3")),
        (lambda r: [*r[:3], b"{}\n"], ("audit.form", "record 3")),
        (lambda r: [*r[:3], r[3].replace(b",", b", ", 1)], ("audit.changed", "record 3")),
        (lambda r: [r[0], b"\n", *r[1:]], ("audit.unreadable", "record 1")),
    ],
)
def test_the_first_bad_record_is_named(tmp_path: Path, change, expected: tuple[str, str]) -> None:
    path = small(tmp_path)
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    assert first(path) == expected


def test_a_record_from_another_log_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    path = small(tmp_path / "a")
    other = AuditLog.create(str(tmp_path / "b"))
    for number in range(4):
        other.append(("started", {"number": number, "other": True}))
    other.close()
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = (tmp_path / "b" / LOG).read_bytes().splitlines(keepends=True)[2]
    path.write_bytes(b"".join(lines))
    assert first(path) == ("audit.chain", "record 2")
    path.write_bytes((tmp_path / "b" / LOG).read_bytes())
    assert first(path)[0] == "audit.anchor"


def test_a_missing_anchor_is_found(tmp_path: Path) -> None:
    path = small(tmp_path)
    (tmp_path / HEAD).unlink()
    assert first(path)[0] == "audit.anchor"


@given(st.data())
def test_an_append_that_was_cut_off_anywhere_is_mended_and_recorded(tmp_path_factory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("log")
    path = small(folder, 2)
    head = (folder / HEAD).read_bytes()
    size = path.stat().st_size
    log = AuditLog.reopen(str(folder))
    log.append(("started", {"number": 2}), ("ended", {"number": 3}))
    log.close()
    whole = path.read_bytes()
    # The crash: some of the new bytes are there, the anchor is still the old one.
    path.write_bytes(whole[: data.draw(st.integers(size + 1, len(whole)))])
    (folder / HEAD).write_bytes(head)
    assert audit_log.verify(str(path)).findings
    log = AuditLog.reopen(str(folder))
    log.close()
    verified = audit_log.verify(str(path))
    assert verified.findings == []
    assert [record["data"].get("number") for record in verified.records[:2]] == [0, 1]
    assert verified.records[-1]["event"] == "recovered"


def test_damage_is_never_mended(tmp_path: Path) -> None:
    path = small(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:-200])
    with pytest.raises(Refusal) as caught:
        AuditLog.reopen(str(tmp_path))
    assert caught.value.findings[0].code == "audit.torn"
    assert path.read_bytes() == data[:-200]


def test_two_processes_never_write_to_one_log(tmp_path: Path) -> None:
    log = AuditLog.create(str(tmp_path))
    log.append(("planned", {}))
    with pytest.raises(Refusal) as caught:
        AuditLog.reopen(str(tmp_path))
    assert caught.value.findings[0].code == "run.in_use"
    log.close()


def test_verify_names_every_file_that_changed_after_the_run(bundle: Bundle) -> None:
    bundle.launch(mode="good")
    run = bundle.work / "runs/r"
    names = sorted(path.name for path in run.iterdir() if not path.name.startswith("audit"))
    for name in names:
        data = (run / name).read_bytes()
        (run / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        report = bundle.json("audit", "verify", "runs/r")
        assert [finding["message"] for finding in report["findings"]] == [f"{name} has been changed"]
        (run / name).write_bytes(data)
    (run / "extra").write_text("x")
    assert bundle.json("audit", "verify", "runs/r")["findings"][0]["message"] == "extra is not in the log"


def test_show_prints_each_record_and_escapes_it(bundle: Bundle) -> None:
    bundle.plan()
    assert bundle.run("approve", "plan.json", "--by", "Ada\u202e\u200b").returncode == 0
    assert bundle.run("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json").returncode == 0
    shown = bundle.run("audit", "show", "runs/r/audit.jsonl")
    assert shown.returncode == 0
    assert [line.split()[2] for line in shown.stdout.splitlines()[:4]] == ["planned", "approved", "started", "ended"]
    assert "\u202e" not in shown.stdout and "Ada\\u202e\\u200b" in shown.stdout
    assert '"-S","-m","pufferlib","train","--plan"' in shown.stdout
    assert len(bundle.json("audit", "show", "runs/r")["log"]) == 4


def test_verify_says_what_it_cannot_prove(bundle: Bundle) -> None:
    bundle.launch(mode="good")
    assert "is not signed" in bundle.run("audit", "verify", "runs/r").stdout
    missing = bundle.run("audit", "verify", "runs/none")
    assert missing.returncode == 2
    assert json.loads(bundle.run("audit", "verify", "x", "--json").stdout)["status"] == "could not"

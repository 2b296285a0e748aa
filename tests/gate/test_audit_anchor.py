"""An anchor in another place shows a log that was forged, cut or begun anew since; any changed bit is found."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _skill.findings import Refusal
from _skill.gate import audit_anchor, audit_log, ssh_signature
from _skill.gate.audit_log import HEAD, LOG, AuditLog

from ..scripts.gate_bundle import Bundle
from .conftest import Keys


def codes(report: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in report["findings"]]


def small(folder: Path, count: int = 3, note: str = "") -> Path:
    log = AuditLog.create(str(folder))
    log.append(("planned", {"run": "r", "note": note}))
    for number in range(1, count):
        log.append(("started", {"number": number}))
    log.close()
    return folder / LOG


def test_an_anchor_is_taken_signed_and_verified_later(bundle: Bundle, keys: Keys, tmp_path: Path) -> None:
    assert bundle.launch(mode="good")["result"] == "complete"
    out = tmp_path / "r.anchor"
    taken = bundle.json("audit", "anchor", "runs/r", "--out", str(out), "--sign", keys.path("ada"))
    assert (taken["exit_status"], taken["anchor"]["records"]) == (0, 4)
    verify = ("audit", "verify", "runs/r", "--anchor", str(out))
    assert bundle.json(*verify)["exit_status"] == 0
    # With signers also the approval must be signed, which the run's own --opt-in is not.
    report = bundle.json(*verify, "--allowed-signers", str(keys.allowed))
    assert report["anchor_signer"]["principal"] == "ada@example.org" and codes(report) == ["signature.missing"]
    (tmp_path / "r.anchor.sig").unlink()
    report = bundle.json(*verify, "--allowed-signers", str(keys.allowed))
    assert codes(report) == ["signature.missing"] and report["exit_status"] == 1
    # A file of an anchor is never written over.
    assert bundle.json("audit", "anchor", "runs/r", "--out", str(out))["exit_status"] == 1


def test_an_anchor_signed_by_somebody_else_or_for_something_else_is_refused(
    bundle: Bundle, keys: Keys, tmp_path: Path
) -> None:
    bundle.launch(mode="good")
    out = tmp_path / "r.anchor"
    bundle.json("audit", "anchor", "runs/r", "--out", str(out), "--sign", keys.path("eve"))
    verify = ("audit", "verify", "runs/r", "--anchor", str(out), "--allowed-signers", str(keys.allowed))
    assert codes(bundle.json(*verify)) == ["signature.bad"]
    signature = ssh_signature.sign(keys.path("ada"), ssh_signature.APPROVAL, out.read_bytes())
    (tmp_path / "r.anchor.sig").write_bytes(signature)
    assert codes(bundle.json(*verify)) == ["signature.bad"]


def test_a_log_that_was_forged_with_its_head_is_found_by_an_anchor(tmp_path: Path) -> None:
    for name in ("mine", "forged"):
        (tmp_path / name).mkdir()
    path = small(tmp_path / "mine")
    anchor = audit_anchor.parse(audit_anchor.take("r", path.read_bytes()), "anchor")
    forged = small(tmp_path / "forged", note="other")
    assert audit_log.verify(str(forged)).findings == []
    found = audit_anchor.findings(anchor, forged.read_bytes(), "r", "anchor")
    assert [finding.code for finding in found] == ["anchor.changed"]
    shorter = small(tmp_path / "mine" / "..", 2)
    found = audit_anchor.findings(anchor, shorter.read_bytes(), "r", "anchor")
    assert [finding.code for finding in found] == ["anchor.removed"]
    assert [f.code for f in audit_anchor.findings(anchor, path.read_bytes(), "other", "a")] == ["anchor.other"]


def test_a_log_that_grew_since_still_fits_its_anchor(tmp_path: Path) -> None:
    path = small(tmp_path)
    anchor = audit_anchor.parse(audit_anchor.take("r", path.read_bytes()), "anchor")
    log = AuditLog.reopen(str(tmp_path))
    log.append(("ended", {"result": "complete"}))
    log.close()
    assert audit_anchor.findings(anchor, path.read_bytes(), "r", "anchor") == []


def test_a_log_that_does_not_verify_gets_no_anchor(bundle: Bundle, tmp_path: Path) -> None:
    bundle.launch(mode="good")
    log = bundle.work / "runs/r/audit.jsonl"
    log.write_text(log.read_text().replace("complete", "completed"))
    report = bundle.json("audit", "anchor", "runs/r", "--out", str(tmp_path / "a"))
    assert report["exit_status"] == 1 and not (tmp_path / "a").exists()


def flipped(data: bytes) -> list[bytes]:
    changed = []
    for index in range(len(data) * 8):
        copy = bytearray(data)
        copy[index // 8] ^= 1 << index % 8
        changed.append(bytes(copy))
    return changed


def test_every_single_bit_change_of_an_anchor_is_detected(tmp_path: Path) -> None:
    data = audit_anchor.take("r", small(tmp_path).read_bytes())
    for changed in flipped(data):
        with pytest.raises(Refusal):
            audit_anchor.parse(changed, "anchor")


def test_every_single_bit_change_of_a_log_is_detected_by_its_anchor_alone(tmp_path: Path) -> None:
    data = small(tmp_path, 2).read_bytes()
    anchor = audit_anchor.parse(audit_anchor.take("r", data), "anchor")
    for changed in flipped(data):
        assert audit_anchor.findings(anchor, changed, "r", "anchor")


def appended(folder: Path) -> tuple[bytes, bytes, bytes, bytes]:
    """A log before and after an append of two records, each with its head."""
    path = small(folder, 2)
    before, head_before = path.read_bytes(), (folder / HEAD).read_bytes()
    log = AuditLog.reopen(str(folder))
    log.append(("approved", {"number": 2}), ("ended", {"number": 3}))
    log.close()
    return before, head_before, path.read_bytes(), (folder / HEAD).read_bytes()


def recovered(folder: Path, log: bytes, head: bytes) -> list[dict[str, Any]]:
    """What a crash left, opened again: the records afterwards, which verify."""
    (folder / LOG).write_bytes(log)
    (folder / HEAD).write_bytes(head)
    AuditLog.reopen(str(folder)).close()
    verified = audit_log.verify(str(folder / LOG))
    assert verified.findings == []
    return verified.records


def test_a_power_cut_at_every_byte_of_an_append_is_mended(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    before, head, after, _ = appended(tmp_path)
    first = len(before) + after[len(before) :].index(b"\n") + 1
    for size in range(len(before), len(after) + 1):
        events = [record["event"] for record in recovered(tmp_path, after[:size], head)]
        whole = 2 + (size >= first) + (size == len(after))
        assert events[: min(whole, 4)] == ["planned", "started", "approved", "ended"][:whole]
        assert (events[-1] == "recovered") == (size > len(before))


TAILS: list[Callable[[bytes], bytes]] = [
    lambda tail: b"\0" * len(tail),
    lambda tail: b"\0" * 40 + tail[40:],
    lambda tail: tail[: tail.index(b"\n") + 1] + b"\0" * (len(tail) - tail.index(b"\n") - 1),
    lambda tail: tail[:50] + b"\0" * 50 + tail[100:],
    lambda tail: tail[tail.index(b"\n") + 1 :],
    lambda tail: os.urandom(len(tail)),
]


@pytest.mark.parametrize("change", TAILS)
def test_a_tail_that_reached_the_disk_out_of_order_is_cut_back(tmp_path: Path, change) -> None:
    before, head, after, _ = appended(tmp_path)
    records = recovered(tmp_path, before + change(after[len(before) :]), head)
    assert [record["event"] for record in records[:2]] == ["planned", "started"]
    assert records[-1]["event"] == "recovered"


def test_what_the_head_knows_is_never_mended(tmp_path: Path) -> None:
    _, _, after, head = appended(tmp_path)
    for size in range(len(after)):
        (tmp_path / LOG).write_bytes(after[:size])
        (tmp_path / HEAD).write_bytes(head)
        assert audit_log.verify(str(tmp_path / LOG)).findings
        if size % 16 == 0:
            with pytest.raises(Refusal):
                AuditLog.reopen(str(tmp_path))
            assert (tmp_path / LOG).read_bytes() == after[:size]


def test_a_run_that_writes_over_its_own_record_is_found_and_the_record_put_back(bundle: Bundle) -> None:
    report = bundle.launch(mode="tampers")
    assert (report["exit_status"], report["result"]) == (1, "tampered")
    named = sorted(finding["message"].split()[0] for finding in report["findings"] if finding["code"] == "run.tampered")
    assert named == ["approval.json", "audit.head", "audit.jsonl", "plan.json"]
    records = [json.loads(line) for line in (bundle.work / "runs/r/audit.jsonl").read_text().splitlines()]
    assert [record["event"] for record in records] == ["planned", "approved", "started", "ended"]
    assert records[-1]["data"]["result"] == "tampered"
    # The plan and the approval stay changed, and whoever verifies the run is told.
    verified = bundle.json("audit", "verify", "runs/r")
    assert {finding["message"] for finding in verified["findings"]} >= {"plan.json has been changed"}


def test_a_log_without_an_end_says_so_and_is_no_proof_of_success(bundle: Bundle) -> None:
    bundle.launch(mode="good")
    run = bundle.work / "runs/r"
    assert bundle.json("audit", "verify", "runs/r")["result"] == "complete"
    shutil.copytree(run, run.parent / "killed")
    lines = (run / LOG).read_text().splitlines(keepends=True)[:3]
    (run / LOG).write_text("".join(lines))
    records = [json.loads(line) for line in lines]
    (run / HEAD).write_bytes(audit_log._head(records, len("".join(lines))))
    report = bundle.json("audit", "verify", "runs/r")
    assert codes(report) == ["audit.open"] and report["result"] is None


def test_show_is_bounded(tmp_path: Path, bundle: Bundle, monkeypatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    folder = bundle.work / "runs/many"
    folder.mkdir(parents=True)
    log = AuditLog.create(str(folder))
    log.append(*[("started", {"number": number, "text": "x\x1b" * 3000}) for number in range(1100)])
    log.close()
    shown = bundle.run("audit", "show", "runs/many")
    assert "... 100 records before these" in shown.stdout and "\x1b" not in shown.stdout
    assert len(shown.stdout) < 1 << 20

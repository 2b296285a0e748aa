"""Each answer of the gate has a case that provokes it: its code, its exit status, and the place that is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from _skill import clock, layout
from _skill.findings import INTERRUPTED, PROBLEM, TERMINATED, Finding, Refusal
from _skill.gate import (
    approval,
    audit_anchor,
    audit_log,
    consent,
    evidence,
    launch_policy,
    launch_request,
    source_tree,
    ssh_signature,
    verdict,
    warm_start,
)
from _skill.gate.audit_log import HEAD, LOG, AuditLog
from _skill.plans import plan
from _skill.process.child import MOST_PROCESSES, Outcome

from ..checkpoints.writing import entry, safetensors
from ..scripts.gate_bundle import Bundle
from ..scripts.test_schemas import MANIFEST
from .test_policy import SHIPPED, a_plan, decide, policy


def refused(refusal: Refusal) -> tuple[list[str], int]:
    return [finding.code for finding in refusal.findings], refusal.exit_status


def an_approval(made: plan.Plan | None = None, seconds: int = 60) -> approval.Approval:
    return approval.create(made or a_plan(), {"plan": "0" * 64}, "run", "person", "Ada", "", seconds)


# Approvals.


def test_an_approval_with_a_changed_word_is_damaged_and_has_to_be_given_again() -> None:
    changed = an_approval().data.replace(b'"Ada"', b'"Eve"')
    with pytest.raises(Refusal) as caught:
        approval.parse(changed, "plan.approval.json")
    assert refused(caught.value) == (["approval.damaged"], 1)
    assert caught.value.findings[0].pointer == "plan.approval.json" and "approve.py" in caught.value.findings[0].fix


def test_an_approval_ends_with_the_second_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    given = an_approval(seconds=60)
    created = clock.seconds_of(given.document["created"])
    assert created is not None
    for age, codes in ((59, []), (60, ["approval.expired"])):
        monkeypatch.setattr(clock, "now", lambda now=created + age: now)
        found = approval.findings(given, a_plan(), {"plan": "0" * 64}, "run", "person")
        assert [finding.code for finding in found] == codes
    assert found[0].pointer == "/expires" and "approve.py" in found[0].fix


@pytest.mark.parametrize("words", ["", "1", "h", "0s", "-1h", "1.5h", "1h30m", "31d", "1w", "1H", "\u0661h"])
def test_a_duration_is_a_whole_number_and_a_unit_of_at_most_30_days(words: str) -> None:
    with pytest.raises(Refusal) as caught:
        clock.duration(words)
    assert refused(caught.value) == (["approval.duration"], 2)
    assert caught.value.findings[0].fix == "--expires-in 1h"


def test_a_person_has_a_name_of_their_own_and_a_signer_one_that_fits_the_file_of_signers(bundle: Bundle) -> None:
    bundle.plan()
    for words in ((f"--by={approval.OPT_IN}",), ("--by", "Ada Lovelace", "--sign", "key")):
        report = bundle.json("approve", "plan.json", *words)
        assert [finding["code"] for finding in report["findings"]] == ["approval.name"], words
        assert report["exit_status"] == 1 and report["findings"][0]["pointer"] == "--by"
    assert not (bundle.work / "plan.approval.json").exists()


# The audit log and its anchor.


def a_log(folder: Path) -> Path:
    log = AuditLog.create(str(folder))
    for event in ("planned", "started"):
        log.append((event, {"run": "r"}))
    log.close()
    return folder / LOG


def test_a_changed_anchor_is_damaged(tmp_path: Path) -> None:
    data = audit_anchor.take("r", a_log(tmp_path).read_bytes())
    with pytest.raises(Refusal) as caught:
        audit_anchor.parse(data.replace(b'"run": "r"', b'"run": "s"').replace(b'"run":"r"', b'"run":"s"'), "r.anchor")
    assert refused(caught.value) == (["anchor.damaged"], 1)
    assert caught.value.findings[0].pointer == "r.anchor"


def test_records_behind_the_head_of_the_log_are_named_and_mended_where_an_append_was_cut_off(tmp_path: Path) -> None:
    log = AuditLog.create(str(tmp_path))
    log.append(("planned", {"run": "r"}))
    head = (tmp_path / HEAD).read_bytes()
    log.append(("started", {"run": "r"}))
    log.close()
    (tmp_path / HEAD).write_bytes(head)
    (finding,) = audit_log.verify(str(tmp_path / LOG)).findings
    assert (finding.code, Path(finding.pointer).name) == ("audit.after_anchor", HEAD)
    AuditLog.reopen(str(tmp_path)).close()
    mended = audit_log.verify(str(tmp_path / LOG))
    assert mended.findings == [] and mended.records[-1]["event"] == "recovered"


# Policies and signers.


def read_policy(folder: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Refusal:
    (folder / "launch_policy.json").write_text(json.dumps({**SHIPPED, **changes}))
    monkeypatch.setattr(layout, "ROOT", str(folder))
    with pytest.raises(Refusal) as caught:
        launch_policy.load()
    return caught.value


TIER: dict[str, Any] = {"name": "t", "consent": "opt_in", "longest_expiry": "1h", "caps": {}}
SIGNED = {**TIER, "consent": "signature"}


@pytest.mark.parametrize(
    ("code", "place", "changes"),
    [
        ("policy.tier", "/tiers/1/name", {"tiers": [TIER, TIER]}),
        ("policy.tier", "/tiers/0/signatures", {"tiers": [{**TIER, "signatures": 2}]}),
        (
            "policy.tier", "/tiers/0/signatures",
            {"allowed_signers": "s", "tiers": [{**SIGNED, "principals": ["a@b"], "signatures": 2}]},
        ),
        ("policy.signers", "/allowed_signers", {"allowed_signers": None, "tiers": [SIGNED]}),
        ("approval.duration", "/tiers/0/longest_expiry", {"tiers": [{**TIER, "longest_expiry": "99d"}]}),
    ],
)  # fmt: skip
def test_a_policy_that_contradicts_itself_stops_everything(
    code: str, place: str, changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = read_policy(tmp_path, monkeypatch, **changes)
    assert refused(refusal) == ([code], 2)
    assert refusal.findings[0].pointer == f"{tmp_path / 'launch_policy.json'}#{place}"


def test_a_policy_larger_than_any_that_people_review_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = read_policy(tmp_path, monkeypatch, more="x" * launch_policy.MAX_BYTES)
    assert refused(refusal) == (["policy.size"], 2)


def test_a_logger_that_no_policy_names_is_refused_with_those_that_it_names() -> None:
    with pytest.raises(Refusal) as caught:
        decide(a_plan(loggers=[{"kind": "jsonl"}, {"kind": "trackio"}]), policy({}, loggers=["jsonl"]))
    assert refused(caught.value) == (["policy.logger"], 1)
    assert (caught.value.findings[0].pointer, caught.value.findings[0].want) == ("/loggers/1/kind", "jsonl")


def test_a_key_that_is_not_there_is_said_before_anything_is_signed() -> None:
    with pytest.raises(Refusal) as caught:
        ssh_signature.sign("nowhere/key", ssh_signature.APPROVAL, b"data")
    assert refused(caught.value) == (["signature.key"], 2)
    assert caught.value.findings[0].fix.startswith("ssh-keygen ")


def test_an_ssh_keygen_that_waits_for_somebody_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def waits(*_: object, **options: Any) -> None:
        raise subprocess.TimeoutExpired("ssh-keygen", options["timeout"])

    monkeypatch.setattr(subprocess, "run", waits)
    monkeypatch.setattr(ssh_signature, "program", lambda: "/usr/bin/ssh-keygen")
    with pytest.raises(Refusal) as caught:
        ssh_signature.sign(__file__, ssh_signature.APPROVAL, b"data")
    assert refused(caught.value) == (["signature.time"], 2)


def test_the_tenth_signature_has_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh_signature, "sign", lambda *_: b"signature")
    path = str(tmp_path / "plan.approval.json")
    places = [consent.add(path, an_approval(), "key") for _ in range(consent.MOST_SIGNATURES)]
    assert len(set(places)) == len(os.listdir(tmp_path)) == 9
    with pytest.raises(Refusal) as caught:
        consent.add(path, an_approval(), "key")
    assert refused(caught.value) == (["signature.many"], 1) and len(os.listdir(tmp_path)) == 9


# How a run ends.

GONE = evidence.Evidence(None, [Finding("evidence.manifest", "there is no manifest")])


@pytest.mark.parametrize(
    ("code", "place", "outcome", "status"),
    [
        ("limit.processes", "", {"limit": "processes", "signal": "SIGKILL"}, PROBLEM),
        ("limit.reached", "/limits/wall_seconds", {"limit": "wall_seconds", "signal": "SIGKILL"}, PROBLEM),
        ("limit.reached", "/limits/memory_mb", {"limit": "memory_mb", "signal": "SIGKILL"}, PROBLEM),
        ("run.interrupted", "", {"interrupted": signal.SIGINT, "exit_status": 130}, INTERRUPTED),
        ("run.interrupted", "", {"interrupted": signal.SIGTERM, "signal": "SIGTERM"}, TERMINATED),
    ],
)
def test_a_run_that_was_stopped_says_by_what(code: str, place: str, outcome: dict[str, Any], status: int) -> None:
    ended = {"exit_status": None, "signal": None, "limit": None, "interrupted": None, **outcome}
    found = verdict.of(a_plan(), Outcome(seconds=1.0, peak_memory_bytes=0, **ended), GONE)
    (finding,) = found.findings
    assert (finding.code, finding.pointer, found.exit_status) == (code, place, status)
    assert finding.severity == ("warning" if code == "run.interrupted" else "error")
    if code == "limit.processes":
        assert str(MOST_PROCESSES) in finding.message
    elif code == "limit.reached":
        assert finding.fix == f"raise {place[1:].replace('/', '.')} in a new plan"


def test_a_manifest_that_names_another_step_than_its_checkpoint_is_no_evidence(tmp_path: Path) -> None:
    made = a_plan(run="r")
    file = MANIFEST["checkpoint"]["file"]
    (tmp_path / file).write_bytes(b"weights")
    digest = evidence.file_digest(str(tmp_path / file))
    manifest = {
        **MANIFEST, "plan_sha256": made.sha256, "step": MANIFEST["step"] + 1,
        "checkpoint": {"file": file, "bytes": 7, "sha256": digest},
    }  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (finding,) = evidence.of(str(tmp_path), made).findings
    assert (finding.code, finding.got, finding.want) == ("evidence.step", "131072", "131073")


def test_a_run_that_is_not_there_cannot_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refusal) as caught:
        launch_request.build_resume("runs/nowhere")
    assert refused(caught.value) == (["run.missing"], 1)
    assert (caught.value.findings[0].pointer, caught.value.findings[0].want) == ("runs/nowhere", "a folder in runs/")


# What a run starts from.


def warm(path: Path, **changes: Any) -> plan.Plan:
    return a_plan(start={"kind": "warm", "checkpoint": str(path), "sha256": "0" * 64}, **changes)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x80\x02cos\ngetcwd\n(tR.", 1),
        (safetensors({"w": entry("U8", [2], 0, 1)}, bytes(1)), 1),
        # More than is read: could not check, which is no pass either.
        (safetensors(b"{" + b"[" * 100_001), 2),
    ],
)
def test_weights_that_are_not_found_safe_are_refused_with_the_reason(data: bytes, status: int, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(data)
    with pytest.raises(Refusal) as caught:
        warm_start.items(warm(path))
    (code, *reasons), found = refused(caught.value)
    assert (code, found) == ("start.refused", status) and reasons
    assert "inspect_checkpoint.py" in caught.value.findings[0].fix


def test_weights_larger_than_the_run_s_disk_are_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    size = 2 << 20
    path.write_bytes(safetensors({"w": entry("U8", [size], 0, size)}, bytes(size)))
    with pytest.raises(Refusal) as caught:
        warm_start.copy(warm(path, limits__disk_mb=1), str(tmp_path / "copy"))
    assert refused(caught.value) == (["start.size"], 1)
    assert caught.value.findings[0].want == "at most 1 MiB" and not (tmp_path / "copy").exists()


def test_a_source_that_cannot_be_read_is_said_and_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("x = 1\n")
    original = os.open

    def forbidden(path: Any, *words: Any, **options: Any) -> int:
        if path == "b.py":
            raise PermissionError(13, "Permission denied")
        return original(path, *words, **options)

    monkeypatch.setattr(os, "open", forbidden)
    with pytest.raises(Refusal) as caught:
        source_tree.digests(str(tmp_path), lambda _: True)
    assert refused(caught.value) == (["source.unreadable"], 2)
    assert caught.value.findings[0].pointer == str(tmp_path / "b.py")

"""FC-F08 · Interrupted run reports success.

Success is exit status 0 and evidence: the final manifest, the checkpoint that it names, the steps, an evaluation.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ..scripts.gate_bundle import Bundle, build_bundle, modes


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return build_bundle(tmp_path / "bundle")


def ended(bundle: Bundle) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((bundle.work / "runs/r/audit.jsonl").read_text().splitlines()[-1])["data"]
    return data


@pytest.mark.parametrize(
    ("mode", "result", "code"),
    [
        ("no_evidence", "ended_early", "evidence.manifest"),
        ("too_few_steps", "ended_early", "evidence.steps"),
        ("wrong_checkpoint", "ended_early", "evidence.checkpoint"),
        ("forges", "ended_early", "evidence.checkpoint"),
        ("other_run", "ended_early", "evidence.run"),
        ("other_plan", "ended_early", "evidence.plan"),
        ("not_evaluated", "ended_early", "evidence.evaluation"),
        ("half_manifest", "ended_early", "run.ended_early"),
        ("fails", "failed", "run.failed"),
        ("crash", "failed", "run.killed"),
        ("killed", "failed", "run.killed"),
    ],
)
def test_a_child_without_evidence_is_no_success(bundle: Bundle, mode: str, result: str, code: str) -> None:
    report = bundle.launch(mode=mode)
    assert (report["exit_status"], report["result"]) == (1, result)
    assert code in [finding["code"] for finding in report["findings"]]
    assert ended(bundle)["result"] == result
    if mode == "killed":
        # Signal, time and the last checkpoint that verified are kept.
        assert ended(bundle)["signal"] == "SIGKILL" and ended(bundle)["seconds"] > 0
        assert ended(bundle)["last_verified_checkpoint"] == "checkpoint-0000000000500000.safetensors"
    assert bundle.json("audit", "verify", "runs/r")["result"] == result


def start(bundle: Bundle, mode: str) -> subprocess.Popen[bytes]:
    words = [f"--set=environment.settings.mode={modes()[mode]}"]
    process = subprocess.Popen(
        bundle.command("launch", "quickstart", "--env", "fake", "--run", "r", "--opt-in", *words),
        cwd=bundle.work,
        env=bundle.variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not (bundle.work / "runs/r/ready").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    return process


def test_evidence_of_an_earlier_launch_is_no_evidence_of_this_one(bundle: Bundle) -> None:
    process = start(bundle, "stale")
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    # Resumed, the child exits 0 at once; what lies in the folder is what the first launch has left.
    report = bundle.json("launch", "resume", "runs/r", "--opt-in")
    assert (report["exit_status"], report["result"]) == (1, "ended_early")
    assert "evidence.status" in [finding["code"] for finding in report["findings"]]


def test_a_manifest_that_was_there_before_the_child_is_not_taken_for_its_own(bundle: Bundle) -> None:
    assert bundle.launch(mode="good")["result"] == "complete"
    old = {path.name: path.read_bytes() for path in (bundle.work / "runs/r").iterdir()}
    bundle.plan(mode="no_evidence", run="two")
    assert bundle.run("launch", "run", "--plan", "plan.json", "--opt-in").returncode == 1
    for name in ("manifest.json", "checkpoint-0000000001000000.safetensors"):
        (bundle.work / "runs/two" / name).write_bytes(old[name])
    report = bundle.json("launch", "resume", "runs/two", "--opt-in")
    assert report["exit_status"] == 1 and "evidence.plan" in [f["code"] for f in report["findings"]]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_an_interrupted_launch_says_so_and_is_not_zero(bundle: Bundle, number: int, status: int) -> None:
    process = start(bundle, "sleep")
    process.send_signal(number)
    assert process.wait(20) == status
    assert ended(bundle)["result"] == "interrupted"
    assert ended(bundle)["last_verified_checkpoint"] == "checkpoint-0000000000250000.safetensors"


def test_a_child_that_is_killed_from_outside_is_no_success(bundle: Bundle) -> None:
    process = start(bundle, "sleep")
    os.kill(int((bundle.work / "runs/r/ready").read_text()), signal.SIGKILL)
    assert process.wait(20) == 1
    assert (ended(bundle)["result"], ended(bundle)["signal"]) == ("failed", "SIGKILL")


def test_a_gate_that_is_killed_leaves_a_log_without_an_end(bundle: Bundle) -> None:
    process = start(bundle, "sleep")
    process.kill()
    process.wait(20)
    deadline = time.monotonic() + 10
    while True:
        report = bundle.json("audit", "verify", "runs/r")
        if "audit.open" in [finding["code"] for finding in report["findings"]]:
            break
        assert time.monotonic() < deadline
    assert report["result"] is None

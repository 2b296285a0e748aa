"""Whatever interrupts approving, launching or anchoring, nothing half-written is taken for good, and work goes on.

Twelve interruptions at random moments; RELIABILITY_RUNS=100 makes it a hundred.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from _skill.findings import Refusal
from _skill.gate import approval, audit_anchor, audit_log, ssh_signature

from ..scripts.gate_bundle import Bundle, build_bundle, modes
from .conftest import Keys

RUNS = int(os.environ.get("RELIABILITY_RUNS", "12"))
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return build_bundle(tmp_path_factory.mktemp("interrupted") / "bundle")


def interrupted(bundle: Bundle, words: list[str], number: int, delay: float) -> int:
    """Runs a tool and sends it a signal after `delay` s; its exit status."""
    process = subprocess.Popen(
        words, cwd=bundle.work, env=bundle.variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        return process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    return process.wait(30)


def typical(bundle: Bundle, words: list[str]) -> float:
    """How long the tool takes here and now, s."""
    started = time.monotonic()
    subprocess.run(words, cwd=bundle.work, env=bundle.variables, capture_output=True, check=False, timeout=60)
    return time.monotonic() - started


def wait_for_the_lock(folder: Path) -> None:
    """A child whose gate was killed gets a signal and is gone soon; until then it holds the run's lock."""
    deadline = time.monotonic() + 15
    while True:
        try:
            audit_log.AuditLog.reopen(str(folder)).close()
            return
        except Refusal as refusal:
            if refusal.findings[0].code != "run.in_use" or time.monotonic() > deadline:
                return
        time.sleep(0.05)


def test_launches_interrupted_at_random_moments_leave_a_record_that_verifies_or_says_why_not(shared: Bundle) -> None:
    bundle, chance = shared, random.Random(20261130)
    mode = f"--set=environment.settings.mode={modes()['good']}"

    def words(run: str) -> list[str]:
        return bundle.command("launch", "quickstart", "--env", "fake", "--run", run, "--opt-in", mode)

    whole = typical(bundle, words("warm-up"))
    for count in range(RUNS):
        run = f"r{count}"
        status = interrupted(bundle, words(run), SIGNALS[count % 3], chance.uniform(0, 1.2 * whole))
        folder = bundle.work / "runs" / run
        if status == 0:
            assert json.loads((folder / "manifest.json").read_text())["status"] == "complete"
        if not folder.exists():
            # Nothing was started: the name is free, whatever is left of the preparations.
            assert (
                bundle.json("launch", "quickstart", "--env", "fake", "--run", run, "--opt-in", mode)["exit_status"] == 0
            )
            continue
        wait_for_the_lock(folder)
        report = bundle.json("audit", "verify", f"runs/{run}")
        if report["exit_status"] == 0 and report["result"] == "complete":
            continue
        # Not complete: the record has another result, no end or no beginning, or it does not verify. Never a success.
        assert report.get("result") != "complete" or report["exit_status"] == 1
        again = bundle.json("launch", "resume", f"runs/{run}", "--opt-in")
        assert again["exit_status"] in (0, 1, 2)
        if again["exit_status"] == 0:
            assert bundle.json("audit", "verify", f"runs/{run}")["exit_status"] == 0
    assert list((bundle.work / "runs/.gate/snapshots").glob("warm-up")) == []


def test_approvals_interrupted_at_random_moments_are_whole_or_not_there(shared: Bundle, keys: Keys) -> None:
    bundle, chance = shared, random.Random(1)
    bundle.plan(name="approve.json", run="approved")

    def words(name: str) -> list[str]:
        return bundle.command(
            "approve", "approve.json", "--by", "ada@example.org", "--sign", keys.path("ada"), "--out", name
        )

    whole = typical(bundle, words("warm-up.json"))
    for count in range(RUNS):
        name = f"a{count}.json"
        status = interrupted(bundle, words(name), SIGNALS[count % 3], chance.uniform(0, 1.1 * whole))
        path = bundle.work / name
        signature = bundle.work / f"{name}.sig"
        assert status != 0 or path.exists()
        if path.exists():
            data = path.read_bytes()
            approval.parse(data, name)
            # The signature came first, so an approval that was to be signed is never without one.
            signers = keys.allowed.read_bytes()
            ssh_signature.verify(data, signature.read_bytes(), ssh_signature.APPROVAL, signers, "ada@example.org")


def test_anchors_interrupted_at_random_moments_are_whole_or_not_there(shared: Bundle, tmp_path: Path) -> None:
    bundle, chance = shared, random.Random(2)
    if not (bundle.work / "runs/anchored").exists():
        bundle.launch(mode="good", run="anchored")

    def words(name: str) -> list[str]:
        return bundle.command("audit", "anchor", "runs/anchored", "--out", str(tmp_path / name))

    whole = typical(bundle, words("warm-up"))
    log = (bundle.work / "runs/anchored/audit.jsonl").read_bytes()
    for count in range(RUNS):
        name = f"x{count}"
        status = interrupted(bundle, words(name), SIGNALS[count % 3], chance.uniform(0, 1.1 * whole))
        assert status != 0 or (tmp_path / name).exists()
        if (tmp_path / name).exists():
            anchor = audit_anchor.parse((tmp_path / name).read_bytes(), name)
            assert audit_anchor.findings(anchor, log, "anchored", name) == []

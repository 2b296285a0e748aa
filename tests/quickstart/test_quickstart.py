"""The main job as a newcomer runs it: one command, the real engine, the whole gate, a policy, a page that plays it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..conftest import CACHE, ROOT
from ..report.report_browser import Browser, find_browser

QUICKSTART = [sys.executable, str(ROOT / "scripts" / "launch.py"), "quickstart"]
LEFT_BEHIND = {
    "plan.json", "approval.json", "audit.jsonl", "audit.head", "metrics.jsonl", "manifest.json", "output.log",
    "replay.json", "report.html",
}  # fmt: skip


def quickstart(folder: Path, *words: str, cache: Path = CACHE) -> subprocess.CompletedProcess[str]:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_CACHE_HOME": str(cache)}
    return subprocess.run(
        [*QUICKSTART, *words],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module", params=["cartpole", "breakout"])
def finished(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, str]:
    """The environment, the folder of its finished run, and what the command printed."""
    folder = tmp_path_factory.mktemp(request.param)
    done = quickstart(folder, "--env", request.param, "--opt-in")
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (p for p in (folder / "runs").iterdir() if not p.name.startswith("."))
    return request.param, run, done.stdout


def test_without_consent_nothing_is_built_started_or_written(tmp_path: Path) -> None:
    """It shows plan, digest, tier and command, exits 1, and leaves no file, not even in the cache."""
    shown = quickstart(tmp_path, cache=tmp_path / "cache")
    assert shown.returncode == 1
    assert re.search(r"^digest +[0-9a-f]{64}\b", shown.stdout, re.M)
    assert "-m pufferlib train --plan" in shown.stdout
    assert '"target_return": 475.0' in shown.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["home"]
    assert list((tmp_path / "home").iterdir()) == []


def test_a_policy_is_trained_and_everything_is_left_behind(finished: tuple[str, Path, str]) -> None:
    """The goal is reached, evaluation agrees, and the named files are there with the digests of the manifest."""
    environment, run, printed = finished
    manifest = json.loads((run / "manifest.json").read_text())
    checkpoint = run / manifest["checkpoint"]["file"]
    assert {p.name for p in run.iterdir()} == LEFT_BEHIND | {checkpoint.name}
    assert hashlib.sha256(checkpoint.read_bytes()).hexdigest() == manifest["checkpoint"]["sha256"]
    assert (manifest["status"], manifest["goal_reached"]) == ("complete", True)
    assert manifest["evaluation"]["return_mean"] >= {"cartpole": 475, "breakout": 180}[environment]
    assert manifest["seconds"]["train"] < 180
    for name in LEFT_BEHIND | {checkpoint.name}:
        assert f"{run.name}/{name}" in printed
    assert len(printed.split("\nnext\n")[1].splitlines()) >= 3


def test_the_audit_log_verifies_and_names_a_changed_file(finished: tuple[str, Path, str]) -> None:
    """The record holds for what the run left; a byte more in any file is named."""
    _, run, _ = finished
    verify = [sys.executable, str(ROOT / "scripts" / "audit.py"), "verify", str(run)]
    assert subprocess.run(verify, capture_output=True, timeout=60).returncode == 0
    with (run / "replay.json").open("a") as stream:
        stream.write(" ")
    changed = subprocess.run(verify, capture_output=True, text=True, timeout=60)
    os.truncate(run / "replay.json", (run / "replay.json").stat().st_size - 1)
    assert changed.returncode == 1
    assert "replay.json" in changed.stdout + changed.stderr


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium, where there is one."""
    with Browser(find_browser() or pytest.skip("no chromium on PATH: the real report was not drawn")) as started:
        yield started


def test_the_real_report_draws_moves_and_logs_no_error(finished: tuple[str, Path, str], browser: Browser) -> None:
    """The trained policy plays on the canvas, the return curve ends at the goal, and the console stays empty."""
    environment, run, _ = finished
    browser.open(run / "report.html", 1280, 900)
    pixels, frame = "document.getElementById('canvas').toDataURL()", "document.getElementById('scrubber').value"
    before = browser.evaluate(pixels)
    browser.wait(f"Number({frame}) > 30")
    assert browser.evaluate(pixels) != before
    assert environment in browser.evaluate("document.querySelector('h1').textContent")
    assert browser.evaluate("document.querySelector('.chart[data-key=return] path.curve').getBBox().width") > 200
    assert browser.problems == []

"""Ctrl-C and SIGTERM: the exit status says which, the last checkpoint verifies, and the resumed run ends the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from .small_environments import write_environment
from .training_runs import assert_log_is_whole, assert_verifies, read_manifest, short_plan, write_plan

PLAN: dict[str, Any] = {"total_timesteps": 128 * 16 * 3000, "hidden": (32,), "checkpoint_interval": 1000}


def begin(folder, environment, *words):
    command = [sys.executable, "-m", "pufferlib", "train", "--plan", folder / "plan.json", "--run-dir", folder, *words]
    return subprocess.Popen(
        [str(w) for w in command], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_until(condition, process, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The weights' digest of the run that nobody interrupts."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    write_plan(folder, short_plan("cartpole", **PLAN))
    return folder


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_in_good_order(tmp_path, puffer_environment, uninterrupted, puffer, number, status):
    if not read_manifest(uninterrupted):
        done = puffer("train", "--plan", uninterrupted / "plan.json", "--run-dir", uninterrupted, timeout=300)
        assert done.returncode == 0, done.stderr
    write_plan(tmp_path, short_plan("cartpole", **PLAN))
    process = begin(tmp_path, puffer_environment)
    try:
        log = tmp_path / "metrics.jsonl"
        wait_until(lambda: log.exists() and log.stat().st_size > 0, process)
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == status, errors
    assert "interrupted at" in errors and "Traceback" not in errors
    manifest = assert_verifies(tmp_path)
    assert manifest["status"] == "interrupted" and manifest["step"] > 0
    assert assert_log_is_whole(tmp_path)[-1]["step"] == manifest["step"]
    assert (tmp_path / "report.html").exists()
    done = puffer("train", "--plan", tmp_path / "plan.json", "--run-dir", tmp_path, "--resume")
    assert done.returncode == 0, done.stderr
    ended = assert_verifies(tmp_path)
    assert ended["status"] == "complete"
    assert ended["weights_sha256"] == assert_verifies(uninterrupted)["weights_sha256"]
    assert_log_is_whole(tmp_path)


def test_a_signal_during_the_build_is_an_interruption_not_a_compiler_error(tmp_path, puffer_environment):
    """Ctrl-C reaches the whole foreground group, so the compiler dies of it too."""
    write_plan(tmp_path, short_plan("cartpole", **PLAN))
    compiler = tmp_path / "slow-compiler"
    compiler.write_text(f"#!/bin/sh\ntouch {tmp_path}/compiling\nexec sleep 30\n")
    compiler.chmod(0o755)
    environment = puffer_environment | {"CXX": str(compiler), "PUFFER_CACHE": str(tmp_path / "cache")}
    command = [
        sys.executable,
        "-m",
        "pufferlib",
        "train",
        "--plan",
        str(tmp_path / "plan.json"),
        "--run-dir",
        str(tmp_path),
    ]
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    try:
        wait_until((tmp_path / "compiling").exists, process)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, errors
    assert "does not compile" not in errors and "Traceback" not in errors
    assert not list((tmp_path / "cache").iterdir())


def test_a_second_signal_ends_at_once(tmp_path, puffer_environment):
    """An iteration of some seconds: the first signal waits for its end, the second does not."""
    plan = short_plan(
        "breakout", hidden=(512, 512), num_envs=512, horizon=64, minibatch_size=512 * 64, update_epochs=10
    )
    write_plan(tmp_path, plan)
    process = begin(tmp_path, puffer_environment)
    try:
        wait_until((tmp_path / "manifest.json").exists, process)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, errors = process.communicate(timeout=20)
        assert time.monotonic() - began < 1.0
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, errors
    assert assert_verifies(tmp_path)["step"] == 0


def test_a_signal_during_the_evaluation_leaves_it_to_the_resumed_run(tmp_path, puffer, puffer_environment):
    outside, folder = tmp_path / "outside", tmp_path / "run"
    write_environment(outside, "long", step="out->reward[0] = 1.0f; if (s->steps >= 60000) truncate_all(out);")
    plan = short_plan("long", outside, total_timesteps=128 * 16 * 2, hidden=(64,))
    plan["evaluation"]["episodes"] = 256
    write_plan(folder, plan)
    process = begin(folder, puffer_environment)
    try:
        wait_until(lambda: read_manifest(folder).get("reason") == "trained", process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, errors
    manifest = assert_verifies(folder)
    assert (manifest["status"], manifest["evaluation"]) == ("interrupted", None)
    assert puffer("train", "--plan", folder / "plan.json", "--run-dir", folder, "--resume").returncode == 0
    ended = assert_verifies(folder)
    assert ended["status"] == "complete" and ended["weights_sha256"] == manifest["weights_sha256"]
    assert ended["evaluation"]["return_mean"] == 60000

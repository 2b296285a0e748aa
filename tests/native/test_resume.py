"""kill -9 at any moment, then --resume: the run ends as if nothing had happened, and nothing wrong ever verifies."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from .small_environments import write_environment
from .training_runs import (
    assert_log_is_whole,
    assert_verifies,
    checkpoints,
    parts,
    read_manifest,
    short_plan,
    write_plan,
)

KILLS = 30
PLAN: dict[str, Any] = {
    "total_timesteps": 128 * 16 * 80,
    "hidden": (32, 32),
}  # a second, a checkpoint an iteration


@pytest.fixture
def start(puffer_environment):
    """``start(folder, resume=)``: the training command on the plan in a run folder, as a gate starts it."""
    started = []

    def begin(folder, resume=False):
        command = [sys.executable, "-m", "pufferlib", "train", "--plan", folder / "plan.json", "--run-dir", folder]
        command += ["--resume"] if resume else []
        process = subprocess.Popen(
            [str(word) for word in command], env=puffer_environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def finish(process):
    """Waits for a good end."""
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


def wait_for_part(folder, process, generator):
    """Waits until a file is being written, then for a moment within it."""
    seen = set(parts(folder))
    deadline = time.monotonic() + 5
    while process.poll() is None and time.monotonic() < deadline:
        if set(parts(folder)) - seen:
            time.sleep(generator.uniform(0, 0.002))
            return


@pytest.mark.slow
def test_thirty_kills_change_nothing(tmp_path, start, puffer):
    puffer("build", "cartpole", timeout=300)
    plan = short_plan("cartpole", **PLAN)
    whole = tmp_path / "whole"
    write_plan(whole, plan)
    began = time.monotonic()
    finish(start(whole))
    lasted = time.monotonic() - began
    expected = assert_verifies(whole)

    generator = random.Random(20)
    kills, runs = 0, 0
    while kills < KILLS:
        folder = tmp_path / f"killed-{runs}"
        write_plan(folder, plan)
        resume = False
        while kills < KILLS or resume:
            process = start(folder, resume)
            if kills < KILLS:
                # Every third kill falls into the writing of a file, the others anywhere.
                time.sleep(generator.uniform(0, lasted * 0.8))
                if kills % 3 == 0:
                    wait_for_part(folder, process, generator)
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    kills += 1
            finished = process.wait(120) == 0
            manifest = read_manifest(folder)
            if manifest:
                assert_verifies(folder)
                assert manifest["status"] == ("complete" if finished else manifest["status"])
            resume = True
            if finished:
                break
        assert process.returncode == 0, process.communicate()[1]
        ended = assert_verifies(folder)
        assert ended["status"] == "complete"
        assert ended["weights_sha256"] == expected["weights_sha256"]
        assert ended["evaluation"] == expected["evaluation"]
        assert assert_log_is_whole(folder)[-1]["step"] == ended["step"] == plan["train"]["total_timesteps"]
        assert checkpoints(folder) == [ended["checkpoint"]["file"]] and not parts(folder)
        runs += 1


@pytest.fixture
def interrupted(tmp_path, start):
    """A run that was killed half-way, with a checkpoint."""
    folder = tmp_path / "run"
    write_plan(folder, short_plan("cartpole", **PLAN))
    process = start(folder)
    deadline = time.monotonic() + 60
    while read_manifest(folder).get("step", 0) < 8000:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    return folder


def resume(puffer, folder, *words):
    return puffer("train", "--plan", folder / "plan.json", "--run-dir", folder, "--resume", *words)


def test_another_plan_is_refused(interrupted, puffer):
    plan = json.loads((interrupted / "plan.json").read_text())
    plan["train"]["learning_rate"] *= 2
    before = read_manifest(interrupted)
    write_plan(interrupted, plan)
    done = resume(puffer, interrupted)
    assert done.returncode == 1 and "another plan" in done.stderr and before["plan_sha256"] in done.stderr
    assert read_manifest(interrupted) == before


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda b: b[:-1], "bytes, the manifest says"),
        (lambda b: b"", "bytes, the manifest says"),
        (lambda b: b[:5000] + bytes([b[5000] ^ 1]) + b[5001:], "SHA-256"),
        (lambda b: b + b"\0", "bytes, the manifest says"),
    ],
)
def test_a_spoilt_checkpoint_is_refused(interrupted, puffer, spoil, reason):
    path = interrupted / read_manifest(interrupted)["checkpoint"]["file"]
    path.write_bytes(spoil(path.read_bytes()))
    done = resume(puffer, interrupted)
    assert done.returncode in (1, 2) and reason in done.stderr and path.name in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("key", ["status", "step", "weights_sha256", "goal_reached", "plan_sha256", "iteration"])
def test_a_manifest_without_its_parts_is_refused_by_name(interrupted, puffer, key):
    manifest = read_manifest(interrupted)
    del manifest[key]
    (interrupted / "manifest.json").write_text(json.dumps(manifest))
    done = resume(puffer, interrupted)
    assert done.returncode == 2 and key in done.stderr and "Traceback" not in done.stderr


def test_a_checkpoint_that_is_gone_is_named(interrupted, puffer):
    path = interrupted / read_manifest(interrupted)["checkpoint"]["file"]
    path.unlink()
    done = resume(puffer, interrupted)
    assert done.returncode == 2 and path.name in done.stderr


def test_a_changed_environment_is_refused(tmp_path, puffer):
    outside, folder = tmp_path / "outside", tmp_path / "run"
    header = write_environment(outside, "counter")
    plan = short_plan("counter", outside, total_timesteps=128 * 16 * 4)
    write_plan(folder, plan)
    assert puffer("train", "--plan", folder / "plan.json", "--run-dir", folder).returncode == 0
    manifest = read_manifest(folder)
    manifest["status"] = "interrupted"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    header.write_text(header.read_text() + "/* another rule */\n")
    done = resume(puffer, folder)
    assert done.returncode == 1 and "counter.h has changed" in done.stderr


def test_without_resume_a_folder_with_a_run_is_left_alone(interrupted, puffer):
    before = {p.name: p.read_bytes() for p in interrupted.iterdir()}
    done = puffer("train", "--plan", interrupted / "plan.json", "--run-dir", interrupted)
    assert done.returncode == 2 and "--resume" in done.stderr
    assert {p.name: p.read_bytes() for p in interrupted.iterdir()} == before


def test_a_complete_run_has_nothing_to_resume(tmp_path, puffer):
    folder = tmp_path / "run"
    write_plan(folder, short_plan("squared", total_timesteps=128 * 16 * 2))
    assert puffer("train", "--plan", folder / "plan.json", "--run-dir", folder).returncode == 0
    before = read_manifest(folder)
    done = resume(puffer, folder)
    assert done.returncode == 0 and "complete" in done.stderr and read_manifest(folder) == before


def test_resuming_before_the_first_checkpoint_starts_from_the_beginning(tmp_path, puffer):
    whole, folder = tmp_path / "whole", tmp_path / "run"
    plan = short_plan("squared", total_timesteps=128 * 16 * 3)
    for place in (whole, folder):
        write_plan(place, plan)
    assert puffer("train", "--plan", whole / "plan.json", "--run-dir", whole).returncode == 0
    assert resume(puffer, folder).returncode == 0
    assert assert_verifies(folder)["weights_sha256"] == assert_verifies(whole)["weights_sha256"]


def test_a_resumed_run_may_be_moved_and_use_other_workers(interrupted, puffer, tmp_path):
    """The plan fixes the numbers; where the folder stands does not matter."""
    moved = tmp_path / "moved"
    shutil.copytree(interrupted, moved)
    assert resume(puffer, interrupted).returncode == resume(puffer, moved).returncode == 0
    assert assert_verifies(interrupted)["weights_sha256"] == assert_verifies(moved)["weights_sha256"]

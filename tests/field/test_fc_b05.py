"""FC-B05 · Ctrl-C leaves workers.

Children ignore Ctrl-C and the parent decides; whatever ends the parent, within five seconds no child is alive. There
is no segment to unlink: shared memory has no name.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "scripts" / "benchmark_vectorization.py")
FOUR = ("--workers", "4", "--envs", "8", "--oversubscribe", "--seconds", "60", "--timeout", "60", "--repeats", "100")
BACKENDS = ["processes-pipes", "processes-shared", "async"]
BOUND = 5.0
MANY = int(os.environ.get("RELIABILITY_RUNS", "12"))
"""How many interruptions at random moments; 100 for the figure."""

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="living processes are looked for in /proc")


def group_members(group: int) -> list[int]:
    """Living processes of a process group; workers stay in their parent's."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[2]) == group and words[0] != "Z":
            found.append(int(name))
    return found


def segments() -> list[str]:
    return [name for name in os.listdir("/dev/shm") if "puffer" in name] if os.path.isdir("/dev/shm") else []


def notes_signals(pid: int) -> bool:
    """Whether a process has a handler for SIGTERM: before that it is an interpreter that starts."""
    for line in Path("/proc", str(pid), "status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path, clean_environment: dict[str, str]) -> Iterator[Start]:
    """Starts a run in a group of its own and waits until so many workers are alive."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: str, workers: int = 4) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, SCRIPT, *FOUR, *arguments],
            cwd=tmp_path,
            env=clean_environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        deadline = time.monotonic() + 30
        while len(group_members(process.pid)) < workers + 1 or not notes_signals(process.pid):
            assert process.poll() is None and time.monotonic() < deadline, process.communicate()
            time.sleep(0.005)
        return process

    yield run
    for process in started:
        if group_members(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def gone(process: subprocess.Popen[str], since: float) -> tuple[int, str]:
    """Exit status and everything printed, once no process of the group is left, which must be within the bound."""
    out, err = process.communicate(timeout=BOUND + 5)
    while group_members(process.pid) and time.monotonic() - since < BOUND:
        time.sleep(0.01)
    assert group_members(process.pid) == []
    assert time.monotonic() - since < BOUND
    assert segments() == []
    return process.returncode, out + err


@pytest.mark.parametrize("backend", BACKENDS)
def test_ctrl_c_to_the_group_ends_all_with_130(start: Start, backend: str) -> None:
    process = start("--inject", "raise:0:999999", "--backends", backend)
    os.killpg(process.pid, signal.SIGINT)
    status, text = gone(process, time.monotonic())
    assert status == 130
    assert "interrupted" in text and "Traceback" not in text and "steps/s" not in text


@pytest.mark.parametrize(
    ("backend", "number"),
    [*((backend, signal.SIGTERM) for backend in BACKENDS), ("async", signal.SIGHUP), ("async", signal.SIGINT)],
)
def test_a_signal_to_the_parent_only_ends_all(start: Start, backend: str, number: signal.Signals) -> None:
    process = start("--inject", "raise:0:999999", "--backends", backend)
    os.kill(process.pid, number)
    status, text = gone(process, time.monotonic())
    assert status == (130 if number == signal.SIGINT else 143)
    assert "interrupted" in text and "Traceback" not in text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_group_is_an_interruption_and_no_dead_worker(start: Start, number: signal.Signals) -> None:
    process = start("--inject", "raise:0:999999")
    os.killpg(process.pid, number)
    status, text = gone(process, time.monotonic())
    assert status == 143
    assert "worker_killed" not in text


@pytest.mark.parametrize("fault", ["hang", "spin", "stop"])
def test_workers_that_cannot_stop_are_killed_within_the_bound(start: Start, fault: str) -> None:
    process = start("--inject", f"{fault}:2:5")
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    assert gone(process, time.monotonic())[0] == 130


def test_a_second_ctrl_c_forces_the_end_at_once(start: Start) -> None:
    process = start("--inject", "spin:2:5")
    time.sleep(0.2)
    since = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.4)
    os.killpg(process.pid, signal.SIGINT)
    status, text = gone(process, since)
    assert status == 130
    assert "stopped at once" in text or "interrupted" in text
    assert time.monotonic() - since < 2


def test_one_ctrl_c_that_arrives_twice_is_one(start: Start) -> None:
    process = start("--inject", "raise:0:999999")
    for _ in range(3):
        os.killpg(process.pid, signal.SIGINT)
    status, text = gone(process, time.monotonic())
    assert status == 130 and "nothing is reported" in text


@pytest.mark.parametrize(
    ("fault", "method"),
    [("raise:0:999999", "spawn"), ("spin:2:5", "spawn"), ("hang:1:3", "spawn"), ("raise:0:999999", "fork")],
)
def test_when_the_parent_is_killed_its_workers_end(start: Start, fault: str, method: str) -> None:
    process = start("--inject", fault, "--start-method", method)
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    assert gone(process, time.monotonic())[0] == -signal.SIGKILL


def test_workers_ignore_ctrl_c_and_hang_up(start: Start) -> None:
    process = start("--inject", "hang:2:5")
    time.sleep(0.2)
    before = set(group_members(process.pid)) - {process.pid}
    for pid in before:
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGHUP)
    time.sleep(0.3)
    assert set(group_members(process.pid)) - {process.pid} == before
    os.kill(process.pid, signal.SIGTERM)
    assert gone(process, time.monotonic())[0] == 143


@pytest.mark.parametrize(("backend", "work"), [("serial", "burn"), ("threads", "sleep")])
def test_backends_without_processes_end_too(start: Start, backend: str, work: str) -> None:
    process = start("--backends", backend, "--work", work, "--step-us", "300000", workers=0)
    time.sleep(0.4)
    os.killpg(process.pid, signal.SIGINT)
    assert gone(process, time.monotonic())[0] == 130


def test_a_report_that_was_not_finished_is_not_written(start: Start, tmp_path: Path) -> None:
    process = start("--out", "b.json", "--backends", "processes-shared", "--envs", "8")
    os.killpg(process.pid, signal.SIGINT)
    assert gone(process, time.monotonic())[0] == 130
    assert list(tmp_path.glob("*.json")) == [] and list(tmp_path.glob(".*.tmp")) == []


def test_interruptions_at_random_moments_leave_nothing(start: Start) -> None:
    draw = random.Random(20)
    for number in range(MANY):
        backend = draw.choice([*BACKENDS, "processes-shared,async,processes-pipes"])
        method = draw.choice(["spawn", "spawn", "fork"])
        process = start("--backends", backend, "--step-us", "50", "--start-method", method, workers=0)
        # Over starting, timing and stopping of many short runs.
        time.sleep(draw.random())
        kind = draw.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
        if draw.random() < 0.5:
            os.killpg(process.pid, kind) if kind == signal.SIGINT else os.kill(process.pid, kind)
        else:
            os.kill(process.pid, kind)
        status, text = gone(process, time.monotonic())
        wanted = {signal.SIGINT: 130, signal.SIGKILL: -9}.get(kind, 143)
        assert status == wanted, (number, backend, method, kind, text)
        assert "Traceback" not in text, text

"""FC-B04 · Worker dies and the parent shows only EOFError.

Whatever becomes of a worker is one finding with the worker, the environment, the step, and the traceback, exit status
or signal. The others are stopped, and no timing is reported.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .conftest import ROOT, Answer, Tool

FOUR = ("--workers", "4", "--envs", "8", "--oversubscribe", "--seconds", "3", "--step-us", "20", "--timeout", "1")
BACKENDS = ["processes-pipes", "processes-shared", "async"]
START = b"worker/start.py"


def workers_alive() -> list[str]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            folder = os.readlink(f"/proc/{name}/cwd")
        except OSError:
            continue
        if any(word.endswith(START) for word in words):
            found.append(folder)
    return found


@pytest.fixture
def broken(tool: Tool, tmp_path: Path):
    """Runs with a fault and checks what must hold for every one of them."""

    def run(fault: str, *more: str) -> Answer:
        answer = tool("benchmark_vectorization", *FOUR, "--inject", fault, "--out", "never.json", *more)
        assert answer.exit_status == 1
        assert len(answer.codes) == 1
        assert "benchmark" not in answer.report and not (tmp_path / "never.json").exists()
        assert "steps/s" not in answer.text
        assert str(tmp_path) not in workers_alive()
        assert not os.path.isdir("/dev/shm") or not [n for n in os.listdir("/dev/shm") if n.startswith("puffer")]
        assert "EOFError" not in answer.text and "BrokenPipe" not in answer.text
        return answer

    return run


@pytest.mark.parametrize(
    ("backend", "method"), [*((backend, "spawn") for backend in BACKENDS), ("processes-shared", "fork")]
)
def test_an_error_at_step_5_in_worker_2_is_told_with_its_traceback(broken, backend: str, method: str) -> None:
    answer = broken("raise:2:5", "--backends", backend, "--start-method", method)
    finding = answer.finding("vectorization.worker_raised")
    assert finding["pointer"] == "worker 2, environment 4, step 5"
    assert finding["got"].endswith("WheelOff: the wheel came off")
    failure = answer.report["failure"]
    assert (failure["worker"], failure["environment"], failure["step"]) == (2, 4, 5)
    assert failure["traceback"][0] == "Traceback (most recent call last):"
    assert any("faulty_environment.py" in line for line in failure["traceback"])


@pytest.mark.parametrize("backend", ["threads", "serial"])
def test_backends_without_processes_tell_the_same(broken, backend: str) -> None:
    answer = broken("raise:2:5", "--backends", backend)
    place = "worker 2, environment 4, step 5" if backend == "threads" else "worker 0, environment 0, step 5"
    assert answer.finding("vectorization.worker_raised")["pointer"] == place
    assert answer.report["failure"]["traceback"]


@pytest.mark.parametrize(
    ("backend", "fault", "status"),
    [*((backend, "exit", "3") for backend in BACKENDS), ("async", "sys-exit", "3"), ("processes-pipes", "exit-0", "0")],
)
def test_a_worker_that_leaves_is_told_with_its_exit_status(broken, backend: str, fault: str, status: str) -> None:
    finding = broken(f"{fault}:2:5", "--backends", backend).finding("vectorization.worker_exited")
    assert finding["got"] == f"exit status {status}"
    assert finding["pointer"] == "worker 2, environment 4, step 5"


@pytest.mark.parametrize(
    ("backend", "fault", "got", "word"),
    [
        ("processes-shared", "kill", "exit status -9 (SIGKILL)", "memory"),
        ("processes-pipes", "kill", "exit status -9 (SIGKILL)", "memory"),
        ("async", "segv", "exit status -11 (SIGSEGV)", "compiled code"),
        ("processes-shared", "term", "exit status -15 (SIGTERM)", "asked"),
        ("processes-shared", "bus", "exit status -7 (SIGBUS)", "--shm-size"),
        ("processes-pipes", "bus", "exit status -7 (SIGBUS)", "--shm-size"),
    ],
)
def test_a_worker_that_a_signal_ends_is_told_with_the_signal(
    broken, backend: str, fault: str, got: str, word: str
) -> None:
    answer = broken(f"{fault}:2:5", "--backends", backend)
    finding = answer.finding("vectorization.worker_killed")
    if os.uname().sysname == "Linux":
        assert finding["got"] == got
    assert finding["pointer"] == "worker 2, environment 4, step 5"
    assert word in finding["message"] + finding["fix"]


def test_a_bus_error_names_the_mount_and_the_setting_of_the_container(broken) -> None:
    finding = broken("bus").finding("vectorization.worker_killed")
    assert "/dev/shm" in finding["message"]
    assert "--shm-size" in finding["fix"] and "emptyDir" in finding["fix"]


@pytest.mark.parametrize(
    ("backend", "fault"),
    [*((backend, "hang") for backend in BACKENDS), ("processes-shared", "spin"), ("async", "stop")],
)
def test_a_worker_that_does_not_answer_is_named_with_its_last_step(broken, backend: str, fault: str) -> None:
    finding = broken(f"{fault}:2:5", "--backends", backend).finding("vectorization.worker_hung")
    assert finding["pointer"] == "worker 2, environment 4, step 5"
    assert finding["got"] == "no answer within 1 s"


@pytest.mark.parametrize("worker", [0, 1, 3])
def test_any_worker_and_any_step_is_named(broken, worker: int) -> None:
    finding = broken(f"raise:{worker}:1").finding("vectorization.worker_raised")
    assert finding["pointer"] == f"worker {worker}, environment {2 * worker}, step 1"


def test_a_worker_that_leaves_before_it_is_ready_is_named(broken) -> None:
    finding = broken("start-exit:3").finding("vectorization.worker_exited")
    assert (finding["pointer"], finding["got"]) == ("worker 3", "exit status 3")


def test_a_worker_that_never_gets_ready_is_named(broken) -> None:
    assert broken("start-hang:1").finding("vectorization.worker_hung")["pointer"] == "worker 1"


def test_the_text_of_an_error_is_data_escaped_and_capped(broken) -> None:
    answer = broken("raise-hostile")
    assert "\x1b" not in answer.text and "\u202e" not in answer.text
    assert "\\\\u202e" in answer.text
    assert len(answer.text) < 30_000
    assert len(answer.report["failure"]["traceback"]) <= 41


def test_an_error_that_has_no_text_is_still_told(broken) -> None:
    assert "Unprintable" in broken("raise-unprintable").finding("vectorization.worker_raised")["got"]


def test_an_interrupt_raised_by_an_environment_is_its_error_and_not_ours(broken) -> None:
    assert "KeyboardInterrupt" in broken("interrupt").finding("vectorization.worker_raised")["got"]


def test_people_see_the_traceback_labelled(tool: Tool, tmp_path: Path) -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/benchmark_vectorization.py"), *FOUR, "--inject", "raise:2:5"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "worker 2 | Traceback (most recent call last):"
    assert all(line.startswith("worker 2 | ") for line in lines)
    assert "worker 2, environment 4, step 5" in done.stderr

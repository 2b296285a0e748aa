"""Runs the benchmark as a user does, and looks for what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "benchmark_vectorization.py"


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(SCRIPT), *arguments]


def workers_of(parent: int) -> list[int]:
    """The living workers of a parent, by its id on their command lines (spawn) or in /proc (fork)."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == parent:
            continue
        try:
            words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            status = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        spawned = any(word.endswith(b"worker/start.py") for word in words) and str(parent).encode() in words
        forked = int(status[1]) == parent and any(word.endswith(SCRIPT.name.encode()) for word in words)
        if (spawned or forked) and status[0] != "Z":
            found.append(int(name))
    return found


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


Benchmark = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def benchmark_run(tmp_path: Path, clean_environment: dict[str, str]) -> Benchmark:
    """``benchmark_run("--seconds", "2", ...)``: exit status, JSON report, stderr."""

    def run(*arguments: str, timeout: float = 60) -> tuple[int, dict[str, Any], str]:
        done = subprocess.run(
            command(*arguments, "--json"),
            cwd=tmp_path,
            env=clean_environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        report = json.loads(done.stdout)
        assert report["exit_status"] == done.returncode
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, report, done.stderr

    return run


def measured(**changes: Any) -> dict[str, Any]:
    """A report, made in this process: short runs, and as much time as a busy machine needs for them.

    Names are those of `benchmark.Options` and `load.Load`.
    """
    from _skill.vectorization import benchmark, sweep
    from _skill.vectorization.faults import Fault
    from _skill.vectorization.interruption import Watch
    from _skill.vectorization.load import Load

    load = Load("burn", 20.0, "constant", 0.0, 256, 1000)
    load = load._replace(**{name: value for name, value in changes.items() if name in Load._fields})
    options = benchmark.Options(load, [], [2], [4], [], True, 0.0, 1, "spawn", 120.0, 3, 30.0, Fault())
    options = options._replace(**{name: value for name, value in changes.items() if name not in Load._fields})
    with pytest.MonkeyPatch.context() as patch, Watch() as watch:
        patch.setattr(sweep, "_MOST_SECONDS", 0.1)
        return benchmark.run(options, watch)


@pytest.fixture(autouse=True)
def nothing_in_shared_memory() -> Iterator[None]:
    """No test may leave a name in /dev/shm that looks like ours."""
    yield
    if os.path.isdir("/dev/shm"):
        assert [name for name in os.listdir("/dev/shm") if name.startswith("puffer")] == []

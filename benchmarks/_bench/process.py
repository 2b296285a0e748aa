"""Run one command and measure it from outside: wall time, processor time, peak memory of its whole tree, disturbance.

Memory is the proportional set size (PSS: shared pages are divided among the processes that share them), summed over
the tree and sampled, so a peak shorter than a sample can be missed. `largest_rss_mb`, which the kernel keeps exactly,
is the largest single process of the tree.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from _bench import host

SAMPLE_SECONDS = 0.05
OUTPUT_KEPT = 200_000
GRACE_SECONDS = 3.0


@dataclass(frozen=True)
class Measured:
    """One finished process. Seconds are wall-clock seconds unless named otherwise; MB are 2**20 bytes."""

    exit_status: int
    timed_out: bool
    seconds: float
    cpu_seconds: float
    other_cores: float | None
    stolen_cores: float | None
    peak_pss_mb: float | None
    largest_rss_mb: float
    output: str
    error_output: str

    def record(self) -> dict[str, Any]:
        """What goes into a JSON report: everything but the output."""
        return {
            "exit_status": self.exit_status,
            "timed_out": self.timed_out,
            "process_seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "other_cores": self.other_cores,
            "stolen_cores": self.stolen_cores,
            "peak_pss_mb": self.peak_pss_mb,
            "largest_rss_mb": self.largest_rss_mb,
        }

    def json_line(self) -> dict[str, Any] | None:
        """The last line of the output that is a JSON object."""
        for line in reversed(self.output.splitlines()):
            if line.startswith("{"):
                try:
                    value = json.loads(line)
                except ValueError:
                    continue
                if isinstance(value, dict):
                    return value
        return None


def tree(pid: int) -> Iterator[int]:
    """A process and all that it started and that still live."""
    yield pid
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        for child in host.read_text(f"/proc/{pid}/task/{thread}/children").split():
            yield from tree(int(child))


def proportional_set_mb(pid: int) -> float:
    """Memory of one process; 0 when it is gone."""
    size = host.fields_of(host.read_text(f"/proc/{pid}/smaps_rollup")).get("Pss", "0 kB")
    return int(size.split()[0]) / 1024


class MemorySampler(threading.Thread):
    """Keeps the largest memory seen of a process tree until it is stopped."""

    def __init__(self, pid: int, every: float = SAMPLE_SECONDS) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.every = every
        self.peak_mb = 0.0
        self.ended = threading.Event()

    def run(self) -> None:
        """Sample until stopped."""
        while not self.ended.wait(self.every):
            self.peak_mb = max(self.peak_mb, sum(proportional_set_mb(pid) for pid in set(tree(self.pid))))

    def stop(self) -> float | None:
        """End the thread; the peak, or None when nothing could be sampled."""
        self.ended.set()
        if self.ident is not None:
            self.join()
        return self.peak_mb or None


def end_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process group that this module started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def wait_briefly(pid: int, seconds: float) -> None:
    """Wait for a child to end, no longer than this; it is not reaped."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
            return
        time.sleep(0.02)


def tail(file: BinaryIO) -> str:
    """The last part of what was written to a file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - OUTPUT_KEPT))
    return file.read(OUTPUT_KEPT).decode("utf-8", errors="replace")


def measure(
    command: Sequence[str], *, environment: Mapping[str, str] | None = None, folder: Path | None = None, limit: float
) -> Measured:
    """Run `command` for at most `limit` seconds. Raises OSError when it cannot be started.

    It gets a process group of its own, which is ended when the limit passes and when the benchmark is interrupted,
    first politely, so that it can end what it started in other groups; and once more when the command is done.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        before = host.cpu_time()
        start = time.perf_counter()
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=None if environment is None else dict(environment),
            cwd=folder,
            start_new_session=True,
        )
        sampler = MemorySampler(process.pid)
        passed = threading.Event()

        def end_politely() -> None:
            passed.set()
            end_group(process.pid, signal.SIGTERM)

        timers = [
            threading.Timer(limit, end_politely),
            threading.Timer(limit + GRACE_SECONDS, end_group, (process.pid, signal.SIGKILL)),
        ]
        done = False
        try:
            sampler.start()
            for timer in timers:
                timer.daemon = True
                timer.start()
            # Not reaped yet, so that its number, which is also its group's, cannot belong to another process.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            seconds = time.perf_counter() - start
            done = True
        finally:
            if not done:
                end_group(process.pid, signal.SIGTERM)
                wait_briefly(process.pid, GRACE_SECONDS)
            end_group(process.pid, signal.SIGKILL)
            for timer in timers:
                timer.cancel()
                if timer.ident is not None:
                    timer.join()
            peak = sampler.stop()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        after = host.cpu_time()
        cpu_seconds = usage.ru_utime + usage.ru_stime
        other = stolen = None
        if before is not None and after is not None:
            other = max(0.0, (after.busy - before.busy - cpu_seconds) / seconds)
            stolen = max(0.0, (after.stolen - before.stolen) / seconds)
        return Measured(
            exit_status=process.returncode,
            timed_out=passed.is_set(),
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            other_cores=other,
            stolen_cores=stolen,
            peak_pss_mb=peak,
            largest_rss_mb=usage.ru_maxrss / 1024,
            output=tail(output),
            error_output=tail(errors),
        )

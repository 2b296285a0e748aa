"""Runs a compiler or the C driver: no network, writing in one folder only, bounded time, memory and output.

Nothing that the child says is trusted, and nothing of it is left when `run` returns.
"""

from __future__ import annotations

import functools
import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..findings import could_not
from ..process import file_isolation, network_isolation, process_tree
from .contract import Isolation

MAX_REPORT = 4 << 20
MAX_KEPT = 64 << 10
MAX_OUTPUT = 1 << 20
"""An environment that prints more than this is ended."""
POLL_SECONDS = 0.02


class Bounds(NamedTuple):
    """What the child may use."""

    seconds: float
    memory_mb: int
    quiet_seconds: float = 0.0
    """How long `moved` may stay the same; 0 where nobody looks."""
    address_space: bool = False
    """Whether address space is bounded too; a program with the address sanitizer reserves terabytes of it."""


class Ended(NamedTuple):
    """How the child ended, and what it said."""

    exit_status: int | None
    signal: str | None
    limit: str | None
    """`hang`, `time`, `memory` or `output`."""
    stdout: str
    stderr: str
    output_bytes: int
    report: str
    seconds: float
    peak_memory_bytes: int


def isolation(bounds: Bounds) -> list[Isolation]:
    """What holds here, in words for the report."""
    network, files = _unavailable()
    words = "no network: a namespace of its own"
    held = "writing only in a private folder that was removed"
    return [
        Isolation(
            "network", network is None, f"THE ENVIRONMENT COULD REACH THE NETWORK: {network}" if network else words
        ),
        Isolation(
            "files", files is None, f"THE ENVIRONMENT COULD WRITE FILES OF THIS USER: {files}" if files else held
        ),
        Isolation("memory", True, f"at most {bounds.memory_mb} MiB resident"),
        Isolation("time", True, f"{bounds.seconds:g} s in all, {bounds.quiet_seconds:g} s for one call"),
        Isolation("secrets", True, "a clean set of environment variables"),
    ]


def run(
    command: Sequence[str],
    work: str,
    bounds: Bounds,
    variables: dict[str, str] | None = None,
    handles: Sequence[int] = (),
    report: bool = False,
    moved: Callable[[], bytes] | None = None,
) -> Ended:
    """Runs `command` in the folder `work`. With `report` the word at index 2 is replaced by the number of a pipe's end.

    `handles` are inherited; `moved` returns something that changes while the child makes progress.
    """
    import subprocess

    no_network, no_writing = (reason is None for reason in _unavailable())
    parent = os.getpid()
    process_tree.adopt_orphans()
    siblings = set(process_tree.descendants(parent))
    read, write = os.pipe() if report else (-1, -1)
    words = [str(write) if report and index == 2 else word for index, word in enumerate(command)]

    def prepare() -> None:
        if no_network:
            network_isolation.isolate()
        if no_writing:
            file_isolation.restrict([work])
        _set_limits(bounds)
        process_tree.die_with_parent(signal.SIGKILL, parent)

    started = time.monotonic()
    try:
        process = subprocess.Popen(
            words,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TMPDIR": work, **(variables or {})},
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=[*handles, *([write] if report else [])],
            preexec_fn=prepare,
        )
    except (OSError, subprocess.SubprocessError) as error:
        if report:
            os.close(read)
        raise could_not("c_env.start", f"the program cannot be started: {error}", where=words[0]) from None
    finally:
        if report:
            os.close(write)
    assert process.stdout is not None and process.stderr is not None
    streams = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    if report:
        streams[read] = bytearray()
    watch = _Watch(process.pid, bounds, streams, read, moved)
    try:
        watch.follow()
    finally:
        _end_all(process.pid, siblings)
        status = process.wait()
        watch.drain()
        out, err = (bytes(streams[stream.fileno()]) for stream in (process.stdout, process.stderr))
        process.stdout.close()
        process.stderr.close()
        if report:
            os.close(read)
    return Ended(
        exit_status=status if status >= 0 else None,
        signal=_name(-status) if status < 0 else None,
        limit=watch.limit,
        stdout=out[:MAX_KEPT].decode("utf-8", "replace"),
        stderr=err[:MAX_KEPT].decode("utf-8", "replace"),
        output_bytes=watch.output_bytes,
        report=bytes(streams.get(read, b"")).decode("utf-8", "replace"),
        seconds=time.monotonic() - started,
        peak_memory_bytes=watch.peak,
    )


class _Watch:
    """Reads what the child says and looks at its bounds until it has ended or must be ended."""

    def __init__(
        self, pid: int, bounds: Bounds, streams: dict[int, bytearray], report: int, moved: Callable[[], bytes] | None
    ) -> None:
        self.pid = pid
        self.bounds = bounds
        self.streams = streams
        self.open = set(streams)
        self.report = report
        self.moved = moved
        self.limit: str | None = None
        self.output_bytes = 0
        self.peak = 0

    def follow(self) -> None:
        """Returns when the child has ended or broken a bound."""
        import select

        poller = select.poll()
        for handle in self.open:
            os.set_blocking(handle, False)
            poller.register(handle, select.POLLIN)
        started = since = time.monotonic()
        before = b""
        looked = 0.0
        while os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and self.limit is None:
            for handle, _ in poller.poll(POLL_SECONDS * 1000):
                if not self.read(handle):
                    poller.unregister(handle)
            now = time.monotonic()
            if not self.open:
                time.sleep(0.005)
            if now - looked < POLL_SECONDS:
                continue
            looked = now
            memory = process_tree.memory_bytes([self.pid, *process_tree.descendants(self.pid)])
            self.peak = max(self.peak, memory)
            here = self.moved() if self.moved else b""
            if here != before or not self.bounds.quiet_seconds:
                before, since = here, now
            if memory > self.bounds.memory_mb << 20:
                self.limit = "memory"
            elif now - since > self.bounds.quiet_seconds > 0:
                self.limit = "hang"
            elif now - started > self.bounds.seconds:
                self.limit = "time"

    def read(self, handle: int) -> bool:
        """Reads once; False at the end of the stream."""
        try:
            data = os.read(handle, 65536)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            self.open.discard(handle)
            return False
        most = MAX_REPORT if handle == self.report else MAX_KEPT
        kept = self.streams[handle]
        kept += data[: max(0, most - len(kept))]
        if handle == self.report:
            self.limit = "output" if len(kept) >= MAX_REPORT else self.limit
        else:
            self.output_bytes += len(data)
            self.limit = "output" if self.output_bytes > MAX_OUTPUT else self.limit
        return True

    def drain(self) -> None:
        """Reads what is left in the pipes; bounded, and nothing waits."""
        for handle in list(self.open):
            for _ in range(200):
                before = len(self.streams[handle]) + self.output_bytes
                if not self.read(handle) or len(self.streams[handle]) + self.output_bytes == before:
                    break


@functools.cache
def _unavailable() -> tuple[str | None, str | None]:
    """Why a child cannot be cut off from the network, and from files: asked once in a process."""
    return network_isolation.unavailable(), file_isolation.unavailable()


def _end_all(pid: int, siblings: set[int]) -> None:
    """Kills the child's group and whatever descends from it, and collects what was adopted."""
    deadline = time.monotonic() + 2.0
    while True:
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        others = [one for one in process_tree.descendants(os.getpid()) if one not in siblings and one != pid]
        for other in others:
            try:
                os.kill(other, signal.SIGKILL)
                os.waitpid(other, os.WNOHANG)
            except (ProcessLookupError, ChildProcessError):
                continue
        if not others or time.monotonic() > deadline:
            return
        time.sleep(0.005)


def _set_limits(bounds: Bounds) -> None:
    """In the new child: the kernel's own limits, for what a watch could miss between two looks."""
    import resource

    limits = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 64 << 20),
        (resource.RLIMIT_CPU, int(bounds.seconds) + 5),
    ]
    if bounds.address_space:
        limits.append((resource.RLIMIT_AS, (bounds.memory_mb + 2048) << 20))
    for name, bound in limits:
        hard = resource.getrlimit(name)[1]
        value = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(name, (value, value))


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

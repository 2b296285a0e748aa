"""Runs the one child process of a launch: limits, watchdog, signals, and an end in bounded time.

The child is a session of its own. Ctrl-C and SIGTERM reach it as the same signal, once, so that it can write its
last checkpoint; a second one, or a grace that runs out, kills the whole tree. When the child has ended nothing of it
is left alive, and when the gate itself is killed the child is told to stop.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..plans.plan import Limits
from . import process_tree
from .isolation import Isolation

if TYPE_CHECKING:
    import select

    from .child_output import OutputLog, OutputStream

GRACE_SECONDS = 10.0
"""How long a child may take to write its last checkpoint after a signal."""
REPEAT_SECONDS = 0.5
POLL_SECONDS = 0.2
MOST_PROCESSES = 512
"""Processes of one run; more is a program that multiplies itself."""
MOST_LOOKS = 200
CACHE_BYTES = 256 << 20
"""How much a run may add to a cache before that counts as its own disk."""


class Outcome(NamedTuple):
    """How the child ended."""

    exit_status: int | None
    """Its exit status; None where a signal ended it."""
    signal: str | None
    """The signal that ended it, by name."""
    limit: str | None
    """The limit that it broke."""
    interrupted: int | None
    """SIGINT or SIGTERM, where one reached the gate."""
    seconds: float
    peak_memory_bytes: int


class Output(NamedTuple):
    """Where a child's output goes."""

    log: OutputLog
    hide: Callable[[str], str]
    """Hides secrets in a text."""
    stdout: int
    """The handle that the child's standard output is passed on to; its standard error goes to ours."""


class Disk(NamedTuple):
    """Folders whose size counts as the run's disk."""

    folders: tuple[str, ...]
    cache: str | None = None
    """A folder of which only growth beyond CACHE_BYTES counts."""


class _Stop:
    """How far stopping the child has come."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.limit: str | None = None
        self.interrupted: int | None = None
        self.kill_at: float | None = None
        self.asked_at = 0.0

    def ask(self, number: int) -> None:
        """Asks the whole group to stop; asked again, kills."""
        now = time.monotonic()
        if self.kill_at is not None:
            # One Ctrl-C can arrive as several signals at once; only a later one means "now".
            if now - self.asked_at > REPEAT_SECONDS:
                self.kill_at = 0.0
            return
        self.asked_at = now
        self.kill_at = now + GRACE_SECONDS
        _signal_group(self.pid, number)
        # One that has stopped itself hears nothing before it goes on.
        _signal_group(self.pid, signal.SIGCONT)

    def break_limit(self, limit: str) -> None:
        if self.limit is None and self.interrupted is None:
            self.limit = limit
            self.ask(signal.SIGTERM)


def supervise(
    command: Sequence[str],
    variables: Mapping[str, str],
    folder: str,
    limits: Limits,
    run_folder: str,
    lock: int,
    stdout: int | None,
    interpreter: os.stat_result,
    *,
    isolation: Isolation = Isolation(),  # noqa: B008 - a constant
    output: Output | None = None,
    disk: Disk | None = None,
) -> Outcome:
    """Starts `command` in `folder` and returns when it and everything it started have ended.

    `lock` is a file handle that the child inherits; `stdout` a handle for its standard output, or None for ours.
    `interpreter` is the file that was hashed: a child that turns out to run another one is killed at once. With
    `output` what it prints is filtered and kept; without, it goes where our own output goes.
    """
    import select
    import subprocess

    process_tree.adopt_orphans()
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_read, False)
    os.set_blocking(wake_write, False)
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGCHLD]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        # Under nohup a hang-up is ignored, and stays ignored.
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    before_wake = signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    parent = os.getpid()
    streams, ends = _streams(output)

    def prepare() -> None:
        _set_limits(limits)
        isolation.enter()
        # Last, since a new user namespace forgets it.
        process_tree.die_with_parent(signal.SIGTERM, parent)

    started = time.monotonic()
    watched = disk or Disk((run_folder,))
    try:
        try:
            process = subprocess.Popen(
                list(command),
                env=dict(variables),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=ends[0] if ends else stdout,
                stderr=ends[1] if ends else None,
                start_new_session=True,
                pass_fds=(lock,),
                preexec_fn=prepare,
            )
        except subprocess.SubprocessError:
            raise OSError(1, "the kernel refused one of its bounds") from None
        finally:
            for end in ends:
                os.close(end)
        try:
            stop = _Stop(process.pid)
            if not _runs(process.pid, interpreter):
                stop.limit = "interpreter"
                stop.kill_at = 0.0
            poller = select.poll()
            for handle in (wake_read, *(stream.handle for stream in streams)):
                poller.register(handle, select.POLLIN)
            peak = _watch(process.pid, stop, poller, wake_read, limits, watched, started, streams)
        finally:
            _kill_all(process.pid)
            status = process.wait()
            _reap()
    finally:
        for stream in streams:
            # All writers are dead: what is left is in the pipe.
            stream.read(64)
            stream.finish()
        signal.set_wakeup_fd(before_wake)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(wake_read)
        os.close(wake_write)
    return Outcome(
        exit_status=status if status >= 0 else None,
        signal=signal.Signals(-status).name if status < 0 else None,
        limit=stop.limit,
        interrupted=stop.interrupted,
        seconds=time.monotonic() - started,
        peak_memory_bytes=peak,
    )


def _streams(output: Output | None) -> tuple[list[OutputStream], list[int]]:
    """The readers of the child's output, and the child's ends of them: standard output, standard error."""
    if output is None:
        return [], []
    from .child_output import OutputStream

    streams, ends = [], []
    for onward in (output.stdout, 2):
        read, write = _terminal() if os.isatty(onward) else os.pipe()
        streams.append(OutputStream(read, onward, output.log, output.hide))
        ends.append(write)
    return streams, ends


def _terminal() -> tuple[int, int]:
    """A terminal of the child's own, so that it shows a live line where we have a terminal."""
    import termios

    read, write = os.openpty()
    state = termios.tcgetattr(write)
    # As it was written: no line end is changed, nothing is echoed.
    state[1] &= ~termios.OPOST
    state[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)
    termios.tcsetattr(write, termios.TCSANOW, state)
    return read, write


def _watch(
    pid: int,
    stop: _Stop,
    poller: select.poll,
    wake: int,
    limits: Limits,
    disk: Disk,
    started: float,
    streams: Sequence[OutputStream],
) -> int:
    """Waits for the child's end; returns the most memory that was seen."""
    peak = 0
    look_at = 0.0
    cache_before = process_tree.disk_bytes(disk.cache) if disk.cache else 0
    while not _ended(pid):
        now = time.monotonic()
        if stop.kill_at is not None and now >= stop.kill_at:
            _kill_all(pid)
        if now - started > limits.wall_seconds:
            stop.break_limit("wall_seconds")
        if now >= look_at:
            look_at = now + POLL_SECONDS
            peak = max(peak, _look(pid, stop, limits, disk, cache_before))
        wait = min(look_at - now, max(0.0, started + limits.wall_seconds - now) + 0.01)
        ready = {handle for handle, _ in poller.poll(max(wait, 0.001) * 1000)}
        for stream in streams:
            if stream.open and (stream.handle in ready or stream.waiting):
                stream.read()
                if not stream.open:
                    poller.unregister(stream.handle)
        for number in _received(wake):
            if number != signal.SIGCHLD:
                asked = signal.SIGINT if number == signal.SIGINT else signal.SIGTERM
                stop.interrupted = stop.interrupted or asked
                stop.ask(asked)
    return peak


def _look(pid: int, stop: _Stop, limits: Limits, disk: Disk, cache_before: int) -> int:
    """Looks at memory, disk and the number of processes; returns the memory in use."""
    processes = [pid, *process_tree.descendants(pid)]
    memory = process_tree.memory_bytes(processes)
    if memory > limits.memory_mb << 20:
        # Pages that several processes share were counted for each; looking closer takes longer.
        memory = min(memory, process_tree.own_memory_bytes(processes))
        if memory > limits.memory_mb << 20:
            stop.break_limit("memory_mb")
    if len(processes) > MOST_PROCESSES:
        stop.break_limit("processes")
        stop.kill_at = 0.0
    used = sum(process_tree.disk_bytes(folder) for folder in disk.folders)
    if disk.cache:
        used += max(0, process_tree.disk_bytes(disk.cache) - cache_before - CACHE_BYTES)
    if used > limits.disk_mb << 20:
        stop.break_limit("disk_mb")
    return memory


def _received(wake: int) -> bytes:
    """The numbers of the signals that have arrived since the last call."""
    try:
        return os.read(wake, 512)
    except BlockingIOError:
        return b""


def _ended(pid: int) -> bool:
    """Whether the child has ended; it stays unreaped, so that its group's number is not given to another one."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _runs(pid: int, interpreter: os.stat_result) -> bool:
    """Whether the child runs the very file that was hashed; True where the system cannot tell."""
    try:
        found = os.stat(f"/proc/{pid}/exe")
    except OSError:
        return True
    return (found.st_dev, found.st_ino) == (interpreter.st_dev, interpreter.st_ino)


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return


def _kill_all(pid: int) -> None:
    """Kills the child's group, and whatever left the group but descends from the child or was adopted from it.

    Again until nothing new is found: a program that multiplies itself is faster than one look.
    """
    _signal_group(pid, signal.SIGKILL)
    killed = {pid}
    for _ in range(MOST_LOOKS):
        left = [other for other in process_tree.descendants(os.getpid()) if other not in killed]
        if not left:
            return
        for other in left:
            try:
                os.kill(other, signal.SIGKILL)
            except ProcessLookupError:
                pass
            killed.add(other)


def _reap() -> None:
    """Collects adopted processes that have been killed; they cannot outlive SIGKILL, so the wait is short."""
    deadline = time.monotonic() + 2.0
    while time.monotonic() < deadline:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            time.sleep(0.005)


def _set_limits(limits: Limits) -> None:
    """In the new child: hard limits of the system, for what a watchdog could miss between two looks."""
    import resource

    cores = os.cpu_count() or 1
    # Address space is larger than memory in use: thread stacks and mapped files count too.
    bounds = (
        (resource.RLIMIT_CORE, 0),
        # The compiler writes elsewhere and may need more than a small run's folder; the watchdog is exact.
        (resource.RLIMIT_FSIZE, max(limits.disk_mb, 256) << 20),
        (resource.RLIMIT_CPU, limits.wall_seconds * cores + 60),
        (resource.RLIMIT_AS, (2 * limits.memory_mb + 4096) << 20),
    )
    for name, bound in bounds:
        hard = resource.getrlimit(name)[1]
        value = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(name, (value, value))

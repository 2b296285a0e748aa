"""Runs the worker: a child process with limits, its output captured, its hangs seen, and nothing of it left behind.

The environment shares the worker's process, so nothing that comes from there is trusted: not the messages, not the
progress, not the output. What holds is what the kernel holds: no network, no writing outside a folder that is removed
afterwards, limits on memory, time, file size and processes.
"""

from __future__ import annotations

import functools
import os
import signal
import time
from typing import Any, NamedTuple

from ..findings import TERMINATED, Refusal, could_not
from ..process import file_isolation, network_isolation, process_tree, shared_memory_isolation
from .contract import Isolation

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker", "start.py")
PROGRESS_BYTES = 512
MAX_MESSAGES = 4 << 20
MAX_SHOWN = 2000
MAX_TRACE = 60_000
MAX_FILE_MB = 256
MAX_PROCESSES = 64
EXIT_SECONDS = 3.0
"""How long the process may take to end after it has said that it is done."""
POLL_SECONDS = 0.05
KEPT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "MUJOCO_GL",
    "OPENBLAS_CORETYPE",
)
"""Variables that the child is given; everything else, credentials among it, stays out."""


class Progress(NamedTuple):
    """The call that was in progress."""

    phase: str = ""
    call: str = ""
    environment: int = -1
    episode: int = -1
    step: int = -1
    agent: str = ""


class ChildOutcome(NamedTuple):
    """How the child ended, and everything it said."""

    messages: bytes
    exit_status: int | None
    signal: str | None
    limit: str | None
    """`hang`, `wall`, `memory`, `disk`, `processes`, `messages` or `exit`."""
    progress: Progress
    output_bytes: int
    output: str
    trace: str
    seconds: float
    peak_memory_bytes: int


class Limits(NamedTuple):
    """What the child may use."""

    wall_seconds: float
    call_seconds: float
    memory_mb: int


class Means(NamedTuple):
    """What the system offers to keep a child apart; a reason is None where it works."""

    network: str | None
    files: str | None
    own_shared_memory: bool


@functools.cache
def means() -> Means:
    """Tried once, in children that end at once."""
    network = network_isolation.unavailable()
    return Means(network, file_isolation.unavailable(), network is None and shared_memory_isolation.available())


def isolation(limits: Limits) -> list[Isolation]:
    """What holds here, in words for the report."""
    network, files, shared = means()
    linux = process_tree.VISIBLE
    return [
        Isolation(
            "network",
            network is None,
            "no network: a namespace of its own"
            if network is None
            else f"THE ENVIRONMENT COULD REACH THE NETWORK: {network}",
        ),
        Isolation(
            "files",
            files is None,
            "writing only in a private folder that was removed"
            + (", and in a /dev/shm of its own" if shared else "")
            + "; reading was not bounded"
            if files is None
            else f"THE ENVIRONMENT COULD WRITE FILES OF THIS USER: {files}",
        ),
        Isolation(
            "memory",
            linux,
            f"at most {limits.memory_mb} MiB resident"
            if linux
            else f"address space of {limits.memory_mb + 4096} MiB; resident memory is not watched on this system",
        ),
        Isolation("time", True, f"{limits.wall_seconds:g} s in all, {limits.call_seconds:g} s for one call"),
        Isolation(
            "processes",
            linux,
            f"at most {MAX_PROCESSES} processes; all were ended"
            if linux
            else "only the process group was ended: this system shows no process tree",
        ),
        Isolation("secrets", True, "a clean set of environment variables, no credential of the caller among them"),
    ]


def run(python: str, job: dict[str, Any], limits: Limits) -> ChildOutcome:
    """Runs one job to its end. SIGINT and SIGTERM end it, too, and leave nothing behind."""
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="check-env-")

    def terminated(*_: object) -> None:
        raise Refusal(exit_status=TERMINATED)

    before = signal.signal(signal.SIGTERM, terminated)
    try:
        return _run(python, job, limits, folder)
    finally:
        signal.signal(signal.SIGTERM, before)
        shutil.rmtree(folder, onerror=_make_removable)


def _make_removable(function: Any, path: str, error: Any) -> None:
    """A folder that was made unreadable is made readable and removed; links are not followed."""
    try:
        os.chmod(os.path.dirname(path), 0o700)
        if not os.path.islink(path):
            os.chmod(path, 0o700)
        function(path)
    except OSError:
        return


def _run(python: str, job: dict[str, Any], limits: Limits, folder: str) -> ChildOutcome:
    import json
    import mmap
    import subprocess

    job_path = os.path.join(folder, "job.json")
    with open(job_path, "w", encoding="utf-8") as stream:
        json.dump(job, stream)
    work = os.path.join(folder, "work")
    os.mkdir(work)
    progress_handle, trace_handle = _memory_file(folder, "progress"), _memory_file(folder, "trace")
    os.ftruncate(progress_handle, PROGRESS_BYTES)
    progress = mmap.mmap(progress_handle, PROGRESS_BYTES)
    read, write = os.pipe()
    os.set_blocking(read, False)
    parent = os.getpid()
    no_network, no_writing, own_memory = means().network is None, means().files is None, means().own_shared_memory
    processes = _process_limit()
    process_tree.adopt_orphans()
    siblings = set(process_tree.descendants(parent))

    def prepare() -> None:
        if no_network:
            network_isolation.isolate()
        if own_memory:
            shared_memory_isolation.isolate(limits.memory_mb)
        if no_writing:
            file_isolation.restrict([work, shared_memory_isolation.FOLDER] if own_memory else [work])
        _set_limits(limits, processes)
        process_tree.die_with_parent(signal.SIGKILL, parent)

    started = time.monotonic()
    try:
        process = subprocess.Popen(
            [python, "-B", WORKER, job_path, str(write), str(progress_handle), str(trace_handle)],
            env=_variables(work),
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(write, progress_handle, trace_handle),
            preexec_fn=prepare,
        )
    except (OSError, subprocess.SubprocessError) as error:
        os.close(read)
        raise could_not("python.start", f"the interpreter cannot be started: {error}", where=python) from None
    finally:
        os.close(write)
    watch = _Watch(process.pid, limits, progress, work, started)
    try:
        watch.follow(process, read)
    finally:
        _end_all(process.pid, siblings)
        status = process.wait()
        _reap(siblings, process.pid)
        watch.drain()
        for handle in (read, process.stdout, process.stderr):
            os.close(handle) if isinstance(handle, int) else handle.close() if handle else None
        trace = os.pread(trace_handle, MAX_TRACE, 0).decode("utf-8", "replace")
        last = watch.progress()
        progress.close()
        os.close(progress_handle)
        os.close(trace_handle)
    return ChildOutcome(
        messages=bytes(watch.messages),
        exit_status=status if status >= 0 else None,
        signal=_signal_name(-status) if status < 0 else None,
        limit=watch.limit,
        progress=last,
        output_bytes=watch.output_bytes,
        output=watch.output.decode("utf-8", "replace"),
        trace=trace,
        seconds=time.monotonic() - started,
        peak_memory_bytes=watch.peak,
    )


class _Watch:
    """Reads what the child says and looks at its limits until it has ended."""

    def __init__(self, pid: int, limits: Limits, memory: Any, work: str, started: float) -> None:
        self.pid = pid
        self.limits = limits
        self.memory = memory
        self.work = work
        self.started = started
        self.messages = bytearray()
        self.output = bytearray()
        self.output_bytes = 0
        self.limit: str | None = None
        self.peak = 0
        self.handles: dict[int, str] = {}
        self.words = b""
        self.since = started
        self.said_end = 0.0

    def follow(self, process: Any, channel: int) -> None:
        """Returns when the child has ended, or has to be ended."""
        import select

        self.handles = {channel: "messages", process.stdout.fileno(): "output", process.stderr.fileno(): "output"}
        poller = select.poll()
        for handle in self.handles:
            os.set_blocking(handle, False)
            poller.register(handle, select.POLLIN)
        looked = 0.0
        while os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and self.limit is None:
            for handle, _ in poller.poll(POLL_SECONDS * 1000):
                if not self.read(handle):
                    poller.unregister(handle)
            now = time.monotonic()
            if now - looked >= POLL_SECONDS:
                looked = now
                self.look(now)
            if len(self.handles) == 0:
                time.sleep(0.005)
        if self.limit in ("hang", "wall"):
            self.ask_for_frames()

    def read(self, handle: int) -> bool:
        """Reads once; False at the end of the stream."""
        try:
            data = os.read(handle, 65536)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            self.handles.pop(handle, None)
            return False
        if self.handles.get(handle) == "messages":
            self.messages += data[: MAX_MESSAGES + 1 - len(self.messages)]
            if b'"kind":"end"' in data:
                self.said_end = time.monotonic()
            if len(self.messages) > MAX_MESSAGES:
                self.limit = "messages"
        else:
            self.output_bytes += len(data)
            self.output += data[: MAX_SHOWN - len(self.output)]
        return True

    def look(self, now: float) -> None:
        """Compares everything with its limit."""
        words = self.memory[:]
        if words != self.words:
            self.words, self.since = words, now
        pids = [self.pid, *process_tree.descendants(self.pid)]
        memory = process_tree.memory_bytes(pids)
        self.peak = max(self.peak, memory)
        if self.said_end and now - self.said_end > EXIT_SECONDS:
            self.limit = "exit"
        elif memory > self.limits.memory_mb << 20:
            self.limit = "memory"
        elif len(pids) > MAX_PROCESSES:
            self.limit = "processes"
        elif self.progress().call and now - self.since > self.limits.call_seconds:
            self.limit = "hang"
        elif now - self.started > self.limits.wall_seconds:
            self.limit = "wall"
        elif process_tree.disk_bytes(self.work) > MAX_FILE_MB << 20:
            self.limit = "disk"

    def drain(self) -> None:
        """Reads what is left in the pipes; each read is bounded and none waits."""
        for handle in list(self.handles):
            for _ in range(200):
                if handle not in self.handles:
                    break
                before = len(self.messages) + self.output_bytes
                self.read(handle)
                if len(self.messages) + self.output_bytes == before:
                    break

    def ask_for_frames(self) -> None:
        """Asks the child where it is, and gives it a moment to say so."""
        try:
            os.kill(self.pid, signal.SIGUSR1)
        except ProcessLookupError:
            return
        time.sleep(0.2)

    def progress(self) -> Progress:
        """The call in progress as the child wrote it: text of an untrusted program."""
        parts = self.memory[:].rstrip(b"\0").decode("utf-8", "replace").split("|", 6)
        if len(parts) != 7:
            return Progress()
        numbers = [int(part) if part.lstrip("-").isdigit() and len(part) < 12 else -1 for part in parts[3:6]]
        return Progress(parts[1], parts[2], numbers[0], numbers[1], numbers[2], parts[6])


def _memory_file(folder: str, name: str) -> int:
    """A file in memory, or one in the private folder where the system has none."""
    create = getattr(os, "memfd_create", None)
    if create is not None:
        handle: int = create(name)
        return handle
    return os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def _variables(work: str) -> dict[str, str]:
    """The child's environment variables."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    user_base = os.environ.get("PYTHONUSERBASE") or os.path.join(os.path.expanduser("~"), ".local")
    quiet = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONUNBUFFERED"), "1")
    return {
        "PATH": os.defpath,
        "LC_ALL": "C.UTF-8",
        **kept,
        **quiet,
        "HOME": work,
        "TMPDIR": work,
        "PYTHONUSERBASE": user_base,
        "PYTHONDONTWRITEBYTECODE": "1",
        # An environment that opens a window gets one that nobody sees.
        "SDL_VIDEODRIVER": "dummy",
        "SDL_AUDIODRIVER": "dummy",
        "PYGAME_HIDE_SUPPORT_PROMPT": "1",
        "MPLBACKEND": "Agg",
    }


def _process_limit() -> int | None:
    """The kernel's bound on this user's processes: those there are, and some more. It does not bind root."""
    if not process_tree.VISIBLE or os.getuid() == 0:
        return None
    count = 0
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.stat(f"/proc/{entry}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{entry}/task"))
        except OSError:
            continue
    return count + 4 * MAX_PROCESSES


def _set_limits(limits: Limits, processes: int | None) -> None:
    """In the new child: the kernel's own limits, for what a watch could miss between two looks."""
    import resource

    bounds = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, MAX_FILE_MB << 20),
        (resource.RLIMIT_CPU, int(limits.wall_seconds) * 4 + 10),
        (resource.RLIMIT_AS, (limits.memory_mb + 4096) << 20),
    ]
    if processes is not None:
        bounds.append((resource.RLIMIT_NPROC, processes))
    for name, bound in bounds:
        hard = resource.getrlimit(name)[1]
        value = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(name, (value, value))


def _end_all(pid: int, siblings: set[int]) -> None:
    """Kills the child's group and everything that descends from it, until nothing new turns up."""
    deadline = time.monotonic() + 2.0
    while True:
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        others = [other for other in process_tree.descendants(os.getpid()) if other not in siblings and other != pid]
        for other in others:
            try:
                os.kill(other, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if not others or time.monotonic() > deadline:
            return
        _reap(siblings, pid)


def _reap(siblings: set[int], pid: int) -> None:
    """Collects adopted processes that were killed."""
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        others = [other for other in process_tree.descendants(os.getpid()) if other not in siblings and other != pid]
        if not others:
            return
        for other in others:
            try:
                os.waitpid(other, os.WNOHANG)
            except ChildProcessError:
                continue
        time.sleep(0.002)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

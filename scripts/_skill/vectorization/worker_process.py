"""One worker process: started with exactly the handles it needs, watched, and surely ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from .interruption import Watch
from .worker.session import Handles

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR")
_START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker", "start.py")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_REPORT_BYTES = 1 << 16


class WorkerProcess:
    """A child of this process and the parent's ends of its pipes."""

    def __init__(
        self, handles: Handles, method: str, ours: tuple[int, int, int], every: list[int], watch: Watch
    ) -> None:
        """Starts the worker with the child's ends in `handles`; `ours` are (report, bell, parent bell).

        `every` are all handles of this pool, which a forked child has to close but for its own.
        """
        self.report, self.bell, self.replies = ours
        self._watch = watch
        self._status: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        # Until the child ignores them, signals to the whole group wait; the parent gets its own afterwards.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self.pid = self._spawn(handles) if method == "spawn" else self._fork(handles, every)
            watch.pids.add(self.pid)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _spawn(self, handles: Handles) -> int:
        passed = (handles.job, handles.region, handles.report, handles.bell, handles.parent_bell)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", _START, *map(str, handles)],
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # What the interpreter itself says when it cannot start comes with the worker's last words.
            stderr=handles.report,
            pass_fds=passed,
        )
        return self._process.pid

    def _fork(self, handles: Handles, every: list[int]) -> int:
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            kept = {handles.job, handles.region, handles.report, handles.bell, handles.parent_bell}
            signal.set_wakeup_fd(-1)
            for handle in every:
                if handle not in kept:
                    os.close(handle)
            from .worker import session

            session.run(handles)
            status = 0
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else 1
        finally:
            # Nothing of the parent may run here: no handler at exit, no buffer of its output.
            os._exit(status)

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it lives."""
        if self._status is None:
            if self._process is not None:
                self._status = self._process.poll()
            else:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self._status = os.waitstatus_to_exitcode(status) if pid else None
            if self._status is not None:
                self._watch.pids.discard(self.pid)
        return self._status

    def wait(self, until: float) -> bool:
        """Whether it has ended by this instant (of time.monotonic)."""
        while self.poll() is None:
            if time.monotonic() >= until:
                return False
            time.sleep(0.002)
        return True

    def kill(self) -> None:
        """Ends it; works on a stopped and on a busy process."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def last_words(self) -> str:
        """What it left in its report pipe; never waits."""
        os.set_blocking(self.report, False)
        try:
            return os.read(self.report, _REPORT_BYTES).decode("utf-8", "replace")
        except BlockingIOError:
            return ""

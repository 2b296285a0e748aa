"""Signals to the parent: noted at once, acted upon at safe points, and forced by a second one."""

from __future__ import annotations

import os
import signal
import time
from types import FrameType
from typing import Any

from ..findings import INTERRUPTED, TERMINATED

REPEAT_SECONDS = 0.3
"""One Ctrl-C can arrive as several signals; only a later one means "now"."""


class Interrupted(Exception):
    """Raised at a safe point after a signal; `exit_status` is 130 or 143."""

    def __init__(self, exit_status: int) -> None:
        super().__init__("interrupted")
        self.exit_status = exit_status


class Watch:
    """Notes SIGINT, SIGTERM and SIGHUP while it is entered.

    Handlers never raise: a signal between starting a process and remembering it must not lose the process.
    """

    def __init__(self) -> None:
        self.pids: set[int] = set()
        """Processes that a second signal kills."""
        self._status = 0
        self._first = 0.0
        self._before: dict[int, Any] = {}
        self._wake, self._wake_write = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._wake_write, False)

    @property
    def handle(self) -> int:
        """Becomes readable when a signal has come: for `poll`."""
        return self._wake

    def __enter__(self) -> Watch:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Under nohup a hang-up is ignored, and stays ignored.
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._wake)
        os.close(self._wake_write)

    def check(self) -> None:
        """Raises Interrupted where a signal has come."""
        if self._status:
            raise Interrupted(self._status)

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not self._status:
            self._status = INTERRUPTED if number == signal.SIGINT else TERMINATED
            self._first = now
            os.write(self._wake_write, b"!")
        elif now - self._first > REPEAT_SECONDS:
            for pid in self.pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            os.write(2, b"benchmark_vectorization: stopped at once\n")
            os._exit(self._status)

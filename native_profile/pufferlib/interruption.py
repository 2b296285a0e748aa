"""SIGINT and SIGTERM as a flag that the training loop looks at between iterations; a second signal ends at once.

Python runs a signal's handler only between two of its own instructions, so not while the engine works. The second
signal must not wait for that: a thread hears of it through the descriptor that Python writes to from the real handler.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """``status`` is None until a signal comes, then the exit status that it means: 130 or 143."""

    def __init__(self) -> None:
        self.status: int | None = None
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._thread = threading.Thread(target=self._listen, name="signals", daemon=True)
        self._thread.start()
        self._earlier = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._heard) for number in _SIGNALS}

    def _heard(self, number: int, frame: FrameType | None) -> None:
        """Keeps Python's own answer (an exception, or death) away: the thread has the signal already."""

    def _listen(self) -> None:
        while heard := os.read(self._read, 1):
            if heard[0] not in _SIGNALS:
                continue
            if self.status is not None:
                os._exit(128 + heard[0])
            self.status = 128 + heard[0]

    def restore(self) -> None:
        """Puts the earlier handlers back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._earlier)
        os.close(self._write)
        self._thread.join()
        os.close(self._read)

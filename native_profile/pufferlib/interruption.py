"""SIGINT and SIGTERM as a flag that the training loop looks at between iterations; a second signal ends at once."""

from __future__ import annotations

import os
import signal
from types import FrameType


class Interruption:
    """``status`` is None until a signal comes, then the exit status that it means: 130 or 143."""

    def __init__(self) -> None:
        self.status: int | None = None
        self._before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.status is not None:
            os._exit(128 + number)
        self.status = 128 + number

    def restore(self) -> None:
        """Puts the earlier handlers back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

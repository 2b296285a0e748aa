"""Waiting for a flag: a short spin, then a sleep of bounded length on a pipe that the other side rings.

Who is about to sleep says so in a word and looks at the flag once more; who raises the flag looks at that word
afterwards. So a ring is lost only if neither sees the other, which the fence between store and load excludes; and if it
did happen, the sleep ends by itself.
"""

from __future__ import annotations

import os
import time

SLEEP_MS = 50
"""The longest sleep, milliseconds; after it the flag, the parent and the clock are looked at again."""
LEAST_SPIN_NS = 1000


class Patience:
    """How long it pays to spin, learnt from the last waits: a spin in vain halves it, one that paid doubles it.

    Where the other side has no core of its own, or its steps are long, spinning would only take time from it.
    """

    def __init__(self, most_us: float) -> None:
        self._most = max(int(most_us * 1000), LEAST_SPIN_NS)
        self.nanoseconds = self._most
        """The length of the next spin."""

    def spin(self, words: memoryview, flag: int, number: int) -> bool:
        """Whether the flag reaches `number` (or a negative word: stop) within the patience."""
        value = words[flag]
        if value >= number or value < 0:
            return True
        clock = time.perf_counter_ns
        until = clock() + self.nanoseconds
        while clock() < until:
            for _ in range(8):
                value = words[flag]
                if value >= number or value < 0:
                    self.paid(True)
                    return True
        self.paid(False)
        return False

    def paid(self, well: bool) -> None:
        """Learns from one spin."""
        longer, shorter = min(2 * self.nanoseconds, self._most), max(self.nanoseconds // 2, LEAST_SPIN_NS)
        self.nanoseconds = longer if well else shorter


def ring(bell: int) -> None:
    """Wakes who sleeps on the other end of a pipe; a full pipe has rung already, and a closed one wakes nobody."""
    try:
        os.write(bell, b"!")
    except (BlockingIOError, BrokenPipeError):
        return

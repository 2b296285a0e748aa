"""Does a fixed amount of work, calibrated once: how long it takes is then measured, not promised.

Burning until a clock says so would hide that two processes share a core. So a step does a fixed number of units, and
contention, frequency and the interpreter's lock show in the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_BLOCK = 1 << 20
_TRIALS = 9


def performer(kind: str) -> Callable[[int], None]:
    """A function that does so many units of one kind of work (`load.WORK`)."""
    if kind == "burn":
        return _burn
    if kind == "native":
        return _native()
    return _sleep


def rate(kind: str) -> float:
    """Units per microsecond on this machine, now: the fastest of some trials. A unit of sleep is a nanosecond."""
    if kind == "sleep":
        return 1000.0
    perform = performer(kind)
    units = 1 << 12 if kind == "burn" else 1 << 16
    fastest = float("inf")
    for _ in range(_TRIALS):
        started = time.perf_counter()
        for _ in range(8):
            perform(units)
        fastest = min(fastest, time.perf_counter() - started)
    return 8 * units / (fastest * 1e6)


def _burn(units: int) -> None:
    for _ in range(units):
        pass


def _sleep(units: int) -> None:
    if units:
        time.sleep(units * 1e-9)


def _native() -> Callable[[int], None]:
    import hashlib

    block = memoryview(bytes(_BLOCK))
    digest = hashlib.sha256

    def perform(units: int) -> None:
        while units > 0:
            digest(block[:units])
            units -= _BLOCK

    return perform

"""The live line of a run on standard error: redrawn in place on a terminal, plain lines every few seconds elsewhere."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

_PLAIN_SECONDS = 5.0
_LIVE_SECONDS = 0.1


def short(number: float) -> str:
    """1234567 as 1.23M."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= limit:
            return f"{number / limit:.3g}{unit}"
    return f"{number:.3g}"


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60):02d} s" if seconds < 3600 else f"{seconds / 3600:.1f} h"


class Progress:
    """Shows steps, steps/s, the mean return and the time left until the budget is used up."""

    def __init__(self, total: int, target: float | None) -> None:
        self._total, self._target = total, target
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
        self._next = 0.0
        self._open = False

    def update(self, line: dict[str, Any], rate: float, final: bool = False) -> None:
        """Shows a line of the metrics log when it is time to, or anyway when ``final``."""
        now = time.monotonic()
        if now < self._next and not final:
            return
        self._next = now + (_LIVE_SECONDS if self._live else _PLAIN_SECONDS)
        left = (self._total - line["step"]) / rate if rate > 0 else 0.0
        reached = "-" if line["return"] is None else f"{line['return']:.4g}"
        goal = "" if self._target is None else f" of {self._target:g}"
        text = f"  {short(line['step'])} steps   {short(rate)} steps/s   return {reached}{goal}"
        text += f"   {duration(line['seconds'])}" + ("" if final else f", at most {duration(max(0.0, left))} left")
        if self._live:
            sys.stderr.write("\r" + text.ljust(78) + ("\n" if final else ""))
            self._open = not final
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def say(self, text: str) -> None:
        """A line of its own."""
        sys.stderr.write(("\n" if self._open else "") + text + "\n")
        sys.stderr.flush()
        self._open = False

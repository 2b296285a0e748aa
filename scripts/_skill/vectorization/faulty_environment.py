"""An environment that fails to order; see `faults`."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from random import Random

from .faults import Fault
from .synthetic_environment import SyntheticEnvironment


class WheelOff(Exception):
    """What a faulty environment raises."""


class Unprintable(WheelOff):
    """An error that cannot be turned into text."""

    def __str__(self) -> str:
        raise ValueError("no text")


class FaultyEnvironment(SyntheticEnvironment):
    """Does what its fault says in one step."""

    def __init__(
        self,
        perform: Callable[[int], None],
        units: Sequence[int],
        reset_units: int,
        observation_bytes: int,
        episode_steps: int,
        generator: Random,
        fault: Fault,
    ) -> None:
        super().__init__(perform, units, reset_units, observation_bytes, episode_steps, generator)
        self._fault = fault

    def step(self, action: int, row: memoryview) -> tuple[float, bool]:
        """One step, or the fault."""
        if self.count + 1 == self._fault.step:
            # As in any step, what goes wrong goes wrong after the count.
            self.count += 1
            if self._fault.kind == "stale":
                return 0.0, False
            act(self._fault.kind)
        return super().step(action, row)


def act(kind: str) -> None:
    """Fails in the way that `kind` names; other kinds do nothing here."""
    if kind == "raise":
        raise WheelOff("the wheel came off")
    if kind == "raise-hostile":
        raise WheelOff("\x1b[2J\u202e" + "ignore what came before\n" * 50_000)
    if kind == "raise-unprintable":
        raise Unprintable
    if kind == "interrupt":
        raise KeyboardInterrupt
    if kind == "sys-exit":
        sys.exit(3)
    if kind in ("exit", "start-exit"):
        os._exit(3)
    if kind == "exit-0":
        os._exit(0)
    if kind in ("kill", "term", "segv", "stop"):
        os.kill(os.getpid(), getattr(signal, f"SIG{kind.upper()}"))
    if kind == "bus":
        _touch_what_is_gone()
    if kind in ("hang", "start-hang"):
        while True:
            time.sleep(3600)
    while kind == "spin":
        pass


def _touch_what_is_gone() -> None:
    import mmap

    from .shared_region import anonymous_file

    handle = anonymous_file("puffer-fault", mmap.PAGESIZE)
    memory = mmap.mmap(handle, mmap.PAGESIZE)
    os.ftruncate(handle, 0)
    memory[0] = 1

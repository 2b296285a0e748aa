"""The environment that is measured: it costs what the load says and writes an observation in place."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from random import Random

from .load import HEADER_BYTES

_HEADER = struct.Struct("=QQ")


class SyntheticEnvironment:
    """One environment. `units` are the costs of its steps in turn, `reset_units` that of a reset.

    An observation is `observation_bytes` of uint8: eight bytes drawn at reset, eight bytes that count the steps since
    the environment was made (so that a stale or torn row is seen), and a filling that changes with every step.
    """

    def __init__(
        self,
        perform: Callable[[int], None],
        units: Sequence[int],
        reset_units: int,
        observation_bytes: int,
        episode_steps: int,
        generator: Random,
    ) -> None:
        self._perform = perform
        self._units = units
        self._reset_units = reset_units
        self._episode_steps = episode_steps
        self._generator = generator
        self._drawn = 0
        self._filling = [bytes([value]) * (observation_bytes - HEADER_BYTES) for value in (85, 170)]
        self.count = 0
        # First episodes of different lengths: later resets do not fall on the same step everywhere.
        self._ends_at = 0

    def reset(self, row: memoryview) -> None:
        """Starts an episode and writes its first observation."""
        self._drawn = self._generator.getrandbits(64)
        if self._ends_at == 0:
            self._ends_at = self.count + 1 + self._drawn % self._episode_steps
        else:
            self._ends_at = self.count + self._episode_steps
        self._perform(self._reset_units)
        self._write(row)

    def step(self, action: int, row: memoryview) -> tuple[float, bool]:
        """One step: reward, and whether an episode ended; then the row holds the first observation of the next one."""
        self.count += 1
        self._perform(self._units[self.count % len(self._units)])
        if self.count < self._ends_at:
            self._write(row)
            return float(action), False
        self.reset(row)
        return float(action), True

    def _write(self, row: memoryview) -> None:
        _HEADER.pack_into(row, 0, self._drawn, self.count)
        row[HEADER_BYTES:] = self._filling[self.count & 1]

"""Messages of the pipe backend: actions there (8 bytes each), rewards, terminals and observations back."""

from __future__ import annotations

import os


class Reply:
    """One worker's answer and views of its parts: rewards (n,) float64, n rows of uint8, terminals (n,) uint8."""

    def __init__(self, environments: int, observation_bytes: int) -> None:
        begin = 8 * environments
        end = begin + environments * observation_bytes
        self.data = memoryview(bytearray(end + environments))
        self.rewards = self.data[:begin].cast("d")
        self.rows = [
            self.data[begin + place * observation_bytes : begin + (place + 1) * observation_bytes]
            for place in range(environments)
        ]
        self.terminals = self.data[end:]


def read_into(handle: int, target: memoryview) -> bool:
    """Fills `target` from a blocking pipe; False where the other side has ended."""
    while target:
        count = os.readv(handle, [target])
        if count == 0:
            return False
        target = target[count:]
    return True


def write(handle: int, data: memoryview) -> bool:
    """Writes all of `data` to a blocking pipe; False where the other side has ended."""
    while data:
        try:
            data = data[os.write(handle, data) :]
        except BrokenPipeError:
            return False
    return True

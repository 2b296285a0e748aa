"""What the child of a launch is cut off from: network, writing outside its folders, and the powers of root."""

from __future__ import annotations

import os
from typing import NamedTuple

from . import file_isolation, network_isolation

_PR_CAPBSET_DROP = 24
_CAPABILITIES = (12, 13, 16, 17, 18, 19, 21, 22, 23, 24, 25, 27, 38, 39, 40)
"""Of root's powers those over network, modules, raw devices, chroot, other processes, the system, limits and clocks."""


class Isolation(NamedTuple):
    """How one child is bounded."""

    no_network: bool = False
    writable: tuple[str, ...] | None = None
    """The only folders that it may write to; None leaves writing as it is."""

    def enter(self) -> None:
        """Bounds the calling process for good (a child between fork and exec); raises OSError where it cannot."""
        if self.no_network:
            network_isolation.isolate()
        if self.writable is not None:
            file_isolation.restrict(self.writable)
        if self != Isolation() and os.geteuid() == 0:
            _drop_powers()


def _drop_powers() -> None:
    """A program that root starts gets no more than these leave: without them it cannot undo the bounds."""
    import ctypes

    libc = ctypes.CDLL(None)
    for number in _CAPABILITIES:
        # A kernel that does not know a power has nothing to take away.
        libc.prctl(_PR_CAPBSET_DROP, *(ctypes.c_ulong(word) for word in (number, 0, 0, 0)))

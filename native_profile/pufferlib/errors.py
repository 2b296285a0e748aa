"""What the package raises when a person or a program should act: one exception, with the exit status that it means."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

REFUSED = 1  # checked and found a problem
MISUSE = 2  # could not check, or wrong use


class PufferError(Exception):
    """Says what was found, where, and what to do. ``status`` is the exit status of a command that ends with it."""

    def __init__(self, message: str, status: int = REFUSED) -> None:
        super().__init__(message)
        self.status = status


def unknown(kind: str, name: str, known: Iterable[str]) -> PufferError:
    """The error for a name that does not exist, with the nearest one that does."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = (
        f"did you mean {near[0]!r}?"
        if near
        else "known: " + ", ".join(names[:12]) + (" ..." if len(names) > 12 else "")
    )
    return PufferError(f"unknown {kind} {name!r}; {hint}", MISUSE)

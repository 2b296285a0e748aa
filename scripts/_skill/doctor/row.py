"""One line of the doctor's table."""

from __future__ import annotations

from typing import NamedTuple

from .. import machine as machines

OK = "ok"
MISSING = "missing"
LOW = "low"
COULD_NOT = "could not"
"""States: `low` works but will bite; `could not` means that nothing is known, and is never a pass."""


class Row(NamedTuple):
    """What one check found."""

    name: str
    """What was looked at, for example `compiler`."""
    state: str
    found: str
    fix: str = ""
    """The command or setting that mends it."""

    @property
    def code(self) -> str:
        """The code of a finding about this line; the part of the name before a space."""
        return "doctor." + self.name.split(" ")[0].replace("-", "_")


class Request(NamedTuple):
    """What the checks are asked for."""

    machine: machines.Machine
    folder: str
    try_imports: bool
    """Whether packages and extensions are also imported, each in a child process."""

"""What a case of the corpus is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

Build = Callable[[Path], None]
"""Makes something at a path: for what is not simply bytes."""


class Case(NamedTuple):
    """One file of the corpus."""

    name: str
    kind: str
    """The trick, or the writer."""
    file: str
    """Name of the file: its ending is part of the trick."""
    content: bytes | Build
    statuses: frozenset[int] = frozenset({1, 2})
    """Exit statuses that are right."""
    verdicts: frozenset[str] = frozenset()
    """Verdicts that are right; empty where any verdict that is not a pass will do."""

    def make(self, folder: Path) -> Path:
        """Writes the file into a folder."""
        path = folder / self.file
        if isinstance(self.content, bytes):
            path.write_bytes(self.content)
        else:
            self.content(path)
        return path


ONLY_REFUSED = frozenset({1})

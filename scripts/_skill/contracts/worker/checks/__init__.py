"""One module for each check; a new check is a new file with a class `Check`.

A check looks at the spaces (`spaces`), makes experiments before the long rollout (`before`), looks at each of its
frames (`frame`), sums up (`finish`), and makes experiments of its own with fresh environments (`after`).
"""

from __future__ import annotations

import importlib
import os

from ..subject import Subject
from .check import Check


def every(subject: Subject) -> list[Check]:
    """A new instance of each check, in their order."""
    folder = os.path.dirname(os.path.abspath(__file__))
    names = sorted(entry[:-3] for entry in os.listdir(folder) if entry.endswith(".py"))
    found = []
    for name in names:
        if name not in ("__init__", "check"):
            kind: type[Check] = importlib.import_module(f"{__name__}.{name}").Check
            made = kind(subject)
            made.name = name
            found.append(made)
    return sorted(found, key=lambda check: check.order)

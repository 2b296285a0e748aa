"""Reads the source of an environment without running it: what to look at, with line numbers, as warnings.

One module for each group of rules; a new rule is a function in a new file with `RULES = (function,)`.
"""

from __future__ import annotations

import importlib
import os

from ...findings import Finding
from ..contract import Place, found
from . import source

MAX_FINDINGS = 200


def findings(path: str, name: str = "") -> list[Finding]:
    """Every warning about a Python file, by line; with a name, classes that it has nothing to do with are left out."""
    read = source.read(path)
    warnings: list[source.Warned] = []
    for entry in sorted(os.listdir(os.path.dirname(os.path.abspath(__file__)))):
        if entry.endswith(".py") and entry not in ("__init__.py", "source.py"):
            for rule in importlib.import_module(f"{__name__}.{entry[:-3]}").RULES:
                warnings.extend(rule(read))
    others = source.unrelated(read.tree, name)
    warnings = [warned for warned in warnings if not any(warned.line in lines for lines in others)]
    warnings.sort(key=lambda warned: (warned.line, warned.code))
    return [
        found(
            warned.code,
            warned.message,
            Place(f"{os.path.basename(path)}:{warned.line}"),
            got=warned.got,
            fix=warned.fix,
            severity="warning",
        )
        for warned in warnings[:MAX_FINDINGS]
    ]


def fixed_seeds(warnings: list[Finding]) -> list[int]:
    """The lines that make a random generator from a constant."""
    return [int(f.pointer.rpartition(":")[2]) for f in warnings if f.code == "static.fixed_seed"]

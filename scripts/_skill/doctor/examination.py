"""All checks in one list; adding a subject is adding a file with a `check` and its name here."""

from __future__ import annotations

from collections.abc import Callable

from . import compiling, packages, resources, system
from .row import Request, Row

CHECKS: tuple[Callable[[Request], list[Row]], ...] = (system.check, compiling.check, resources.check, packages.check)


def examine(request: Request) -> list[Row]:
    """Every line of every check."""
    rows: list[Row] = []
    for check in CHECKS:
        rows += check(request)
    torch = packages.low_torch(request)
    return [*rows, torch] if torch else rows

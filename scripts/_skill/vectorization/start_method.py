"""How worker processes are started: always named, and refused where it cannot be safe.

`spawn` starts a fresh interpreter that gets two anonymous files and three pipes. `fork` copies this process; it is
there because users have it, and for the faults that come with it: a copied generator, a copied lock.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from .. import text
from ..findings import COULD_NOT, Finding, Refusal

METHODS = ("spawn", "fork")


def check(method: str, factory: Callable[..., Any]) -> None:
    """Refuses a start that would go wrong later (exit 1); called before any worker exists."""
    if method == "fork":
        threads = running_threads()
        if threads > 1:
            raise Refusal(
                Finding(
                    "vectorization.fork",
                    "fork with other threads alive: a child can wait for ever for a lock that a thread held",
                    "--start-method",
                    f"{threads} threads in this process",
                    "one thread, or a method that starts a fresh interpreter",
                    "--start-method spawn",
                )
            )
        if not hasattr(os, "fork"):
            raise Refusal(Finding("vectorization.fork", "this system has no fork", "--start-method", fix="spawn"))
    elif importable(factory) is not None:
        raise Refusal(
            Finding(
                "vectorization.factory",
                f"the environments' factory cannot be sent to a fresh interpreter: {importable(factory)}",
                text.escaped(str(getattr(factory, "__qualname__", "factory"))),
                text.shown(getattr(factory, "__module__", "")),
                "a function or class at the top level of a module (what pickle calls picklable)",
                "move it to the top level of a module that a worker can import; bind arguments with settings",
            )
        )


def importable(factory: Callable[..., Any]) -> str | None:
    """Why a fresh interpreter could not find this callable by its names; None where it can."""
    module, name = getattr(factory, "__module__", None), getattr(factory, "__qualname__", "")
    if not module or not name:
        return "not picklable: it has no name of its own (a partial or an instance?)"
    if "<lambda>" in name:
        return "not picklable: it is a lambda"
    if "<locals>" in name:
        return "not picklable: it is made inside another function"
    if module == "__main__":
        return "not picklable: it lies in the program's main file, which a worker would run again"
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return None if found is factory else f"not picklable: {module}.{name} is another object"


def running_threads() -> int:
    """Threads of this process, those that Python does not know included where the system tells."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        import threading

        return threading.active_count()


def unavailable() -> Refusal:
    """The refusal where worker processes cannot be started at all (exit 2)."""
    return Refusal(
        Finding(
            "vectorization.processes",
            "worker processes need pipes that can be polled, as Linux and macOS have them",
            fix="--backends serial,threads",
        ),
        exit_status=COULD_NOT,
    )

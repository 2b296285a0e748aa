"""Where things lie: this bundle's folders, found from this file's own place and from nothing else.

There is no option or variable that points the gate at another engine: whoever could set it would choose what runs.
"""

from __future__ import annotations

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPTS = os.path.join(ROOT, "scripts")
SCHEMAS = os.path.join(ROOT, "schemas")
NATIVE_PROFILE = os.path.join(ROOT, "native_profile")
ENGINE = os.path.join(NATIVE_PROFILE, "pufferlib")
ENVIRONMENTS = os.path.join(ENGINE, "ocean")
PINS = os.path.join(NATIVE_PROFILE, "pins")

RUNS = "runs"
"""The folder of all runs, below the working folder."""


def runs_folder() -> str:
    """The absolute path of the folder of runs."""
    return os.path.join(os.path.realpath(os.getcwd()), RUNS)


def run_folder(run: str) -> str:
    """The absolute path of one run's folder."""
    return os.path.join(runs_folder(), run)


def script(name: str) -> str:
    """How to run one of the tools from the working folder: `python3 scripts/audit.py`."""
    return f"python3 {shown_path(os.path.join(SCRIPTS, name))}"


def shown_path(path: str) -> str:
    """A path for messages: relative to the working folder where it lies below it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative

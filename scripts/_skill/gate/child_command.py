"""What the child process is started with: its command line and its cleaned environment variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from ..plans.plan import Plan
from ..plans.profile import Profile

SAFE_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
COMPILERS = ("c++", "g++", "clang++")
FOLDERS = ("HOME", "TMPDIR", "XDG_CACHE_HOME")
"""Variables that name a folder; they reach the child where the path is absolute, and the digest covers them."""
PASSED_ON = (*FOLDERS, "CXX")
"""Variables that reach the child as they are, and that the digest covers."""
DISPLAY_ONLY = ("TERM", "NO_COLOR", "CI")
"""Variables that reach the child and only change how it prints."""


def command(profile: Profile, plan: Plan, run_folder: str, snapshot: str, resume: bool) -> list[str]:
    """The child's command line; every value stands in a place of its own, never where an option could."""
    # -S: no site-packages, so that no .pth file or sitecustomize of the user runs and start-up is short.
    words = [sys.executable, "-S", "-m", profile.module, "train", "--plan", os.path.join(run_folder, "plan.json")]
    words += ["--run-dir", run_folder]
    if plan.environment_path is not None:
        words += ["--env-path", os.path.join(snapshot, "environment")]
    return [*words, "--resume"] if resume else words


def compiler(variables: Mapping[str, str]) -> str | None:
    """The absolute path of the C++ compiler that the engine would find, or None."""
    named = variables.get("CXX", "").split()
    for name in named[:1] or COMPILERS:
        for folder in [""] if os.path.isabs(name) else variables.get("PATH", "").split(os.pathsep):
            path = os.path.join(folder, name)
            if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None if named else _zig()


def _zig() -> str | None:
    """The compiler of the `ziglang` wheel beside this interpreter, where there is no other."""
    import importlib.util

    found = importlib.util.find_spec("ziglang")
    program = os.path.join(os.path.dirname(found.origin), "zig") if found and found.origin else ""
    return program if os.path.isfile(program) and os.access(program, os.X_OK) else None


def variables(parent: Mapping[str, str], snapshot: str) -> dict[str, str]:
    """The child's whole environment; nothing else of the parent's reaches it, so no credential does."""
    found = compiler(parent)
    folders = list(SAFE_PATH)
    if found is not None and os.path.dirname(found) not in folders:
        folders.insert(0, os.path.dirname(found))
    cleaned = {
        **({"CXX": f"{found} c++"} if found is not None and os.path.basename(found) == "zig" else {}),
        "PATH": os.pathsep.join(folders),
        "LANG": "C.UTF-8",
        "PYTHONPATH": snapshot,
        # The copy lies in a new place at every launch: bytecode of it would never be read again.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for name in (*PASSED_ON, *DISPLAY_ONLY):
        if name in parent and (name not in FOLDERS or os.path.isabs(parent[name])):
            cleaned[name] = parent[name]
    return cleaned

"""What the child process is started with: its command line and its cleaned environment variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from ..plans.plan import Plan
from ..plans.profile import Profile
from . import credential_variables

SAFE_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
COMPILERS = ("c++", "g++", "clang++")
FOLDERS = ("HOME", "XDG_CACHE_HOME")
"""Variables that name a folder; they reach the child where the path is absolute, and the digest covers them."""
PASSED_ON = (*FOLDERS, "CXX")
"""Variables that reach the child as they are, and that the digest covers."""
DISPLAY_ONLY = ("TERM", "NO_COLOR", "CI")
"""Variables that reach the child and only change how it prints."""
NOT_ITEMS = (*DISPLAY_ONLY, "PYTHONPATH", "TMPDIR", "ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")
"""Variables of the child that follow from the run's name, or only change how it prints."""
ENGINE_CACHE = "pufferlib-native"
"""The engine's folder in the user's cache."""
OUTSIDE_CACHE = "pufferlib-native-outside"
"""Caches for environments from outside: each has its own, so that none can change what another run loads."""
START = "start.safetensors"
"""The private copy of the weights of a warm start, in the run's folder."""


def command(profile: Profile, plan: Plan, run_folder: str, snapshot: str, resume: bool) -> list[str]:
    """The child's command line; every value stands in a place of its own, never where an option could."""
    # -S: no site-packages, so that no .pth file or sitecustomize of the user runs and start-up is short.
    words = [sys.executable, "-S", "-m", profile.module, "train", "--plan", os.path.join(run_folder, "plan.json")]
    words += ["--run-dir", run_folder]
    if plan.environment_path is not None:
        words += ["--env-path", os.path.join(snapshot, "environment")]
    if resume:
        return [*words, "--resume"]
    return [*words, "--start-from", os.path.join(run_folder, START)] if plan.start["kind"] == "warm" else words


def cache_folder(parent: Mapping[str, str], plan: Plan) -> str:
    """The folder that holds the engine's own cache folder for this plan."""
    base = parent.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        home = parent.get("HOME", "")
        base = os.path.join(home if os.path.isabs(home) else os.path.expanduser("~"), ".cache")
    outside = plan.document["environment"].get("path") or plan.document["environment"].get("source")
    if outside is None:
        return base
    import hashlib

    key = hashlib.sha256(os.path.realpath(outside).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(base, OUTSIDE_CACHE, key)


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


def variables(parent: Mapping[str, str], snapshot: str, plan: Plan | None = None) -> dict[str, str]:
    """The child's whole environment; nothing else of the parent's reaches it, so no credential that no logger needs.

    Without a plan: what does not depend on one.
    """
    found = compiler(parent)
    folders = list(SAFE_PATH)
    if found is not None and os.path.dirname(found) not in folders:
        folders.insert(0, os.path.dirname(found))
    temporary = os.path.join(snapshot, "tmp")
    cleaned = {
        "PATH": os.pathsep.join(folders),
        "LANG": "C.UTF-8",
        "PYTHONPATH": snapshot,
        # The copy lies in a new place at every launch: bytecode of it would never be read again.
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": temporary,
        # A compiler's cache lies where the child may not write.
        "CCACHE_DISABLE": "1",
    }
    if found is not None and os.path.basename(found) == "zig":
        cleaned.update(CXX=f"{found} c++", ZIG_GLOBAL_CACHE_DIR=temporary, ZIG_LOCAL_CACHE_DIR=temporary)
    for name in (*PASSED_ON, *DISPLAY_ONLY):
        if name in parent and (name not in FOLDERS or os.path.isabs(parent[name])):
            cleaned[name] = parent[name]
    if plan is not None:
        cleaned["XDG_CACHE_HOME"] = cache_folder(parent, plan)
        for name in credential_variables.of(plan, parent):
            if parent.get(name):
                cleaned[name] = parent[name]
    return cleaned

"""Finds the environment that a target names: in a file, in a module, or in Gymnasium's registry."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

from .subject import At, Broken, Subject, Unavailable


def load(subject: Subject) -> Callable[[], Any]:
    """A function without arguments that makes a new environment."""
    job = subject.job
    # Behind everything that is installed: programs that use `pufferlib` find this bundle's own where there is no other.
    sys.path.append(job["engine"])
    if job["kind"] == "id":
        gymnasium = subject.call(At("import"), importlib.import_module, "gymnasium")
        # The registered checker would stop at the first problem, in words of its own; this program is the checker.
        return lambda: _registered(subject, gymnasium)
    if job["kind"] == "file":
        module = subject.call(At("import"), _from_file, job["file"])
    else:
        sys.path.insert(0, job["folder"])
        module = subject.call(At("import"), importlib.import_module, job["module"])
    target: Any = module
    for part in job["name"].split("."):
        found = getattr(target, part, None)
        if found is None:
            names = sorted(name for name, value in vars(module).items() if callable(value) and name[:1] != "_")
            subject.channel.send("no_such_name", name=job["name"], known=names[:100])
            raise Broken("import")
        target = found
    if not callable(target):
        # An environment made when the module is imported: there is only one.
        subject.note(f"{job['name']} is an instance and no class: every part of the check uses the same one")
        return lambda: target
    return lambda: target(**job["kwargs"])


def _registered(subject: Subject, gymnasium: Any) -> Any:
    """`gymnasium.make`; an id that nobody registered is no fault of an environment."""
    job = subject.job
    try:
        return gymnasium.make(job["name"], disable_env_checker=True, **job["kwargs"])
    except Exception as error:
        if type(error).__name__ in ("NameNotFound", "VersionNotFound", "NamespaceNotFound", "UnregisteredEnv"):
            registered = [str(name) for name in list(gymnasium.registry)[:5000]]
            near = difflib.get_close_matches(job["name"], registered, 20, 0.5)
            subject.channel.send("no_such_name", name=job["name"], known=near)
            raise Unavailable(job["name"]) from None
        raise


def _from_file(path: str) -> Any:
    """The module in a file, importable by its own name for processes that it starts."""
    stem = os.path.splitext(os.path.basename(path))[0]
    taken = stem in sys.modules or stem in sys.stdlib_module_names or not stem.isidentifier()
    name = f"environment_{abs(hash(path))}" if taken else stem
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"not a Python file: {os.path.basename(path)}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module

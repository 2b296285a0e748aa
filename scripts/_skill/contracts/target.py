"""What a target names: a Python file or module and a class in it, a registered id, or a C environment."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from .. import text
from ..findings import Finding, Refusal, could_not

_ID = re.compile(r"(?:[\w.]+:)?(?:[\w.-]+/)?[\w.-]+-v[0-9]+\Z")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z")
FORMS = "FILE.py:NAME, package.module:NAME, a Gymnasium id such as CartPole-v1, a C environment's name or folder"


class Target(NamedTuple):
    """A target that has been read."""

    kind: str
    """`file`, `module`, `id` or `c`."""
    name: str
    """The class or function, the id, or the C environment's name."""
    file: str = ""
    """The absolute path of the Python file or of the header; empty for a module that is installed."""
    module: str = ""


def read(words: str, api: str) -> Target:
    """The target that `words` names; a Refusal (exit 2) where it names none."""
    if "\0" in words or not words:
        raise _unknown(words, "")
    if api != "c":
        python = _python(words)
        if python is not None:
            return python
    c_environment = _c_environment(words)
    if c_environment is not None:
        return c_environment
    if api == "c":
        raise _unknown(words, "with --api c: a built-in name, or a folder that holds NAME.h")
    if _ID.match(words) or (api == "gymnasium" and _MODULE.match(words)):
        return Target("id", words)
    raise _unknown(words, "")


def _python(words: str) -> Target | None:
    """A file or a module, with or without a name."""
    path, colon, name = words.rpartition(":")
    if not colon:
        path, name = words, ""
    if path.endswith(".py"):
        file = os.path.realpath(path)
        if not os.path.isfile(file):
            raise could_not("target.file", "there is no such file", where=path, want=FORMS)
        name = name or _only_class(file)
        if not _NAME.match(name):
            raise could_not(
                "target.name", f"not a name: {text.shown(name)}", where=path, want="FILE.py:ClassOrFunction"
            )
        return Target("file", name, file)
    if colon and _MODULE.match(path) and _NAME.match(name):
        return Target("module", name, _module_file(path), path)
    return None


def _c_environment(words: str) -> Target | None:
    from ..plans import environment_folder

    path = words.rstrip("/")
    if os.path.isdir(path):
        folder = os.path.realpath(path)
        name = os.path.basename(folder)
        header = os.path.join(folder, f"{name}.h")
        if os.path.isfile(header):
            return Target("c", name, header)
        found = sorted(entry for entry in os.listdir(folder) if entry.endswith(".h"))
        if len(found) == 1:
            return Target("c", found[0][:-2], os.path.join(folder, found[0]))
        raise could_not("target.folder", f"the folder holds no {name}.h", where=path, want=FORMS)
    if words.endswith(".h") and os.path.isfile(words):
        return Target("c", os.path.basename(words)[:-2], os.path.realpath(words))
    if words in environment_folder.built_in_names():
        from .. import layout

        return Target("c", words, os.path.join(layout.ENVIRONMENTS, words, f"{words}.h"))
    return None


def _only_class(file: str) -> str:
    """The one class of a file that has both `reset` and `step`; refused where there is none or more than one."""
    from .static import source

    names = source.environment_classes(source.read(file).tree)
    if len(names) == 1:
        return names[0]
    known = text.listed(names) if names else "a class with reset and step"
    raise could_not("target.name", "say which class is to be checked", where=file, want=known, fix="FILE.py:NAME")


def _module_file(module: str) -> str:
    """The file of a module below the working folder, found without importing anything; else empty."""
    base = os.path.join(os.getcwd(), *module.split("."))
    for candidate in (f"{base}.py", os.path.join(base, "__init__.py")):
        if os.path.isfile(candidate):
            return os.path.realpath(candidate)
    return ""


def _unknown(words: str, more: str) -> Refusal:
    from ..plans import environment_folder

    near = text.nearest(words, environment_folder.built_in_names())
    return Refusal(
        Finding(
            "target.unknown",
            f"{text.shown(words)} names no environment",
            want=more or FORMS,
            fix=f"did you mean {near}?" if near else "",
        ),
        exit_status=2,
    )

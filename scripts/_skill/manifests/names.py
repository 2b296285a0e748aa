"""Which names a manifest or an archive may hold: inside the folder, and the same file on every system.

A name is judged by its components, never as a text prefix, and before anything is opened.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from .. import text
from ..findings import Finding

MAX_COMPONENT_BYTES = 255
MAX_NAME_BYTES = 2048
MAX_DEPTH = 32
"""Folders above a file, at most."""

_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"}
    | {f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"}
)
_NOT_ON_WINDOWS = '<>:"|?*'


def finding(name: str, place: str) -> Finding | None:
    """Why `name` (components joined by `/`) may not stand at `place`; None where it may."""
    reason = _leaves(name)
    if reason:
        return Finding("name.leaves", f"a name that can leave the folder: {reason}", place, text.shown(name), _WANT)
    reason = _form(name)
    if reason:
        return Finding(
            "name.form",
            f"a name that is not one and the same file on every system: {reason}",
            place,
            text.shown(name),
            _WANT,
            "rename the file",
        )
    return None


def folded(name: str) -> str:
    """What a system sees that takes composed and decomposed, upper and lower case letters as one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


class Names:
    """Names seen so far, to find those that are one file, or a file and a folder, on some system."""

    def __init__(self) -> None:
        self._exact: dict[str, str] = {"": ""}
        """Exact folder prefix or file by its folded form."""
        self._files: set[str] = set()

    def collision(self, name: str) -> str | None:
        """The name seen before that `name` cannot lie beside, if any; else `name` counts as seen."""
        parts = name.split("/")
        whole = folded(name)
        if whole in self._exact:
            return self._exact[whole]
        prefix = ""
        for part in parts[:-1]:
            prefix = f"{prefix}/{part}" if prefix else part
            key = folded(prefix)
            before = self._exact.setdefault(key, prefix)
            if before != prefix or key in self._files:
                return before
        self._exact[whole] = name
        self._files.add(whole)
        return None


def collisions(names: Iterable[str]) -> list[Finding]:
    """One finding for each name that is the same as an earlier one, exactly or on some system."""
    seen = Names()
    found = []
    for name in names:
        other = seen.collision(name)
        if other is None:
            continue
        twice = other == name
        found.append(
            Finding(
                "name.duplicate" if twice else "name.collision",
                "the name stands twice" if twice else "two names that are one file on some systems",
                text.escaped(name),
                f"{text.shown(name)} and {text.shown(other)} ({_code_points(name, other)})",
                "names that differ by more than case and the form of accents",
                "rename one of them",
            )
        )
    return found


_WANT = "folders and a file joined by /, at most 255 bytes each, all printable, none of them . or .."


def _leaves(name: str) -> str:
    if "\0" in name:
        return "it holds a NUL, where other programs stop reading"
    if name.startswith("/"):
        return "it is absolute"
    if "\\" in name:
        return "a backslash separates folders on some systems"
    if len(name) > 1 and name[1] == ":" and name[0].isascii() and name[0].isalpha():
        return "it starts with a drive letter"
    if ".." in name.split("/"):
        return "it holds .."
    return ""


def _form(name: str) -> str:
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "it is not UTF-8"
    parts = name.split("/")
    if size > MAX_NAME_BYTES:
        return f"it is longer than {MAX_NAME_BYTES} bytes"
    if len(parts) > MAX_DEPTH + 1:
        return f"it lies more than {MAX_DEPTH} folders deep"
    for part in parts:
        reason = _component(part)
        if reason:
            return reason
    return ""


def _component(part: str) -> str:
    if part in ("", "."):
        return "an empty component" if part == "" else "a component that is ."
    if len(part.encode()) > MAX_COMPONENT_BYTES:
        return f"a component of more than {MAX_COMPONENT_BYTES} bytes"
    if not part.isprintable() and any(not c.isprintable() and unicodedata.category(c) != "Zs" for c in part):
        return "a control character or one that cannot be seen"
    if part[-1] == "." or part[-1].isspace() or part[0].isspace():
        return "a component that starts or ends with a space, or ends with a dot"
    wrong = next((c for c in part if c in _NOT_ON_WINDOWS), None)
    if wrong:
        return f"the character {wrong} is not allowed on every system"
    if part.split(".", 1)[0].rstrip().lower() in _RESERVED:
        return "a name that is a device on some systems"
    return ""


def _code_points(left: str, right: str) -> str:
    """The first place where two names differ, as code points: what looks equal can be told apart."""
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return f"U+{ord(a):04X} and U+{ord(b):04X} at {index}"
    return "equal" if left == right else "one is a folder of the other"

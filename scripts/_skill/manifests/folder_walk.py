"""What lies below a folder: every plain file, found without following a link at any level.

Folders are opened through the handle of the folder above, so that nothing that is swapped in between leads
outside. Links, pipes, sockets and devices are findings, never entered.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from .. import text
from ..findings import Finding, Refusal, could_not
from . import names

MAX_FILES = 100_000
"""Files and folders that are listed, at most."""

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

# `.NAME.<12 hex digits>.tmp` is what atomic_file leaves after a kill, `.NAME.<process>.part` what the engine leaves.
_LEFT_OVER = re.compile(r"\..+\.(?:[0-9a-f]{12}\.tmp|[0-9]{1,10}\.part)\Z", re.DOTALL)
_UNFINISHED = re.compile(r".\.(?:tmp|temp|part|partial|incomplete|crdownload|download|filepart)\Z", re.IGNORECASE)


class Walk(NamedTuple):
    """What stands below a folder."""

    files: list[str]
    """Plain files, relative, components joined by `/`, sorted by code points."""
    left_overs: list[str]
    """Temporary files of writes that never ended: listed, and never taken."""
    findings: list[Finding]
    """One for each thing that is neither a plain file nor a folder."""


def open_root(path: str) -> int:
    """A handle on the folder `path`, whose last part may not be a link; the caller closes it."""
    try:
        return os.open(path.rstrip("/") or "/", OPEN_FOLDER)
    except (OSError, ValueError) as error:
        number = error.errno if isinstance(error, OSError) else errno.EINVAL
        if os.path.islink(path.rstrip("/")):
            raise Refusal(
                Finding("file.kind", "this is a link", path, "a symbolic link", "a folder, named without links")
            ) from None
        words = os.strerror(number) if number else str(error)
        raise could_not("file.unreadable", f"cannot open the folder: {words}", where=path) from None


def walk(root: int) -> Walk:
    """Lists what lies below the folder of the handle `root`; more than `MAX_FILES` names are refused."""
    found = Walk([], [], [])
    _below(root, "", 0, found, [0])
    found.files.sort()
    found.left_overs.sort()
    return found


def is_unfinished(name: str) -> bool:
    """Whether a name looks like a download or a write that has not ended."""
    return _UNFINISHED.search(name) is not None


class FolderChain:
    """Handles of the folders above one file, each opened through the one above; kept while the next file shares them.

    One chain serves one thread. `close` gives the handles back.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._parts: list[str] = []
        self._handles: list[int] = []

    def folder_of(self, parts: Sequence[str]) -> int:
        """The handle of the folder that `parts` lead to, without following links; OSError where there is none."""
        shared = 0
        while shared < min(len(parts), len(self._parts)) and parts[shared] == self._parts[shared]:
            shared += 1
        self._cut(shared)
        for part in parts[shared:]:
            handle = os.open(part, OPEN_FOLDER, dir_fd=self._handles[-1] if self._handles else self._root)
            self._handles.append(handle)
            self._parts.append(part)
        return self._handles[-1] if self._handles else self._root

    def close(self) -> None:
        """Closes every handle but the root's."""
        self._cut(0)

    def _cut(self, length: int) -> None:
        while len(self._handles) > length:
            self._parts.pop()
            os.close(self._handles.pop())


def _below(folder: int, prefix: str, depth: int, found: Walk, seen: list[int]) -> None:
    """Adds what lies in one folder; recursion ends at `names.MAX_DEPTH`."""
    inner = []
    with os.scandir(folder) as entries:
        for entry in entries:
            seen[0] += 1
            if seen[0] > MAX_FILES:
                raise Refusal(
                    Finding(
                        "manifest.limit",
                        "the folder holds too many files",
                        want=f"at most {MAX_FILES} files and folders",
                        fix="make one manifest for each of its folders, or pack small files together",
                    )
                )
            name = prefix + entry.name
            if entry.is_symlink():
                found.findings.append(_refused(name, "a symbolic link"))
            elif entry.is_dir(follow_symlinks=False):
                inner.append(entry.name)
            elif not entry.is_file(follow_symlinks=False):
                found.findings.append(_refused(name, "a pipe, socket or device"))
            elif _LEFT_OVER.match(entry.name):
                found.left_overs.append(name)
            else:
                found.files.append(name)
    for name in sorted(inner):
        if depth >= names.MAX_DEPTH:
            found.findings.append(
                Finding(
                    "manifest.limit",
                    "folders are nested too deep",
                    text.escaped(prefix + name),
                    want=f"at most {names.MAX_DEPTH} folders above a file",
                )
            )
            continue
        try:
            handle = os.open(name, OPEN_FOLDER, dir_fd=folder)
        except OSError as error:
            found.findings.append(
                Finding("file.unreadable", f"cannot open the folder: {error.strerror}", text.escaped(prefix + name))
            )
            continue
        try:
            _below(handle, f"{prefix}{name}/", depth + 1, found, seen)
        finally:
            os.close(handle)


def _refused(name: str, kind: str) -> Finding:
    return Finding(
        "file.kind",
        "not a plain file: nothing is followed, packed or read through it",
        text.escaped(name),
        kind,
        "plain files and folders only",
        "put a copy of the file in its place, or take it out of the folder",
    )

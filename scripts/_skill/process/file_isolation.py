"""Bounds where a child may write: Landlock, the kernel's own sandbox for programs without privileges (Linux 5.13).

Reading stays as it is. Inside the bound nothing outside the named folders can be written, made, removed, renamed or
cut short, whatever the child runs. Since kernel 6.12 the child can also neither signal a process outside nor reach
its abstract sockets. Where the kernel has no Landlock, `unavailable` says so, and the caller has to say so too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

# The same numbers on every architecture.
_CREATE_RULESET = 444
_ADD_RULE = 445
_RESTRICT_SELF = 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE = 1 << 1
_CHANGE_FOLDER = sum(1 << bit for bit in range(4, 13))
"""Remove folders and files; make devices, folders, files, sockets, pipes and links."""
_REFER = 1 << 13
_TRUNCATE = 1 << 14
_SCOPES = 0b11
"""Abstract sockets and signals stay inside."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
"""Files that a bounded child may still write to."""


def unavailable() -> str | None:
    """Why a child's writing cannot be bounded here; None where it can."""
    if not sys.platform.startswith("linux"):
        return f"Landlock exists on Linux only, this is {sys.platform}"
    return None if _version() > 0 else "the kernel has no Landlock, or it is switched off"


def restrict(writable: Iterable[str]) -> None:
    """Bounds the calling process for good (a child between fork and exec) to writing below `writable`.

    Raises OSError where the kernel refuses. A folder that does not exist is an OSError too: a bound with a hole where
    a folder was expected would only show later.
    """
    version = _version()
    if version < 1:
        raise OSError(38, "the kernel has no Landlock")
    handled = _WRITE_FILE | _CHANGE_FOLDER
    handled |= _REFER if version >= 2 else 0
    handled |= _TRUNCATE if version >= 3 else 0
    attributes = handled.to_bytes(8, sys.byteorder)
    if version >= 6:
        attributes += (0).to_bytes(8, sys.byteorder) + _SCOPES.to_bytes(8, sys.byteorder)
    ruleset = _call(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for folder in writable:
            # A single file, such as a device, has no rights of folders.
            _allow(ruleset, folder, handled if os.path.isdir(folder) else handled & (_WRITE_FILE | _TRUNCATE))
        for device in DEVICES:
            if os.path.exists(device):
                _allow(ruleset, device, handled & (_WRITE_FILE | _TRUNCATE))
        _no_new_privileges()
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = access.to_bytes(8, sys.byteorder) + handle.to_bytes(4, sys.byteorder)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(handle)


def _version() -> int:
    import ctypes

    return int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG))


def _call(number: int, *arguments: int | bytes) -> int:
    import ctypes

    words = [ctypes.c_long(word) if isinstance(word, int) else ctypes.c_char_p(word) for word in arguments]
    found = int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *words))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def _no_new_privileges() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, *(ctypes.c_ulong(word) for word in (1, 0, 0, 0)))

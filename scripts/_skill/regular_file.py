"""Opens what is surely a plain file: no link, pipe, device or folder, whatever stands at the name in between.

Everything that the tools inspect or hash is opened here, once, and read through the handle: what was checked is
what is read.
"""

from __future__ import annotations

import errno
import os
import stat

from .findings import Finding, Refusal, could_not

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_for_reading(path: str, folder: int | None = None) -> tuple[int, os.stat_result]:
    """A handle on the plain file `path` (its last part may not be a link) and its status; the caller closes it.

    With `folder` (a handle) the name is taken in that folder. What cannot be opened is exit 2, what is not a plain
    file is refused with exit 1.
    """
    try:
        handle = os.open(path, _FLAGS, dir_fd=folder)
    except (OSError, ValueError) as error:
        number = error.errno if isinstance(error, OSError) else errno.EINVAL
        if number == errno.ELOOP:
            raise _not_plain(path, "a symbolic link") from None
        words = os.strerror(number) if number is not None and isinstance(error, OSError) else str(error)
        raise could_not("file.unreadable", f"cannot read: {words}", where=path) from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise _not_plain(path, _KINDS.get(stat.S_IFMT(status.st_mode), "not a plain file"))
    return handle, status


def _not_plain(path: str, kind: str) -> Refusal:
    return Refusal(Finding("file.kind", "this is not a plain file", path, kind, "a plain file, named without links"))

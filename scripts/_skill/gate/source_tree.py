"""Folders of source files, read so that what is hashed is what is used.

Every file is opened once, without following links at any level, and its bytes are hashed and, where a copy is
wanted, written from the same memory. Whatever is not a plain file or folder is refused.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator

from .. import text
from ..findings import Finding, Refusal, could_not

MAX_FILES = 5000
MAX_TREE_BYTES = 64 << 20
MAX_DEPTH = 12

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def digests(folder: str, keep: Callable[[str], bool], copy_to: str | None = None) -> dict[str, str]:
    """SHA-256 of every file below `folder` by its relative name; `copy_to` also gets a private copy.

    `keep(relative)` says which files and folders count; a folder that does not count is not entered.
    """
    found: dict[str, str] = {}
    total = 0
    for relative, data in _files(folder, keep):
        total += len(data)
        if len(found) >= MAX_FILES or total > MAX_TREE_BYTES:
            raise Refusal(
                Finding(
                    "source.size",
                    "the folder holds too much to be checked",
                    folder,
                    want=f"at most {MAX_FILES} files and {MAX_TREE_BYTES >> 20} MiB",
                    fix="keep the sources in a folder of their own",
                )
            )
        found[relative] = hashlib.sha256(data).hexdigest()
        if copy_to is not None:
            _write(os.path.join(copy_to, relative), data)
    return found


def file_digest(path: str) -> str:
    """SHA-256 of one regular file that may be large, read in blocks; the path's last part may be a link."""
    with open(path, "rb", buffering=0) as stream:
        digest = hashlib.sha256()
        block = bytearray(1 << 20)
        view = memoryview(block)
        while count := stream.readinto(block):
            digest.update(view[:count])
    return digest.hexdigest()


def _files(folder: str, keep: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield from _files_below(root, "", 0, keep, folder)
    finally:
        os.close(root)


def _files_below(
    folder: int, prefix: str, depth: int, keep: Callable[[str], bool], shown: str
) -> Iterator[tuple[str, bytes]]:
    if depth > MAX_DEPTH:
        raise _not_plain(os.path.join(shown, prefix), "nested too deep")
    for name in sorted(os.listdir(folder)):
        relative = prefix + name
        if not keep(relative):
            continue
        if not name.isprintable():
            raise _not_plain(os.path.join(shown, text.escaped(relative)), "a name with unprintable characters")
        try:
            handle = os.open(name, _OPEN, dir_fd=folder)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _not_plain(os.path.join(shown, relative), "a symbolic link") from None
            raise could_not(
                "source.unreadable", f"cannot read: {error.strerror}", where=os.path.join(shown, relative)
            ) from None
        try:
            status = os.fstat(handle)
            if stat.S_ISDIR(status.st_mode):
                yield from _files_below(handle, relative + "/", depth + 1, keep, shown)
            elif stat.S_ISREG(status.st_mode) and status.st_size <= MAX_TREE_BYTES:
                yield relative, _content(handle)
            else:
                raise _not_plain(os.path.join(shown, relative), "not a plain file, or too large")
        finally:
            os.close(handle)


def _content(handle: int) -> bytes:
    parts = []
    left = MAX_TREE_BYTES + 1
    while left > 0 and (part := os.read(handle, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o400)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
    finally:
        os.close(handle)


def _not_plain(path: str, reason: str) -> Refusal:
    return Refusal(
        Finding("source.file", f"cannot be checked: {reason}", path, want="plain files and folders only, no links")
    )

"""SHA-256 of files: streamed in blocks through one buffer, several files at a time.

`hashlib` gives the interpreter's lock back while it works, so threads keep all cores busy. A file that changes
while it is read is a finding and has no digest. Memory is one block a thread, whatever the size of a file.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .. import machine, regular_file, text
from ..findings import Finding, Refusal
from .folder_walk import FolderChain

BLOCK_BYTES = 1 << 20
LARGE_BYTES = 4 << 20
"""Files from this size on are handed out one by one, the largest first."""
BATCH = 64
"""Smaller files that a thread takes at a time: neighbours, which share their folder's handle."""
MAX_THREADS = 16
SMALL_BYTES = 16 << 10
"""About as many bytes are hashed in the time that opening a file takes."""


class FileDigest(NamedTuple):
    """One file that was read whole and did not change meanwhile."""

    path: str
    bytes: int
    sha256: str
    """64 lower-case hexadecimal digits."""
    links: int
    """Names that this file has; more than one means that it can be changed through another name."""


class FileDigests(NamedTuple):
    """Digests of all files that could be read, sorted by name, and why the others have none."""

    files: list[FileDigest]
    findings: list[Finding]


def of_file(path: str) -> FileDigest:
    """The digest of one plain file; a link, a pipe or an unreadable file is refused."""
    handle, before = regular_file.open_for_reading(path)
    try:
        return _digest(handle, before, path, bytearray(BLOCK_BYTES), lambda: False)
    finally:
        os.close(handle)


def sizes(root: int, names: Sequence[str]) -> dict[str, int | None]:
    """Sizes of plain files below the folder of the handle `root`; None where no plain file is there."""
    found: dict[str, int | None] = {}
    chain = FolderChain(root)
    try:
        for name in names:
            *folders, last = name.split("/")
            try:
                status = os.stat(last, dir_fd=chain.folder_of(folders), follow_symlinks=False)
            except OSError:
                found[name] = None
            else:
                found[name] = status.st_size if stat.S_ISREG(status.st_mode) else None
    finally:
        chain.close()
    return found


def of_files(root: int, sizes: Sequence[tuple[str, int]], threads: int | None = None) -> FileDigests:
    """Digests of files below the folder of the handle `root`.

    `sizes` holds names, sorted, and sizes; the sizes only decide the order of work. `threads` is by default what the
    machine's cores allow.
    """
    work = _Work(root, sizes)
    count = max(1, min(threads or machine.usable_cores(), MAX_THREADS, len(work.batches), _useful_threads(sizes)))
    helpers = [threading.Thread(target=work.run, name=f"digest-{i}", daemon=True) for i in range(count - 1)]
    try:
        for helper in helpers:
            helper.start()
        work.run()
        for helper in helpers:
            helper.join()
    finally:
        # After Ctrl-C in this thread the others end with the block that they are at.
        work.ended.set()
    if work.failed:
        raise work.failed[0]
    return FileDigests(sorted(work.files), sorted(work.findings, key=lambda finding: finding.pointer))


def _useful_threads(sizes: Sequence[tuple[str, int]]) -> int:
    """Threads that can gain something: opening a small file takes longer than hashing it, under one lock."""
    return 1 + sum(size for _, size in sizes) // (SMALL_BYTES * max(1, len(sizes)))


class _Ended(Exception):
    """Another thread has failed or was interrupted: nobody wants this digest any more."""


class _Work:
    """Batches of files that threads take until none is left."""

    def __init__(self, root: int, sizes: Sequence[tuple[str, int]]) -> None:
        large = sorted((-size, name) for name, size in sizes if size >= LARGE_BYTES)
        small = [name for name, size in sizes if size < LARGE_BYTES]
        self.root = root
        self.batches = [[name] for _, name in large]
        self.batches += [small[start : start + BATCH] for start in range(0, len(small), BATCH)]
        self.next = iter(self.batches)
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.files: list[FileDigest] = []
        self.findings: list[Finding] = []
        self.failed: list[BaseException] = []

    def run(self) -> None:
        """Works until no batch is left; what was not expected is kept for the thread that waits."""
        try:
            self.work()
        except _Ended:
            return
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            self.failed.append(error)
            self.ended.set()

    def work(self) -> None:
        """One thread's work: batches, each file through one buffer and one chain of folders."""
        buffer = bytearray(BLOCK_BYTES)
        chain = FolderChain(self.root)
        try:
            while not self.ended.is_set():
                with self.lock:
                    batch = next(self.next, None)
                if batch is None:
                    return
                for name in batch:
                    self.one(name, chain, buffer)
        finally:
            chain.close()

    def one(self, name: str, chain: FolderChain, buffer: bytearray) -> None:
        """Adds one file's digest, or the finding that says why it has none."""
        *folders, last = name.split("/")
        try:
            folder = chain.folder_of(folders)
            handle, before = regular_file.open_for_reading(last, folder)
        except OSError as error:
            self.findings.append(Finding("file.unreadable", f"cannot read: {error.strerror}", text.escaped(name)))
            return
        except Refusal as refusal:
            self.findings.extend(finding._replace(pointer=text.escaped(name)) for finding in refusal.findings)
            return
        try:
            found = _digest(handle, before, name, buffer, self.ended.is_set)
            named = os.stat(last, dir_fd=folder, follow_symlinks=False)
            if (named.st_dev, named.st_ino) != (before.st_dev, before.st_ino):
                raise Refusal(_changing(name, "the name belongs to another file now"))
            self.files.append(found)
        except OSError as error:
            self.findings.append(Finding("file.unreadable", f"cannot read: {error.strerror}", text.escaped(name)))
        except Refusal as refusal:
            self.findings.extend(refusal.findings)
        finally:
            os.close(handle)


def _digest(handle: int, before: os.stat_result, name: str, buffer: bytearray, ended: Callable[[], bool]) -> FileDigest:
    """Reads a file to its end; a Refusal where size, time of change or identity are not what they were before."""
    digest = hashlib.sha256()
    view = memoryview(buffer)
    total = 0
    with io.FileIO(handle, closefd=False) as stream:
        # A file that grows without end is left once it is longer than it was.
        while total <= before.st_size and (count := stream.readinto(buffer)):
            digest.update(view[:count])
            total += count
            if ended():
                raise _Ended
    after = os.fstat(handle)
    facts = ("st_size", "st_mtime_ns", "st_ctime_ns", "st_mode")
    if total != before.st_size or any(getattr(before, fact) != getattr(after, fact) for fact in facts):
        raise Refusal(_changing(name, f"{before.st_size} bytes when opened, {total} read, {after.st_size} at the end"))
    return FileDigest(name, total, digest.hexdigest(), after.st_nlink)


def _changing(name: str, got: str) -> Finding:
    return Finding(
        "manifest.changing",
        "the file changed while it was read, so it has no digest",
        text.escaped(name),
        got,
        "a file that nobody writes to",
        "wait until the writer has ended, then try again",
    )

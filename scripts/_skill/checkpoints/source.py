"""Bytes of a file, read through its one open handle at any place, a bounded piece at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator

from . import limits


class Truncated(Exception):
    """The file ends where more bytes were promised."""


class Source:
    """A part of an open file: `length` bytes from `start` on."""

    def __init__(self, handle: int, start: int, length: int) -> None:
        self.handle = handle
        self.start = start
        self.length = length

    def read(self, offset: int, count: int) -> bytes:
        """At most `count` bytes from `offset` on, fewer only at the end of the part."""
        if offset < 0 or offset >= self.length:
            return b""
        count = min(count, self.length - offset)
        parts = []
        while count > 0:
            part = os.pread(self.handle, count, self.start + offset)
            if not part:
                break
            parts.append(part)
            offset += len(part)
            count -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def exactly(self, offset: int, count: int) -> bytes:
        """Exactly `count` bytes; Truncated where there are fewer."""
        data = self.read(offset, count)
        if len(data) != count:
            raise Truncated
        return data

    def part(self, start: int, length: int) -> Source:
        """A part of this part; Truncated where it does not lie inside."""
        if start < 0 or length < 0 or start + length > self.length:
            raise Truncated
        return Source(self.handle, self.start + start, length)

    def blocks(self, size: int = limits.BLOCK) -> Iterator[bytes]:
        """All bytes in order, in blocks; Truncated where the file has become shorter."""
        for offset in range(0, self.length, size):
            yield self.exactly(offset, min(size, self.length - offset))


class Memory(Source):
    """Bytes that are held in memory already: one unpacked member of an archive."""

    def __init__(self, data: bytes) -> None:
        super().__init__(-1, 0, len(data))
        self.data = data

    def read(self, offset: int, count: int) -> bytes:
        """At most `count` bytes from `offset` on."""
        return self.data[offset : offset + count] if offset >= 0 else b""

    def part(self, start: int, length: int) -> Source:
        """A copy of a part."""
        if start < 0 or length < 0 or start + length > self.length:
            raise Truncated
        return Memory(self.data[start : start + length])


def sha256(source: Source) -> str:
    """The digest of all bytes, in hexadecimal."""
    import hashlib

    digest = hashlib.sha256()
    for block in source.blocks():
        digest.update(block)
    return digest.hexdigest()

"""Reads the arrays of an npz file: a zip archive in which every member is one numpy array."""

from __future__ import annotations

import zlib

from . import limits, npy_file, zip_archive
from .content import Content
from .source import Memory, Source, Truncated
from .zip_archive import Member


def is_npz(members: list[Member]) -> bool:
    """Whether every member is named like an array."""
    return bool(members) and all(member.name.endswith(".npy") for member in members)


def inspect(source: Source, members: list[Member], content: Content) -> None:
    """Checks every array; of a packed one the header is read, and all of it where it is small."""
    content.kind = "npz"
    for member in members:
        name = member.name[: -len(".npy")]
        opened = zip_archive.open_member(source, member)
        if opened is not None:
            npy_file.inspect(opened, content, name)
            continue
        try:
            head = b""
            for block in zip_archive.inflated(source, member):
                head += block
                if len(head) >= limits.NPY_HEADER + 16:
                    break
        except (zlib.error, Truncated):
            continue  # the checksum of the member says so
        npy_file.inspect(_Head(head, member.size), content, name)
    content.groups.append(("", [tensor.name for tensor in content.tensors]))


class _Head(Memory):
    """The first bytes of a long packed member: enough for its header, and its true length."""

    def __init__(self, data: bytes, length: int) -> None:
        super().__init__(data)
        self.length = length

    def part(self, start: int, length: int) -> Source:
        """Nothing behind the header can be read."""
        raise Truncated

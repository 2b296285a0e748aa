"""Whether unpacking an archive could write outside a folder, or mean two things; found without unpacking it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from .. import regular_file, text
from ..findings import Finding
from . import names, tar_names
from .tar_names import TarRefused

if TYPE_CHECKING:
    from ..checkpoints.source import Source

_END_SIZE = 22
_MAX_COMMENT = 64
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")


class ArchiveListing(NamedTuple):
    """What an archive holds, and what speaks against unpacking it."""

    kind: str
    files: list[tuple[str, int]]
    """Names and sizes."""
    findings: list[Finding]
    could_not: bool
    """Nothing bad was found, but not everything could be read."""


def inspect(path: str) -> ArchiveListing:
    """Lists the zip or tar archive (gzip, bzip2, xz or not packed) at `path`."""
    handle, status = regular_file.open_for_reading(path)
    with os.fdopen(handle, "rb") as stream:
        head = stream.read(512)
        stream.seek(0)
        if head[:2] == b"PK":
            listing = _zip(stream, status.st_size)
        elif head.startswith(_PACKED) or head[257:262] == b"ustar" or _is_old_tar(head):
            listing = _tar(stream, status.st_size)
        else:
            finding = Finding("archive.unknown", "this is not a zip or tar archive", path, want=".zip, .tar, .tar.gz")
            return ArchiveListing("unknown", [], [finding], True)
    return listing


def _zip(stream: BinaryIO, size: int) -> ArchiveListing:
    from ..checkpoints import zip_archive
    from ..checkpoints.content import COULD_NOT_CHECK, SAFE, Content
    from ..checkpoints.source import Source

    source = _without_comment(Source(stream.fileno(), 0, size))
    content = Content()
    members: list[zip_archive.Member] = []
    try:
        members = zip_archive.read_members(source, content)
        zip_archive.verify_bytes(source, members, content)
    except zip_archive.ZipRefused:
        pass
    found = [*content.findings, *_name_findings([(member.name, member.name.endswith("/")) for member in members])]
    files = [(member.name, member.size) for member in members if not member.name.endswith("/")]
    only_could_not = content.verdict in (COULD_NOT_CHECK, SAFE) and len(found) == len(content.findings)
    return ArchiveListing("zip", files, found, bool(found) and only_could_not)


def _without_comment(source: Source) -> Source:
    """The archive without the short plain comment at its end, such as the commit that `git archive` writes there.

    The reader takes no comment at all, since another end record may hide in one; here only letters can.
    """
    from ..checkpoints.source import Source as Base

    tail = source.read(source.length - _END_SIZE - _MAX_COMMENT, _END_SIZE + _MAX_COMMENT)
    place = tail.rfind(b"PK\x05\x06")
    comment = tail[place + _END_SIZE :]
    if place < 0 or not comment or int.from_bytes(tail[place + 20 : place + 22], "little") != len(comment):
        return source
    if not comment.isascii() or not comment.decode("ascii").isalnum():
        return source

    class WithoutComment(Base):
        """Ends before the comment, and says that there is none."""

        def read(self, offset: int, count: int) -> bytes:
            data = bytearray(super().read(offset, count))
            for index in (self.length - 2, self.length - 1):
                if offset <= index < offset + len(data):
                    data[index - offset] = 0
            return bytes(data)

    return WithoutComment(source.handle, source.start, source.length - len(comment))


def _tar(stream: BinaryIO, size: int) -> ArchiveListing:
    files: list[tuple[str, int]] = []
    seen: list[tuple[str, bool]] = []
    found: list[Finding] = []
    could_not = False
    try:
        for member in tar_names.members(stream, size):
            name = _without_dot(member.name)
            if name:
                seen.append((name, member.is_folder))
            if not member.is_folder:
                files.append((name, member.bytes))
    except TarRefused as refused:
        found.append(Finding(refused.code, refused.message, text.escaped(refused.where)))
        could_not = refused.could_not
    wrong = _name_findings(seen)
    return ArchiveListing("tar", files, [*found, *wrong], could_not and not wrong)


def _without_dot(name: str) -> str:
    """The name without a leading `./`, which `tar -C DIR .` writes before all; the folder itself is empty."""
    if name in (".", "./"):
        return ""
    return name[2:] if name.startswith("./") else name


def _name_findings(members: list[tuple[str, bool]]) -> list[Finding]:
    """Names that leave the folder, stand twice, or are one file on some systems."""
    found = []
    good: list[str] = []
    folders: dict[str, str] = {}
    for name, is_folder in members:
        plain = name[:-1] if is_folder and name.endswith("/") else name
        wrong = names.finding(plain, text.escaped(name))
        if wrong is not None:
            found.append(wrong)
        elif is_folder:
            folders.setdefault(plain, plain)
        else:
            good.append(plain)
    # A file below each folder stands for the folder, so that a file of the folder's name collides with it.
    found.extend(names.collisions([*good, *(f"{folder}/\N{BULLET}" for folder in folders)]))
    return found


def _is_old_tar(head: bytes) -> bool:
    """A tar header from before 1988: only its checksum tells."""
    digits = head[148:156].strip(b" \0")
    if len(head) < 512 or not digits or any(digit not in b"01234567" for digit in digits):
        return False
    return sum(head[:148]) + 8 * 32 + sum(head[156:]) == int(digits, 8)

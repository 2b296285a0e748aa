"""Reads the headers of a tar archive one after another; nothing is unpacked, and only plain files are members."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from .. import text
from . import limits
from .content import AMBIGUOUS, COULD_NOT_CHECK, DAMAGED, UNSAFE, Content
from .file_kind import is_tar_header
from .source import Source
from .zip_archive import safe_member_name

_BLOCK = 512
_FILE = (b"0", b"\0")
_FOLDER = b"5"
_REFUSED = {b"1": "a hard link", b"2": "a symbolic link", b"3": "a device", b"4": "a device", b"6": "a pipe"}


class TarMember(NamedTuple):
    """One plain file or folder of the archive."""

    name: str
    kind: str
    """file or folder."""
    size: int
    data: int
    """Offset of its bytes."""

    def source(self, archive: Source) -> Source:
        """The member's bytes as they lie in the file."""
        return archive.part(self.data, self.size)


def read_members(source: Source, content: Content) -> list[TarMember] | None:
    """The files of the archive; None with a finding where it holds anything else."""
    members: list[TarMember] = []
    seen: set[str] = set()
    offset = 0
    while True:
        head = source.read(offset, _BLOCK)
        if head == bytes(_BLOCK):
            return members if _ended(source, offset, content) else None
        if len(head) < _BLOCK or not is_tar_header(head):
            content.add(DAMAGED, "tar.header", "not a whole tar archive", where=f"byte {offset}")
            return None
        name, where = _name(head), f"byte {offset}"
        kind = head[156:157]
        size = _octal(head[124:136])
        if kind in _REFUSED:
            code = "tar.link" if kind in (b"1", b"2") else "tar.type"
            content.add(UNSAFE, code, f"a member is {_REFUSED[kind]}", where=where, got=text.shown(name))
            return None
        plain = unicodedata.normalize("NFC", name or "").casefold().rstrip("/")
        if name is None or not safe_member_name(name) or plain in seen:
            content.add(UNSAFE, "tar.name", "a member's name leaves the folder, or stands twice", where=where)
            return None
        if kind not in (*_FILE, _FOLDER) or size is None or (kind == _FOLDER and size):
            content.add(COULD_NOT_CHECK, "tar.member", "a kind of member that is not read here", where=where)
            return None
        if len(members) >= limits.TAR_MEMBERS:
            content.add(COULD_NOT_CHECK, "tar.limit", f"more than {limits.TAR_MEMBERS} members")
            return None
        if offset + _BLOCK + size > source.length:
            content.add(DAMAGED, "tar.truncated", "the archive ends inside a member", where=where)
            return None
        seen.add(plain)
        # The first versions of tar mark a folder by the slash alone.
        folder = kind == _FOLDER or name.endswith("/")
        members.append(TarMember(name, "folder" if folder else "file", size, offset + _BLOCK))
        offset += _BLOCK + -(-size // _BLOCK) * _BLOCK


def _ended(source: Source, offset: int, content: Content) -> bool:
    """Whether nothing but zeros follows the end."""
    rest = source.length - offset
    if rest > 1 << 20 or any(source.read(offset, rest)):
        content.add(AMBIGUOUS, "tar.trailing", "bytes after the end of the archive", where=f"byte {offset}")
        return False
    return True


def _name(head: bytes) -> str | None:
    raw = head[:100].split(b"\0", 1)[0]
    prefix = head[345:500].split(b"\0", 1)[0] if head[257:263] == b"ustar\0" else b""
    try:
        return (prefix + b"/" + raw if prefix else raw).decode("utf-8")
    except UnicodeDecodeError:
        return None


def _octal(field: bytes) -> int | None:
    digits = field.strip(b" \0")
    if not digits or any(digit not in b"01234567" for digit in digits):
        return None
    return int(digits, 8)

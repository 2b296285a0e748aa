"""Reads the records of a zip archive one by one, and believes none that another one does not confirm.

Readers differ: some trust the directory at the end, some the headers before each member, some the first or the last
end record. A checkpoint is taken only where all of them would see the same members, so every byte of the file must
belong to exactly one record. Members are never unpacked to disk.
"""

from __future__ import annotations

import struct
import unicodedata
import zlib
from typing import NamedTuple

from .. import text
from . import limits
from .content import AMBIGUOUS, COULD_NOT_CHECK, DAMAGED, UNSAFE, Content
from .source import Memory, Source, Truncated

_END = b"PK\x05\x06"
_END64 = b"PK\x06\x06"
_LOCATOR64 = b"PK\x06\x07"
_CENTRAL = b"PK\x01\x02"
_LOCAL = b"PK\x03\x04"
_DESCRIPTOR = b"PK\x07\x08"
_END_SIZE = 22
_CENTRAL_SIZE = 46
_LOCAL_SIZE = 30
_FLAG_DESCRIPTOR = 1 << 3
_FLAG_UTF8 = 1 << 11
_FLAGS_KNOWN = _FLAG_DESCRIPTOR | _FLAG_UTF8 | 0b110  # the last two say how hard deflate tried
_LINK = 0o120000
_FILE = 0o100000
_FOLDER = 0o040000
_MAX16 = 0xFFFF
_MAX32 = 0xFFFFFFFF
_EXTRA_ZIP64 = 1
_EXTRA_OTHER_NAME = 0x7075

STORED = 0
DEFLATED = 8


class Member(NamedTuple):
    """One member whose two headers agree."""

    name: str
    method: int
    flags: int
    crc: int
    packed: int
    size: int
    header: int
    """Offset of its local header."""
    data: int
    """Offset of its bytes."""

    def source(self, archive: Source) -> Source:
        """The member's bytes as they lie in the file."""
        return archive.part(self.data, self.packed)


class ZipRefused(Exception):
    """The archive is not read further; the finding is there already."""


def end_records(source: Source) -> list[int]:
    """Offsets of what a reader may take for an end record: near the end, with a directory in front of it."""
    length = min(source.length, _MAX16 + _END_SIZE + 64)
    base = source.length - length
    tail = source.read(base, length)
    found: list[int] = []
    place = tail.find(_END)
    while place >= 0 and len(found) < 16:
        record = tail[place : place + _END_SIZE]
        if len(record) == _END_SIZE:
            count, size = struct.unpack("<HI", record[10:16])
            start = base + place - size
            if (
                (count == 0 and size == 0)
                or (size >= _CENTRAL_SIZE and (size == _MAX32 or source.read(start, 4) == _CENTRAL))
                or source.read(base + place - 20, 4) == _LOCATOR64
            ):
                found.append(base + place)
        place = tail.find(_END, place + 1)
    return found


def read_members(source: Source, content: Content) -> list[Member]:
    """The members in the order of their bytes; ZipRefused, with a finding, where records disagree."""
    reader = _Reader(source, content)
    try:
        return reader.members()
    except (Truncated, struct.error):
        raise reader.refused(DAMAGED, "zip.truncated", "the archive ends in the middle of a record") from None


class _Reader:
    def __init__(self, source: Source, content: Content) -> None:
        self.source = source
        self.content = content

    def refused(self, verdict: str, code: str, message: str, **words: str) -> ZipRefused:
        self.content.add(verdict, code, message, **words)
        return ZipRefused()

    def members(self) -> list[Member]:
        count, start, size = self.directory_place()
        if count > limits.ZIP_MEMBERS or size > limits.ZIP_DIRECTORY:
            raise self.refused(COULD_NOT_CHECK, "zip.limit", f"more than {limits.ZIP_MEMBERS} members")
        directory = self.source.exactly(start, size)
        members: list[Member] = []
        position = 0
        for _ in range(count):
            position = self.central(directory, position, members)
        if position != size:
            raise self.refused(
                AMBIGUOUS, "zip.directory", "the directory holds more than its members", got=f"{size - position} bytes"
            )
        members.sort(key=lambda member: member.header)
        self.check_names(members)
        located = []
        expected = 0
        for index, member in enumerate(members):
            follows = members[index + 1].header if index + 1 < len(members) else start
            if member.header != expected:
                raise self.refused(
                    AMBIGUOUS,
                    "zip.hole",
                    "bytes that belong to no member, or to two",
                    where=text.escaped(member.name),
                    got=f"its header at byte {member.header}",
                    want=f"at byte {expected}",
                )
            located.append(self.local(member, follows))
            expected = follows
        if expected != start:
            raise self.refused(AMBIGUOUS, "zip.hole", "bytes before the directory that belong to no member")
        return located

    def directory_place(self) -> tuple[int, int, int]:
        """Number of members, and where the directory lies."""
        end = self.source.length - _END_SIZE
        record = self.source.read(end, _END_SIZE)
        if record[:4] != _END:
            if end_records(self.source):
                raise self.refused(AMBIGUOUS, "zip.trailing", "bytes after the end record, or a comment")
            raise self.refused(DAMAGED, "zip.truncated", "no end record: the file is cut, or not whole")
        if len(end_records(self.source)) != 1:
            raise self.refused(AMBIGUOUS, "zip.end_records", "more than one end record")
        disk, first_disk, here, count, size, start, comment = struct.unpack("<HHHHIIH", record[4:])
        if comment or disk or first_disk or here != count:
            raise self.refused(
                AMBIGUOUS, "zip.end_record", "an end record that no checkpoint has", got="disks, comment"
            )
        before = end
        if self.source.read(end - 20, 4) == _LOCATOR64:
            before, count, size, start = self.end64(end - 20, (count, size, start))
        elif _MAX16 == count or _MAX32 in (size, start):
            raise self.refused(DAMAGED, "zip.end_record", "the 64-bit end record is missing")
        if start + size != before:
            raise self.refused(
                AMBIGUOUS,
                "zip.leading",
                "the directory does not lie where the end record says",
                got=f"{start} + {size} bytes, end record at {before}",
                want="an archive from the first byte to the last",
            )
        return count, start, size

    def end64(self, locator: int, small: tuple[int, int, int]) -> tuple[int, int, int, int]:
        disk, place, disks = struct.unpack("<IQI", self.source.exactly(locator + 4, 16))
        record = self.source.exactly(place, 56) if place == locator - 56 else b""
        if disk or disks > 1 or record[:4] != _END64:
            raise self.refused(AMBIGUOUS, "zip.end_record", "the 64-bit end record is not where it has to be")
        length, _, _, disk, first, here, count, size, start = struct.unpack("<QHHIIQQQQ", record[4:])
        same = all(
            short == long or short == most
            for short, long, most in zip(small, (count, size, start), (_MAX16, _MAX32, _MAX32), strict=True)
        )
        if length != 44 or disk or first or here != count or not same:
            raise self.refused(AMBIGUOUS, "zip.end_record", "the two end records disagree")
        return place, count, size, start

    def central(self, directory: bytes, position: int, members: list[Member]) -> int:
        """Reads one entry of the directory; the position after it."""
        fixed = directory[position : position + _CENTRAL_SIZE]
        if len(fixed) < _CENTRAL_SIZE or fixed[:4] != _CENTRAL:
            raise self.refused(DAMAGED, "zip.directory", "an entry of the directory is broken")
        flags, method, _, _, crc, packed, size = struct.unpack("<HHHHIII", fixed[8:28])
        name_length, extra_length, comment, disk, _, attributes, header = struct.unpack("<HHHHHII", fixed[28:])
        end: int = position + _CENTRAL_SIZE + name_length + extra_length + comment
        if end > len(directory):
            raise self.refused(DAMAGED, "zip.directory", "an entry of the directory is broken")
        raw = directory[position + _CENTRAL_SIZE : position + _CENTRAL_SIZE + name_length]
        name = self.name(raw, flags)
        where = text.escaped(name)
        extra = self.extra(directory[end - comment - extra_length : end - comment], where)
        packed, size, header = self.widened(extra, (size, packed, header), where)
        if disk not in (0, _MAX16) or comment:
            raise self.refused(AMBIGUOUS, "zip.directory", "an entry that no checkpoint has", where=where)
        if flags & ~_FLAGS_KNOWN:
            verdict, what = (UNSAFE, "is encrypted") if flags & 0x2041 else (DAMAGED, "has unknown flags")
            raise self.refused(verdict, "zip.flags", f"a member {what}", where=where, got=f"flags 0x{flags:04x}")
        if method not in (STORED, DEFLATED):
            raise self.refused(
                COULD_NOT_CHECK, "zip.method", "a member is packed in a way not read here", where=where,
                got=f"method {method}", want="stored or deflated",
            )  # fmt: skip
        if method == STORED and packed != size:
            raise self.refused(DAMAGED, "zip.size", "a stored member has two sizes", where=where)
        self.check_type(name, attributes >> 16 & 0o170000, size, where)
        members.append(Member(name, method, flags, crc, packed, size, header, 0))
        return end

    def check_type(self, name: str, kind: int, size: int, where: str) -> None:
        """Members are files and empty folders; a folder's name ends with a slash, a file's does not."""
        if kind == _LINK:
            raise self.refused(UNSAFE, "zip.link", "a member is a symbolic link", where=where)
        if kind not in (0, _FOLDER if name.endswith("/") else _FILE):
            raise self.refused(
                UNSAFE, "zip.type", "a member is a device, a pipe, or not what its name says", where=where
            )
        if name.endswith("/") and size:
            raise self.refused(AMBIGUOUS, "zip.type", "a folder with content", where=where)

    def name(self, raw: bytes, flags: int) -> str:
        try:
            name = raw.decode("utf-8" if flags & _FLAG_UTF8 else "ascii")
        except UnicodeDecodeError:
            raise self.refused(
                AMBIGUOUS, "zip.name", "a member's name is not UTF-8", got=text.shown(repr(raw[:60]))
            ) from None
        if not safe_member_name(name):
            raise self.refused(
                UNSAFE, "zip.name", "a member's name leaves the folder, or is none", where=text.escaped(name)
            )
        return name

    def extra(self, data: bytes, where: str) -> dict[int, bytes]:
        """The extra fields by number; each number once and the lengths must add up."""
        fields: dict[int, bytes] = {}
        position = 0
        while position < len(data):
            if position + 4 > len(data):
                raise self.refused(DAMAGED, "zip.extra", "a broken extra field", where=where)
            number, length = struct.unpack("<HH", data[position : position + 4])
            position += 4
            if position + length > len(data) or number in fields or number == _EXTRA_OTHER_NAME:
                raise self.refused(AMBIGUOUS, "zip.extra", "an extra field that readers take differently", where=where)
            fields[number] = data[position : position + length]
            position += length
        return fields

    def widened(self, extra: dict[int, bytes], values: tuple[int, int, int], where: str) -> tuple[int, int, int]:
        """Packed size, size and header offset, with the 64-bit values where the 32-bit ones are full."""
        field = extra.get(_EXTRA_ZIP64, b"")
        result: list[int] = []
        position = 0
        for value in values:
            if value == _MAX32 and _EXTRA_ZIP64 in extra:
                if position + 8 > len(field):
                    raise self.refused(DAMAGED, "zip.extra", "a broken 64-bit field", where=where)
                result.append(int.from_bytes(field[position : position + 8], "little"))
                position += 8
            else:
                result.append(value)
        if position != len(field):
            raise self.refused(AMBIGUOUS, "zip.extra", "a 64-bit field that readers take differently", where=where)
        size, packed, header = result
        return packed, size, header

    def local(self, member: Member, follows: int) -> Member:
        """The member with the place of its bytes, where its own header confirms the directory."""
        where = text.escaped(member.name)
        fixed = self.source.exactly(member.header, _LOCAL_SIZE)
        if fixed[:4] != _LOCAL:
            raise self.refused(DAMAGED, "zip.header", "there is no header where the directory says", where=where)
        _, flags, method, _, _, crc, packed, size, name_length, extra_length = struct.unpack("<HHHHHIIIHH", fixed[4:])
        tail = self.source.exactly(member.header + _LOCAL_SIZE, name_length + extra_length)
        name = tail[:name_length].decode("utf-8" if flags & _FLAG_UTF8 else "latin-1", "replace")
        if name != member.name:
            raise self.refused(
                AMBIGUOUS, "zip.names_differ", "a member has two names", where=where, got=text.shown(name),
                want=text.shown(member.name),
            )  # fmt: skip
        if flags != member.flags or method != member.method:
            raise self.refused(AMBIGUOUS, "zip.header", "a member's two headers disagree", where=where)
        extra = self.extra(tail[name_length:], where)
        field = extra.get(_EXTRA_ZIP64)
        if field is not None:
            if len(field) != 16:
                raise self.refused(AMBIGUOUS, "zip.extra", "a 64-bit field that readers take differently", where=where)
            long_size, long_packed = struct.unpack("<QQ", field)
            size = long_size if size == _MAX32 else size
            packed = long_packed if packed == _MAX32 else packed
        later = bool(flags & _FLAG_DESCRIPTOR)
        stated, true = (crc, packed, size), (member.crc, member.packed, member.size)
        if stated != true and not (later and all(a in (0, b) for a, b in zip(stated, true, strict=True))):
            raise self.refused(AMBIGUOUS, "zip.header", "a member's two headers disagree", where=where)
        data = member.header + _LOCAL_SIZE + name_length + extra_length
        end = data + member.packed
        if end > follows:
            raise self.refused(AMBIGUOUS, "zip.overlap", "a member reaches into the next record", where=where)
        rest = self.source.exactly(end, follows - end) if follows - end <= 24 else b"?" * 25
        if rest not in (self.descriptors(member) if later else [b""]):
            raise self.refused(AMBIGUOUS, "zip.hole", "bytes after a member that belong to none", where=where)
        return member._replace(data=data)

    @staticmethod
    def descriptors(member: Member) -> list[bytes]:
        """The forms that a record after the member may have."""
        wide = struct.pack("<IQQ", member.crc, member.packed, member.size)
        forms = [_DESCRIPTOR + wide, wide]
        if max(member.packed, member.size) <= _MAX32:
            narrow = struct.pack("<III", member.crc, member.packed, member.size)
            forms += [_DESCRIPTOR + narrow, narrow]
        return forms

    def check_names(self, members: list[Member]) -> None:
        seen: dict[str, str] = {}
        for member in members:
            key = unicodedata.normalize("NFC", member.name).casefold().rstrip("/")
            if key in seen:
                raise self.refused(
                    UNSAFE, "zip.same_name", "two members are one file on some systems",
                    where=text.escaped(member.name), got=text.shown(seen[key]),
                )  # fmt: skip
            seen[key] = member.name


def safe_member_name(name: str) -> bool:
    """Whether a name stays below the folder that it is unpacked in, on every system."""
    if not name or len(name) > 1024 or "\\" in name or ":" in name or any(ord(c) < 32 for c in name):
        return False
    parts = name[:-1].split("/") if name.endswith("/") else name.split("/")
    return all(part not in ("", ".", "..") and not part.endswith((".", " ")) for part in parts)


def verify_bytes(source: Source, members: list[Member], content: Content) -> None:
    """Reads every member once and compares length and CRC-32; nothing packed may grow beyond the bounds."""
    packed = sum(member.packed for member in members if member.method == DEFLATED)
    grown = sum(member.size for member in members if member.method == DEFLATED)
    if grown > limits.ZIP_TOTAL and grown > packed * limits.ZIP_RATIO:
        content.add(
            COULD_NOT_CHECK,
            "zip.bomb",
            "the members grow too much when they are unpacked",
            got=f"{packed} to {grown} bytes",
        )
        return
    for member in members:
        try:
            crc, size = _checksum(source, member)
        except (Truncated, zlib.error):
            content.add(DAMAGED, "zip.packed", "a member cannot be unpacked", where=text.escaped(member.name))
            continue
        if (crc, size) != (member.crc, member.size):
            content.add(
                DAMAGED, "zip.checksum", "a member does not have the checksum that the archive states",
                where=text.escaped(member.name), got=f"{crc:08x}, {size} bytes",
                want=f"{member.crc:08x}, {member.size} bytes",
            )  # fmt: skip


def _checksum(source: Source, member: Member) -> tuple[int, int]:
    crc = size = 0
    if member.method == STORED:
        for block in member.source(source).blocks():
            crc = zlib.crc32(block, crc)
            size += len(block)
        return crc, size
    for block in inflated(source, member):
        crc = zlib.crc32(block, crc)
        size += len(block)
    return crc, size


def inflated(source: Source, member: Member):  # type: ignore[no-untyped-def]
    """The unpacked bytes of a deflated member in blocks; zlib.error where they are not what was promised."""
    machine = zlib.decompressobj(-15)
    size = 0
    for packed in member.source(source).blocks(limits.WINDOW):
        data = packed
        while data and not machine.eof:
            block = machine.decompress(data, limits.BLOCK)
            data = machine.unconsumed_tail
            size += len(block)
            if size > member.size:
                raise zlib.error("longer than promised")
            if block:
                yield block
        if machine.eof and (machine.unused_data or data):
            raise zlib.error("bytes after the end")
    if not machine.eof:
        raise zlib.error("no end")


def open_member(source: Source, member: Member) -> Source | None:
    """The unpacked bytes of a member: in the file, or in memory where they are packed; None beyond the bound."""
    if member.method == STORED:
        return member.source(source)
    if member.size > limits.ZIP_INFLATED:
        return None
    try:
        return Memory(b"".join(inflated(source, member)))
    except (zlib.error, Truncated):
        return Memory(b"")

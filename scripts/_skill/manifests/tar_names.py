"""Lists a tar archive, packed or not, block by block: names, kinds and sizes. Nothing is unpacked to disk.

Readers of tar differ where a header is unusual, so whatever two of them could take for different files is refused:
links of any kind, devices, sparse files, names given twice, anything after the end.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, Protocol

BLOCK = 512
MAX_MEMBERS = 100_000
MAX_BYTES = 1 << 36
"""Bytes of the unpacked archive that are read through."""
MAX_RATIO = 300
"""How many times its packed size a packed archive may become; torch weights reach 2, text 20."""
MAX_EXTENDED = 1 << 16
_READ = 1 << 16

_FILES = (b"0", b"\0")
_FOLDER = b"5"
_LINKS = {b"1": "a hard link", b"2": "a symbolic link", b"K": "a link with a long name"}
_DEVICES = {b"3": "a device", b"4": "a device", b"6": "a pipe"}
_HARMLESS = ("mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment")
_HARMLESS_FAMILIES = ("SCHILY.", "LIBARCHIVE.")


class TarMember(NamedTuple):
    """One member as its headers describe it."""

    name: str
    is_folder: bool
    bytes: int


class TarRefused(Exception):
    """Why the archive is not taken; `could_not` where it is only not understood."""

    def __init__(self, code: str, message: str, where: str = "", could_not: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.where = where
        self.could_not = could_not


class _Unpacker(Protocol):
    """What zlib, bz2 and lzma have in common here."""

    @property
    def eof(self) -> bool:
        """Whether the packed stream has ended."""

    @property
    def unused_data(self) -> bytes:
        """What follows it."""

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes:
        """Unpacks at most so many bytes."""


def members(stream: BinaryIO, size: int) -> Iterator[TarMember]:
    """The members of the archive in `stream` (`size` bytes, packed by gzip, bzip2, xz or not at all)."""
    reader = _Blocks(stream, size)
    extended: dict[str, str] = {}
    count = 0
    while True:
        place = reader.position
        head = reader.take(BLOCK, may_end=True)
        if head is None or not any(head):
            if head is None or extended:
                raise TarRefused("archive.damaged", "the archive ends without its end mark", f"byte {place}")
            reader.only_zeros()
            return
        _check_sum(head, place)
        kind = head[156:157]
        length = _number(head[124:136], place)
        if kind in (b"x", b"g", b"L"):
            _extend(extended, kind, _text_block(reader, length, place), place)
            continue
        member = _member(head, kind, length, extended, place)
        extended = {}
        count += 1
        if count > MAX_MEMBERS:
            raise TarRefused("archive.limit", f"more than {MAX_MEMBERS} members", could_not=True)
        yield member
        reader.skip(-(-member.bytes // BLOCK) * BLOCK)


def _member(head: bytes, kind: bytes, length: int, extended: dict[str, str], place: int) -> TarMember:
    name = extended.get("path") or _name(head, place)
    size = int(extended["size"]) if "size" in extended else length
    if kind in _LINKS or "linkpath" in extended:
        raise TarRefused("archive.link", f"a member is {_LINKS.get(kind, 'a link')}", name)
    if kind in _DEVICES:
        raise TarRefused("archive.kind", f"a member is {_DEVICES[kind]}", name)
    if kind not in (*_FILES, _FOLDER):
        raise TarRefused("archive.member", "a kind of member that readers treat differently", name, could_not=True)
    if _number(head[100:108], place) & 0o6000:
        raise TarRefused("archive.kind", "a member would run with another user's rights (setuid)", name)
    is_folder = kind == _FOLDER or (kind == b"\0" and name.endswith("/"))
    if (is_folder and size) or (not is_folder and name.endswith("/")):
        raise TarRefused("archive.ambiguous", "a folder with content, or a file named as a folder", name)
    return TarMember(name, is_folder, size)


def _check_sum(head: bytes, place: int) -> None:
    if sum(head[:148]) + 8 * 32 + sum(head[156:]) != _number(head[148:156], place):
        raise TarRefused("archive.damaged", "a header's checksum is wrong", f"byte {place}")


def _number(field: bytes, place: int) -> int:
    """A number of a header: octal digits, or, from the first bit on, binary."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if any(digit not in b"01234567" for digit in digits):
        raise TarRefused("archive.damaged", "a header's number is none", f"byte {place}")
    return int(digits or b"0", 8)


def _name(head: bytes, place: int) -> str:
    raw = head[:100].split(b"\0", 1)[0]
    if head[257:263] == b"ustar\0" and head[345]:
        raw = head[345:500].split(b"\0", 1)[0] + b"/" + raw
    return _decoded(raw, place)


def _decoded(raw: bytes, place: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise TarRefused("name.form", "a name is not UTF-8", f"byte {place}") from None


def _text_block(reader: _Blocks, length: int, place: int) -> bytes:
    if length > MAX_EXTENDED:
        raise TarRefused("archive.limit", "an extended header is too long", f"byte {place}", could_not=True)
    data = reader.take(-(-length // BLOCK) * BLOCK)
    assert data is not None
    return data[:length]


def _extend(extended: dict[str, str], kind: bytes, data: bytes, place: int) -> None:
    """Keeps what an extended header says about the next member; what decides a name is said once."""
    if kind == b"L":
        _once(extended, "path", _decoded(data.rstrip(b"\0"), place), place)
        return
    for key, value in _records(data, place):
        if key in _HARMLESS or key.startswith(_HARMLESS_FAMILIES):
            continue
        known = kind == b"x" and key in ("path", "size", "linkpath")
        if not known or (key == "size" and not (value.isascii() and value.isdigit() and len(value) < 16)):
            raise TarRefused(
                "archive.member", f"an extended header that is not read here: {key[:60]!r}", could_not=True
            )
        _once(extended, key, value, place)


def _once(extended: dict[str, str], key: str, value: str, place: int) -> None:
    if key in extended or not value:
        raise TarRefused("archive.ambiguous", f"the {key} of a member is given twice, or is empty", f"byte {place}")
    extended[key] = value


def _records(data: bytes, place: int) -> Iterator[tuple[str, str]]:
    """The records `length key=value` of an extended header; lengths must add up exactly."""
    position = 0
    while position < len(data):
        digits, space, _ = data[position : position + 10].partition(b" ")
        length = int(digits) if digits.isdigit() and space else 0
        record = data[position : position + length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if length < 5 or len(record) != length or record[-1:] != b"\n" or not equals:
            raise TarRefused("archive.damaged", "a broken extended header", f"byte {place}")
        yield _decoded(key, place), value.decode("utf-8", "surrogateescape")
        position += length


class _Blocks:
    """The unpacked bytes of an archive, read through once; never more than a block of them in memory."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.position = 0
        self._stream = stream
        self._most = MAX_BYTES
        self._rest = b""
        self._unpacker: _Unpacker | None = None
        head = stream.read(6)
        stream.seek(0)
        if head[:2] == b"\x1f\x8b":
            self._unpacker = zlib.decompressobj(31)
        elif head[:3] == b"BZh":
            import bz2

            self._unpacker = bz2.BZ2Decompressor()
        elif head == b"\xfd7zXZ\0":
            import lzma

            self._unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=128 << 20)
        if self._unpacker is not None:
            self._most = min(self._most, max(size * MAX_RATIO, 1 << 20))

    def take(self, count: int, may_end: bool = False) -> bytes | None:
        """Exactly so many bytes; None at the very end where that may be."""
        parts = []
        left = count
        while left:
            if not self._rest:
                self._rest = self._more()
            if not self._rest:
                break
            part = self._rest[:left]
            self._rest = self._rest[left:]
            parts.append(part)
            left -= len(part)
        self.position += count - left
        if self.position > self._most:
            raise TarRefused("archive.limit", "the archive unpacks to more than is read here", could_not=True)
        if left == count and may_end:
            return None
        if left:
            raise TarRefused("archive.damaged", "the archive ends inside a member", f"byte {self.position}")
        return b"".join(parts)

    def skip(self, count: int) -> None:
        """Passes over so many bytes."""
        while count:
            part = min(count, _READ)
            self.take(part)
            count -= part

    def only_zeros(self) -> None:
        """Refuses anything but zeros from here to the end."""
        while (part := self._rest or self._more()) != b"":
            self._rest = b""
            self.position += len(part)
            if any(part):
                raise TarRefused("archive.ambiguous", "something follows the end of the archive")
            if self.position > self._most:
                raise TarRefused("archive.limit", "too many zeros after the end", could_not=True)

    def _more(self) -> bytes:
        """The next bytes; empty at the end. One packed stream only: readers differ about a second one."""
        if self._unpacker is None:
            return self._stream.read(_READ)
        return self._unpacked(self._unpacker)

    def _unpacked(self, unpacker: _Unpacker) -> bytes:
        import lzma

        while not unpacker.eof:
            kept = getattr(unpacker, "unconsumed_tail", b"")
            waits = bool(kept) or not getattr(unpacker, "needs_input", True)
            data = kept or (b"" if waits else self._stream.read(_READ))
            if not data and not waits:
                raise TarRefused("archive.damaged", "the packed archive is cut")
            try:
                out = unpacker.decompress(data, _READ)
            except (zlib.error, OSError, EOFError, lzma.LZMAError, ValueError) as error:
                raise TarRefused("archive.damaged", f"the packed archive is broken: {str(error)[:100]}") from None
            if out:
                return out
        if unpacker.unused_data or self._stream.read(1):
            raise TarRefused("archive.ambiguous", "something follows the packed archive")
        return b""

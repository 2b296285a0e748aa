"""Zip archives with every field settable: what `zipfile` and torch write, and what they never would."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

STORED, DEFLATED = 0, 8


@dataclass
class Member:
    """One member; `None` means "as it should be"."""

    name: str
    data: bytes = b""
    method: int = STORED
    flags: int = 0
    local_name: str | None = None
    crc: int | None = None
    local_crc: int | None = None
    size: int | None = None
    packed_size: int | None = None
    local_size: int | None = None
    local_packed_size: int | None = None
    local_flags: int | None = None
    local_method: int | None = None
    local_method_data: bytes | None = None
    """The bytes in the file where they are not the packed data."""
    extra: bytes = b""
    local_extra: bytes = b""
    comment: bytes = b""
    attributes: int = 0
    offset: int | None = None
    disk: int = 0
    central: bool = True
    """Whether the directory lists it."""
    after: bytes = b""
    """Bytes between its data and the next header."""
    raw_name: bytes | None = None
    extra_fields: list[bytes] = field(default_factory=list)

    def packed(self) -> bytes:
        """The bytes as they lie in the file."""
        if self.local_method_data is not None:
            return self.local_method_data
        if self.method == DEFLATED:
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            return packer.compress(self.data) + packer.flush()
        return self.data


def archive(
    members: Sequence[Member],
    *,
    prefix: bytes = b"",
    suffix: bytes = b"",
    comment: bytes = b"",
    before_directory: bytes = b"",
    after_directory: bytes = b"",
    count: int | None = None,
    size: int | None = None,
    start: int | None = None,
    disk: int = 0,
    shift: int = 0,
    zip64: bool = False,
    zip64_count: int | None = None,
    align: bool = False,
) -> bytes:
    """The archive; `shift` is added to every offset that it writes, as for a file with something in front."""
    out = bytearray(prefix)
    entries = []
    for member in members:
        packed = member.packed()
        crc = zlib.crc32(member.data) if member.crc is None else member.crc
        size_ = len(member.data) if member.size is None else member.size
        packed_size = len(packed) if member.packed_size is None else member.packed_size
        raw = member.raw_name if member.raw_name is not None else member.name.encode()
        local = member.local_name.encode() if member.local_name is not None else raw
        header = len(out) - len(prefix) + shift
        extra = member.local_extra
        if align:
            # As torch does: the data of a member starts at a multiple of 64, filled up by a field "FB".
            rest = -(len(out) + 30 + len(local) + 4) % 64
            extra = b"FB" + struct.pack("<H", rest) + b"Z" * rest
        out += struct.pack(
            "<4sHHHHHIIIHH",
            b"PK\x03\x04",
            20,
            member.flags if member.local_flags is None else member.local_flags,
            member.method if member.local_method is None else member.local_method,
            0,
            0x21,
            crc if member.local_crc is None else member.local_crc,
            packed_size if member.local_packed_size is None else member.local_packed_size,
            size_ if member.local_size is None else member.local_size,
            len(local),
            len(extra),
        )
        out += local + extra + packed + member.after
        if member.central:
            entries.append(
                struct.pack(
                    "<4sHHHHHHIIIHHHHHII",
                    b"PK\x01\x02", 20, 20, member.flags, member.method, 0, 0x21, crc, packed_size, size_, len(raw),
                    len(member.extra), len(member.comment), member.disk, 0, member.attributes,
                    header if member.offset is None else member.offset,
                ) + raw + member.extra + member.comment
            )  # fmt: skip
    out += before_directory
    directory = b"".join(entries)
    where = len(out) - len(prefix) + shift if start is None else start
    out += directory + after_directory
    number = len(entries) if count is None else count
    length = len(directory) if size is None else size
    if zip64:
        place = len(out) - len(prefix) + shift
        number64 = number if zip64_count is None else zip64_count
        out += struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, number64, number64, length, where)
        out += struct.pack("<4sIQI", b"PK\x06\x07", 0, place, 1)
    out += struct.pack("<4sHHHHIIH", b"PK\x05\x06", disk, disk, number, number, length, where, len(comment))
    return bytes(out + comment + suffix)


def torch_archive(
    pickle: bytes,
    storages: dict[str, bytes] | None = None,
    *,
    top: str = "archive",
    notes: dict[str, bytes] | None = None,
    extra: Sequence[Member] = (),
    change: dict[str, dict[str, object]] | None = None,
    align: bool = True,
    **options: object,
) -> bytes:
    """A file as torch.save writes it; `change` sets fields of members by their name inside `top`."""
    found = {
        "version": b"3\n",
        "byteorder": b"little",
        ".data/serialization_id": b"0123456789012345678901234567890123456789",
    }
    found = found if notes is None else notes
    members = [Member(f"{top}/data.pkl", pickle)]
    members += [
        Member(f"{top}/{name}", found[name])
        for name in (".format_version", ".storage_alignment", "byteorder")
        if name in found
    ]
    members += [Member(f"{top}/data/{key}", data) for key, data in (storages or {}).items()]
    members += [Member(f"{top}/{name}", found[name]) for name in ("version", ".data/serialization_id") if name in found]
    for name, fields in (change or {}).items():
        members = [replace(m, **fields) if m.name == f"{top}/{name}" else m for m in members]  # type: ignore[arg-type]
    return archive([*members, *extra], align=align, **options)  # type: ignore[arg-type]

"""Archives that two readers read differently, that hide a member, or that ask for too much."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from . import opcodes as op
from . import torch_pickles
from .cases import Case
from .zips import DEFLATED, Member, archive, torch_archive

GOOD, STORAGES = torch_pickles.state_dict()
BAD = op.whole(op.call("os", "getcwd", ()))


def torch(**options: object) -> bytes:
    """An ordinary torch file with something changed."""
    return torch_archive(GOOD, STORAGES, **options)  # type: ignore[arg-type]


def changed(member: str, **fields: object) -> bytes:
    """An ordinary torch file with fields of one member changed."""
    return torch(change={member: fields})


def headers() -> Iterator[tuple[str, bytes]]:
    """Fields of one header that are not true."""
    yield "encrypted bit in the directory", changed("data.pkl", flags=1, local_flags=0)
    yield "encrypted bit in both", changed("data.pkl", flags=1)
    yield "encrypted bit in the local header", changed("data.pkl", local_flags=1)
    yield "strong encryption bit", changed("data.pkl", flags=0x41)
    yield "masked headers bit", changed("data.pkl", flags=0x2000)
    yield "patch bit", changed("data.pkl", flags=0x20)
    yield "reserved bit", changed("data.pkl", flags=0x8000)
    yield "wrong CRC of the pickle", changed("data.pkl", crc=0)
    yield "wrong CRC of a storage", changed("data/0", crc=0x12345678)
    yield "wrong CRC in the local header only", changed("data.pkl", local_crc=1)
    yield "wrong CRC in the directory only", changed("data.pkl", crc=1, local_crc=zlib.crc32(GOOD))
    yield "other name in the local header", changed("data.pkl", local_name="archive/dada.pkl")
    yield "other name in the directory", changed("data.pkl", name="archive/dada.pkl", local_name="archive/data.pkl")
    yield "local name is longer", changed("data.pkl", local_name="archive/data.pkl.x")
    yield "local name in another case", changed("data.pkl", local_name="archive/DATA.pkl")
    yield "other method in the local header", changed("data.pkl", local_method=DEFLATED)
    yield "unknown method", changed("data.pkl", method=99, local_method_data=GOOD)
    yield "lzma method", changed("data.pkl", method=14, local_method_data=GOOD)
    yield "bzip2 method", changed("data.pkl", method=12, local_method_data=GOOD)
    yield "size too large", changed("data.pkl", size=len(GOOD) + 10, packed_size=len(GOOD) + 10)
    yield "size too small", changed("data.pkl", size=len(GOOD) - 10, packed_size=len(GOOD) - 10)
    yield "size of 4 GB", changed("data.pkl", size=0xFFFFFFFE, packed_size=0xFFFFFFFE)
    yield "size of zero in the directory", changed("data.pkl", size=0, packed_size=0)
    yield "size of zero in the local header", changed("data.pkl", local_size=0, local_packed_size=0)
    yield "local size is another", changed("data.pkl", local_size=5)
    yield "two sizes of a stored member", changed("data.pkl", size=len(GOOD) - 1)
    yield "offset of another member", changed("data.pkl", offset=0x60)
    yield "offset beyond the end", changed("data.pkl", offset=0x7FFFFFFF)
    yield "offset of itself plus one", changed("data.pkl", offset=1)
    yield "another disk", changed("data.pkl", disk=3)
    yield "symbolic link", changed("data.pkl", attributes=0o120777 << 16)
    yield (
        "symbolic link to outside",
        torch(extra=[Member("archive/data/9", b"/etc/hostname", attributes=0o120777 << 16)]),
    )
    yield "device", changed("data.pkl", attributes=0o020666 << 16)
    yield "pipe", changed("data.pkl", attributes=0o010666 << 16)
    yield "folder with content", torch(extra=[Member("archive/data/", b"content", attributes=0x10)])
    yield "comment of a member", changed("data.pkl", comment=BAD)
    yield (
        "extra field with another name",
        changed(
            "data.pkl", extra=struct.pack("<HHBI", 0x7075, 20, 1, zlib.crc32(b"archive/data.pkl")) + b"archive/evil.pk"
        ),
    )
    yield "extra field that is cut", changed("data.pkl", extra=b"\x01\x00\xff\xff")
    yield "extra field of one byte", changed("data.pkl", extra=b"\x01")
    yield "zip64 extra that is not asked for", changed("data.pkl", extra=struct.pack("<HHQQ", 1, 16, 5, 5))
    yield (
        "zip64 extra with another size",
        changed("data.pkl", size=0xFFFFFFFF, packed_size=0xFFFFFFFF, extra=struct.pack("<HHQQ", 1, 16, 5, 5)),
    )
    yield (
        "zip64 extra of a huge size",
        changed(
            "data.pkl", size=0xFFFFFFFF, packed_size=0xFFFFFFFF, extra=struct.pack("<HHQQ", 1, 16, 1 << 62, 1 << 62)
        ),
    )
    yield "zip64 extra that is missing", changed("data.pkl", size=0xFFFFFFFF, packed_size=0xFFFFFFFF)
    yield "zip64 offset elsewhere", changed("data.pkl", offset=0xFFFFFFFF, extra=struct.pack("<HHQ", 1, 8, 1 << 40))
    yield "zip64 twice", changed("data.pkl", extra=struct.pack("<HHQHHQ", 1, 8, 5, 1, 8, 5))
    yield (
        "data descriptor that is not there",
        changed("data.pkl", flags=8, local_crc=0, local_size=0, local_packed_size=0),
    )
    yield (
        "data descriptor that lies",
        changed("data.pkl", flags=8, local_crc=0, local_size=0, local_packed_size=0, after=b"PK\x07\x08" + bytes(12)),
    )


def names() -> Iterator[tuple[str, bytes]]:
    """Names that leave, hide, or are there twice."""
    for label, name in {
        "parent": "../outside.txt",
        "parent inside": "archive/../../x",
        "absolute": "/etc/x",
        "drive": "C:\\x",
        "backslash": "archive\\..\\x",
        "dot": "archive/./data.pkl",
        "empty part": "archive//data.pkl",
        "NUL": "archive/data.pkl\0.txt",
        "only dots": "..",
        "newline": "archive/a\nb",
        "escape": "archive/\x1b[2J",
        "right to left": "archive/\u202elkp.atad",
        "trailing dot": "archive/data.pkl.",
        "device": "archive/NUL",
        "empty": "",
        "trailing space": "archive/data.pkl ",
    }.items():
        yield f"name: {label}", torch(extra=[Member(name, b"x", flags=0 if name.isascii() else 0x800)])
    yield "name that is not UTF-8", torch(extra=[Member("x", b"x", raw_name=b"archive/\xff\xfe", flags=0x800)])
    yield "name in an old code page", torch(extra=[Member("x", b"x", raw_name=b"archive/\x82")])
    yield "pickle twice, the bad one last", torch(extra=[Member("archive/data.pkl", BAD)])
    yield "pickle twice, the bad one first", torch_archive(BAD, STORAGES, extra=[Member("archive/data.pkl", GOOD)])
    yield "pickle twice, both good", torch(extra=[Member("archive/data.pkl", GOOD)])
    yield "storage twice", torch(extra=[Member("archive/data/0", STORAGES["0"])])
    yield "pickle in another case", torch(extra=[Member("archive/Data.pkl", BAD)])
    yield "pickle in another folder", torch(extra=[Member("other/data.pkl", BAD)])
    yield "pickle in a folder before", archive([Member("aaa/data.pkl", BAD), Member("archive/data.pkl", GOOD)])
    yield "pickle at the top", torch(extra=[Member("data.pkl", BAD)])
    yield "pickle one folder deeper", torch_archive(BAD, {}, top="a/b")
    yield "folder whose name is a prefix", torch(extra=[Member("archive2/data.pkl", BAD)])
    yield "another pickle beside", torch(extra=[Member("archive/extra.pkl", BAD)])
    yield "another pickle as a storage", torch(extra=[Member("archive/data/2", BAD)])
    yield "a pickle named constants", torch(extra=[Member("archive/constants.pkl", BAD)])
    yield "a pickle named byteorder", torch(notes={"byteorder": BAD})
    yield (
        "composed and decomposed",
        torch(extra=[Member("archive/\u00e9", b"", flags=0x800), Member("archive/e\u0301", b"", flags=0x800)]),
    )
    yield "python source", torch(extra=[Member("archive/code/__torch__.py", b"def f(): pass")])
    yield (
        "torchscript",
        archive(
            [
                Member("m/data.pkl", GOOD),
                Member("m/constants.pkl", op.whole(op.EMPTY_TUPLE)),
                Member("m/code/__torch__.py", b"x = 1"),
                Member("m/version", b"6\n"),
            ]
        ),
    )
    yield (
        "torch package",
        torch(extra=[Member("archive/.data/extern_modules", b"os"), Member("archive/model/model.pkl", BAD)]),
    )
    yield "a library", torch(extra=[Member("archive/libx.so", b"\x7fELF")])
    yield (
        "a storage with a path as key",
        torch_archive(GOOD.replace(b"X\x01\x00\x00\x000", b"X\x04\x00\x00\x00../x"), STORAGES),
    )


def records() -> Iterator[tuple[str, bytes]]:
    """The directory and its end: two archives in one, holes, things in front and behind."""
    good, bad = torch(), torch_archive(BAD, STORAGES)
    yield "two archives, the bad one last", good + bad
    yield "two archives, the bad one first", bad + good
    yield "an archive in the comment", torch(comment=torch_archive(BAD, {}, align=False)[:60000])
    yield "a comment", torch(comment=b"hello")
    yield "an end record in the comment", torch(comment=b"PK\x05\x06" + bytes(18))
    yield "bytes behind", torch(suffix=b"\0" * 100)
    yield "one byte behind", torch(suffix=b"\n")
    yield "a pickle behind", torch(suffix=BAD)
    yield "a pickle in front", torch(prefix=BAD)
    yield "a pickle in front, offsets right", torch(prefix=BAD, shift=len(BAD))
    yield "a script in front", torch(prefix=b"#!/bin/true\n", shift=12)
    yield "one byte in front", torch(prefix=b"\0")
    yield "bytes before the directory", torch(before_directory=BAD)
    yield "bytes after the directory", torch(after_directory=b"\0" * 7)
    yield "a member that is not listed", torch(extra=[Member("archive/hidden.pkl", BAD, central=False)])
    yield (
        "a pickle that is not listed",
        torch_archive(BAD, STORAGES, change={"data.pkl": {"central": False}}, extra=[Member("archive/data.pkl", GOOD)]),
    )
    yield "bytes between members", changed("data.pkl", after=BAD)
    yield "a member inside another", torch(extra=[Member("archive/data/7", archive([Member("data.pkl", BAD)]))])
    yield "fewer members than listed", torch(count=2)
    yield "more members than listed", torch(count=50)
    yield "no member", torch(count=0, size=0)
    yield "directory size is wrong", torch(size=10)
    yield "directory start is wrong", torch(start=0)
    yield "directory start is beyond", torch(start=0x7FFFFFFF)
    yield "another disk", torch(disk=1)
    yield "zip64 with another count", torch(zip64=True, zip64_count=1)
    yield "zip64 with a huge count", torch(zip64=True, zip64_count=1 << 60)
    yield "count is 65535 without zip64", torch(count=0xFFFF)
    yield "start is 4 GB without zip64", torch(start=0xFFFFFFFF)
    yield "two directories", torch(before_directory=good[good.index(b"PK\x01\x02") : -22])
    yield "end record only", good[-22:]
    yield "empty archive", b"PK\x05\x06" + bytes(18)
    yield "local headers only", good[: good.index(b"PK\x01\x02")]
    overlapping = [Member("archive/data.pkl", GOOD), Member("archive/version", b"3\n")]
    overlapping += [
        Member(f"archive/data/{i}", b"", offset=0, size=len(GOOD), packed_size=len(GOOD)) for i in range(20)
    ]
    yield "members that share their bytes", archive(overlapping)
    yield "no pickle", archive([Member("archive/version", b"3\n"), Member("archive/byteorder", b"little")])
    yield "no storage", torch_archive(GOOD, {})
    yield "a storage too short", torch_archive(GOOD, {**STORAGES, "0": STORAGES["0"][:-1]})
    yield "a storage too long", torch_archive(GOOD, {**STORAGES, "0": STORAGES["0"] + b"x"})
    yield "a storage nobody uses", torch_archive(GOOD, {**STORAGES, "77": BAD})
    yield "bytes after the pickle", torch_archive(GOOD + BAD, STORAGES)
    yield "byte order that is none", torch(notes={"byteorder": b"middle", "version": b"3\n"})
    yield "version that is none", torch(notes={"byteorder": b"little", "version": b"x" * 100})


def bombs() -> Iterator[tuple[str, bytes]]:
    """A few bytes that would become many."""
    zeros = bytes(64 << 20)
    yield (
        "deflated pickle of 64 MB",
        torch_archive(GOOD, STORAGES, change={"data.pkl": {"data": zeros, "method": DEFLATED}}),
    )
    yield "deflated storage of 64 MB", torch(change={"data/0": {"data": zeros, "method": DEFLATED}})
    small = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = small.compress(zeros) + small.flush()
    lie = {"data": GOOD, "method": DEFLATED, "local_method_data": packed}
    yield "deflated more than it says", torch(change={"data.pkl": lie})
    yield "deflated rubbish", torch(change={"data.pkl": {"method": DEFLATED, "local_method_data": b"\xff" * 50}})
    yield (
        "deflated and cut",
        torch(change={"data.pkl": {"method": DEFLATED, "local_method_data": zlib.compress(GOOD, 9)[2:-8]}}),
    )
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    whole = packer.compress(GOOD) + packer.flush()
    yield (
        "deflated with something behind",
        torch(change={"data.pkl": {"method": DEFLATED, "local_method_data": whole + BAD}}),
    )
    yield "many members", archive([Member(f"archive/data/{i}", b"") for i in range(60_000)])
    yield "many members with long names", archive([Member(f"archive/{i}" + "x" * 20_000, b"") for i in range(700)])
    nested = BAD
    for _ in range(20):
        nested = archive([Member("archive/data.pkl", nested)])
    yield "archives in archives", nested


def cases() -> Iterator[Case]:
    """All of them."""
    for kind, found in (
        ("zip header that lies", headers()),
        ("zip name", names()),
        ("zip records", records()),
        ("zip bomb", bombs()),
    ):
        for name, data in found:
            yield Case(f"{kind}: {name}", kind, "x.pt", data)

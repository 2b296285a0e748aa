"""Files that are two kinds, none, cut, or not files at all."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import struct
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from . import honest_files, hostile_headers, torch_pickles
from . import opcodes as op
from .arrays import npy
from .cases import ONLY_REFUSED, Case
from .zips import Member, archive, torch_archive

GOOD, STORAGES = torch_pickles.state_dict()
CALL = op.call("os", "getcwd", ())
BAD = op.whole(CALL)
BAD0 = b"cos\ngetcwd\n(tR."
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0) + bytes(4)
TORCH = torch_archive(GOOD, STORAGES)
BAD_TORCH = torch_archive(BAD, {})
TENSORS = hostile_headers.safetensors({"a": hostile_headers.entry("F32", [2], 0, 8)}, bytes(8))


def polyglots() -> Iterator[tuple[str, str, bytes]]:
    """Valid, or nearly so, as two kinds: name, file name, bytes."""
    yield "pickle and zip", "x.pt", op.whole(op.NONE) + TORCH
    yield "pickle and bad zip", "x.pt", op.whole(op.NONE) + BAD_TORCH
    yield "pickle and zip as pickle", "x.pkl", op.whole(op.argument({"a": 1})) + BAD_TORCH
    yield "pickle and zip inside it", "x.pkl", op.whole(op.argument(BAD_TORCH) + op.POP + op.NONE)
    yield "protocol 0 pickle and zip", "x.pt", b"N." + TORCH
    yield "zip inside a pickle name", "x.pkl", TORCH
    yield "bad zip inside a pickle name", "x.pkl", BAD_TORCH
    yield "zip and safetensors name", "x.safetensors", TORCH
    yield "zip and safetensors", "x.safetensors", TENSORS + TORCH
    inside = archive([Member("archive/data.pkl", BAD)], shift=8 + 64)
    yield "zip in the data of safetensors", "x.safetensors", _safetensors_around(inside)
    yield "npy and pickle", "x.npy", npy("<f4", (1,), bytes(4)) + BAD
    yield "npy and zip", "x.npy", npy("<f4", (1,), bytes(4)) + TORCH
    yield "npy name on a pickle", "x.npy", BAD
    yield "npy name on a protocol 0 pickle", "x.npy", BAD0
    yield "GGUF and zip", "x.gguf", honest_files.GGUF + TORCH
    yield "GGUF name on a pickle", "x.gguf", BAD
    yield "PNG as pt", "x.pt", PNG
    yield "PNG and zip", "x.pt", PNG + TORCH
    yield "PNG and zip as PNG", "x.png", PNG + BAD_TORCH
    yield "PDF and zip", "x.pt", b"%PDF-1.4\n" + BAD_TORCH
    yield "GIF and pickle", "x.pt", b"GIF89a" + BAD
    yield "script and zip", "x.pt", b"#!/bin/true\n" + BAD_TORCH
    yield "program and zip", "x.pt", b"\x7fELF" + bytes(60) + BAD_TORCH
    yield "HTML", "x.pt", b"<!DOCTYPE html><html><body>Not found</body></html>"
    yield "HTML as safetensors", "x.safetensors", b"<!DOCTYPE html><html><body>Not found</body></html>"
    yield "JSON error as safetensors", "x.safetensors", b'{"error":"Repository not found"}'
    yield (
        "LFS pointer",
        "x.pt",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1234\n",
    )
    yield (
        "LFS pointer as safetensors",
        "x.safetensors",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1234\n",
    )
    yield "protocol 0 pickle as bin", "x.bin", BAD0
    yield "protocol 0 pickle as safetensors", "x.safetensors", BAD0
    yield "protocol 0 pickle without a name", "x", BAD0
    yield "protocol 0 pickle as txt", "x.txt", BAD0
    yield "protocol 1 pickle as bin", "x.bin", b"cos\ngetcwd\nq\x00)R."
    yield "protocol 2 pickle as safetensors", "x.safetensors", BAD
    yield "protocol 4 pickle as pt", "x.pt", op.proto(4) + op.frame(CALL + op.STOP)
    yield "pickle as ckpt", "x.ckpt", BAD
    yield "pickle as json", "x.json", BAD
    yield "pickle as joblib", "x.joblib", BAD
    yield "pickle as h5", "x.h5", BAD
    yield "pickle as zip", "x.zip", BAD
    yield "safetensors as pt", "x.pt", TENSORS
    yield "safetensors as npy", "x.npy", TENSORS
    yield "torch as gguf", "x.gguf", TORCH
    yield "tar and pickle", "x.pkl", _tar([("a", BAD)])
    yield "pickle that is a tar header too", "x.pkl", _pickle_and_tar()
    yield "length that is a pickle", "x.safetensors", b"\x80\x02cos\ngetcwd\n)R."
    for first, length in (
        (b"V", 0x56),
        (b"V", 0x4056),
        (b"V", 0x20056),
        (b"S", 0x2753),
        (b"U", 0x8055),
        (b"X", 0x8058),
        (b"C", 0x8043),
    ):
        for count in (0, 30_000):
            name = f"safetensors whose length {length:#x} begins a pickle, {count} opcodes before its call"
            yield name, "x.safetensors", _safetensors_and_pickle(length, first, (op.NONE + op.POP) * count)
    yield "HDF5", "x.pt", b"\x89HDF\r\n\x1a\n" + bytes(100)
    yield "HDF5 behind 512 bytes", "x.safetensors", bytes(512) + b"\x89HDF\r\n\x1a\n" + bytes(100)


def _safetensors_around(inside: bytes) -> bytes:
    header = hostile_headers.safetensors({"a": hostile_headers.entry("U8", [len(inside)], 0, len(inside))})
    return header + inside


def _pickle_and_tar() -> bytes:
    block = bytearray(_tar([("x", b"")])[:512])
    block[: len(BAD0)] = BAD0
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + bytes(1024)


def _safetensors_and_pickle(length: int, first: bytes, before: bytes) -> bytes:
    """Valid as both: the first byte of the length is an opcode that swallows the header; a tensor holds the call.

    A line (V, S) ends at the first line end, which is in the tensor. A text whose length is in the header's length
    (X) or in its second byte (U, C) ends in the metadata, where the letter V begins a line.
    """
    end = b"'\n" if first == b"S" else b"\n"
    call = end + op.POP + (op.POP if first in (b"U", b"X", b"C") else b"") + before + CALL + op.STOP
    body: dict[str, object] = {"a": hostile_headers.entry("U8", [len(call)], 0, len(call))}
    if first in (b"U", b"X", b"C"):
        body = {"__metadata__": {"x": "V" * 600}, **body}
    text = json.dumps(body, separators=(",", ":")).encode()
    if len(text) > length:
        length += 256 * -(-(len(text) - length) // 256)
    return struct.pack("<Q", length) + text.ljust(length) + call


def _tar(members: list[tuple[str, bytes]], **fields: object) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as stream:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for key, value in fields.items():
                setattr(info, key, value)
            stream.addfile(info, io.BytesIO(data))
    return out.getvalue()


def tars() -> Iterator[tuple[str, str, bytes]]:
    """The oldest torch format, and tricks of tar."""
    storages = struct.pack("<q", 0)
    good = [
        ("sys_info", op.whole(op.argument({"protocol_version": 1000}), 2)),
        ("pickle", op.whole(op.argument({"a": 1}))),
        ("storages", op.whole(op.int_(0)) + storages),
        ("tensors", op.whole(op.int_(0))),
    ]

    def but(name: str, data: bytes) -> list[tuple[str, bytes]]:
        return [(n, data if n == name else d) for n, d in good]

    for name in ("pickle", "storages", "tensors", "sys_info"):
        yield f"tar: bad {name}", "x.pt", _tar(but(name, BAD))
    yield "tar: a pickle twice", "x.pt", _tar([*good, ("pickle", BAD)])
    yield "tar: another pickle", "x.pt", _tar([*good, ("evil.pkl", BAD)])
    yield "tar: a name that leaves", "x.pt", _tar([*good, ("../evil", b"x")])
    yield "tar: an absolute name", "x.pt", _tar([*good, ("/etc/evil", b"x")])
    yield "tar: a link", "x.pt", _tar([*good, ("link", b"")], type=tarfile.SYMTYPE, linkname="/etc/hostname")
    yield "tar: a hard link", "x.pt", _tar([("pickle", b"")], type=tarfile.LNKTYPE, linkname="../x")
    yield "tar: a device", "x.pt", _tar([("pickle", b"")], type=tarfile.CHRTYPE)
    yield "tar: a pipe", "x.pt", _tar([("pickle", b"")], type=tarfile.FIFOTYPE)
    yield "tar: cut", "x.pt", _tar(good)[:-700]
    yield "tar: a wrong checksum", "x.pt", _tar(good)[:148] + b"0000000\0" + _tar(good)[156:]
    yield "tar: a size of 8 GB", "x.pt", _resized(_tar(good), b"77777777777\0")
    yield "tar: a negative size", "x.pt", _resized(_tar(good), b"\xff" * 12)
    yield "tar: something else", "x.pt", _tar([("hello.txt", b"hello")])
    yield "tar: data behind the end", "x.pt", _tar(good) + BAD
    yield "tar: members that are missing", "x.pt", _tar(good[:2])


def _resized(data: bytes, size: bytes) -> bytes:
    block = bytearray(data)
    block[124:136] = size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:512])
    return bytes(block)


def packed() -> Iterator[tuple[str, str, bytes]]:
    """A pickle or a torch file inside something that has to be unpacked first."""
    for name, data in (("pickle", BAD), ("torch", BAD_TORCH)):
        yield f"gzip of a {name}", "x.pt", gzip.compress(data, mtime=0)
        yield f"gzip of a {name}, named so", "x.pkl.gz", gzip.compress(data, mtime=0)
        yield f"xz of a {name}", "x.pt", lzma.compress(data)
        yield f"bzip2 of a {name}", "x.pt", bz2.compress(data)
        yield f"zlib of a {name}", "x.joblib", zlib.compress(data)
    yield "7z", "x.pt", b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(100)
    yield "7z in disguise", "x.bin", b"7z\xbc\xaf\x27\x1c\x00\x04" + BAD
    yield "rar", "x.pt", b"Rar!\x1a\x07\x01\x00" + bytes(50)
    yield "zstd", "x.pt", b"\x28\xb5\x2f\xfd" + bytes(50)
    yield "zip of a pickle", "x.zip", archive([Member("model.pkl", BAD)])
    yield "zip of a torch file", "x.zip", archive([Member("model.pt", BAD_TORCH)])
    yield "zip of a gzip", "x.zip", archive([Member("model.pkl.gz", gzip.compress(BAD, mtime=0))])


def cuts() -> Iterator[tuple[str, str, bytes]]:
    """Every kind, cut at its borders."""
    yield "empty pt", "x.pt", b""
    yield "empty safetensors", "x.safetensors", b""
    yield "empty pkl", "x.pkl", b""
    yield "empty npy", "x.npy", b""
    yield "empty gguf", "x.gguf", b""
    yield "empty without a name", "x", b""
    yield "one zero byte", "x.pt", b"\0"
    yield "a line end", "x.pt", b"\n"
    yield "a dot", "x.pkl", b"."
    yield "zeros", "x.pt", bytes(4096)
    yield "zeros as safetensors", "x.safetensors", bytes(4096)
    yield "random bytes", "x.pt", bytes((i * 197 + i // 7 * 31) % 256 for i in range(5000))
    yield "torch cut by 10", "x.pt", TORCH[:-10]
    for part in (1, 3, 4, 30, 100, len(TORCH) // 2, len(TORCH) - 23, len(TORCH) - 22, len(TORCH) - 21, len(TORCH) - 1):
        yield f"torch cut to {part}", "x.pt", TORCH[:part]
    legacy = honest_files.LEGACY
    for part in (2, 12, 20, len(legacy) // 2, len(legacy) - 1):
        yield f"old torch cut to {part}", "x.pt", legacy[:part]
    for part in (1, 7, 8, 9, 40, len(TENSORS) - 1):
        yield f"safetensors cut to {part}", "x.safetensors", TENSORS[:part]
    array = npy("<f4", (4,), bytes(16))
    for part in (5, 6, 8, 10, 60, len(array) - 1):
        yield f"npy cut to {part}", "x.npy", array[:part]
    whole = op.whole(op.argument({"a": [1, 2, 3], "b": "text"}))
    for part in (1, 2, 5, len(whole) - 1):
        yield f"pickle cut to {part}", "x.pkl", whole[:part]
    for part in (4, 10, 23, len(honest_files.GGUF) - 1):
        yield f"gguf cut to {part}", "x.gguf", honest_files.GGUF[:part]


def not_files() -> Iterator[Case]:
    """Things that have a name and are no plain file."""
    kind = "not a plain file"

    def link(path: Path) -> None:
        (path.parent / "real.pt").write_bytes(TORCH)
        path.symlink_to("real.pt")

    yield Case("a folder", kind, "x.pt", lambda path: path.mkdir())
    yield Case("a pipe", kind, "x.pt", lambda path: os.mkfifo(path))
    yield Case("a link to a good file", kind, "x.pt", link)
    yield Case("a link to nothing", kind, "x.pt", lambda path: path.symlink_to("nowhere"))
    yield Case("a link to a device", kind, "x.pt", lambda path: path.symlink_to("/dev/zero"))
    yield Case("a link to itself", kind, "x.pt", lambda path: path.symlink_to("x.pt"))
    yield Case("nothing", kind, "x.pt", lambda path: None)


def legacy() -> Iterator[tuple[str, str, bytes]]:
    """torch's old format: several pickles and raw storages."""
    good = honest_files.legacy_pickle()
    storages = {"0": ("float32", torch_pickles.data("float32", 12)), "1": ("float32", torch_pickles.data("float32", 3))}
    yield "old torch: bad magic pickle", "x.pt", torch_pickles.legacy_file(good, storages, magic=BAD)
    yield (
        "old torch: magic that is called",
        "x.pt",
        torch_pickles.legacy_file(
            good, storages, magic=op.whole(CALL + op.POP + b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")
        ),
    )
    yield "old torch: another magic", "x.pt", torch_pickles.legacy_file(good, storages, magic=op.whole(op.int_(7)))
    yield "old torch: bad pickle", "x.pt", torch_pickles.legacy_file(BAD, storages)
    yield "old torch: a storage is missing", "x.pt", torch_pickles.legacy_file(good, {"0": storages["0"]})
    yield "old torch: a storage too many", "x.pt", torch_pickles.legacy_file(good, {**storages, "2": storages["1"]})
    yield (
        "old torch: a storage too short",
        "x.pt",
        torch_pickles.legacy_file(good, {**storages, "1": ("float32", bytes(4))}),
    )
    yield "old torch: something behind", "x.pt", torch_pickles.legacy_file(good, storages) + BAD
    yield (
        "old torch: source of a class",
        "x.pt",
        torch_pickles.legacy_file(
            op.whole(
                op.argument(("module",))
                + op.POP
                + op.MARK
                + op.long_text("module")
                + op.global_("os", "getcwd")
                + op.long_text("x.py")
                + op.long_text("")
                + op.TUPLE
                + op.BINPERSID
            ),
            storages,
        ),
    )
    yield (
        "old torch: bad list of storages",
        "x.pt",
        torch_pickles.legacy_file(good, storages).replace(
            op.whole(op.EMPTY_LIST + op.MARK + op.long_text("0") + op.long_text("1") + op.APPENDS), BAD
        ),
    )


def cases() -> Iterator[Case]:
    """All of them."""
    for kind, found in (
        ("two kinds in one file, or another than the name says", polyglots()),
        ("tar", tars()),
        ("packed", packed()),
        ("cut", cuts()),
        ("old torch", legacy()),
    ):
        for name, file, data in found:
            statuses = (
                ONLY_REFUSED if kind.startswith("two") and "bad" in name and file == "x.pt" else frozenset({1, 2})
            )
            yield Case(name, kind, file, data, statuses)
    yield from not_files()

"""What a file is by its bytes, and what its name says that it is."""

from __future__ import annotations

import os
from typing import NamedTuple

from . import plain_pickle, safetensors_file, torch_legacy, zip_archive
from .source import Source

CHECKED = ("safetensors", "torch_zip", "torch_legacy", "torch_tar", "pickle", "npy", "npz", "gguf")
"""Kinds that are read here."""

TORCH = ("torch_zip", "torch_legacy", "torch_tar", "torchscript")

EXTENSIONS: dict[str, tuple[str, ...]] = {
    ".safetensors": ("safetensors",),
    ".pt": TORCH,
    ".pth": TORCH,
    ".ckpt": TORCH,
    ".pt2": ("torchscript",),
    ".bin": (*TORCH, "headerless"),
    ".pkl": ("pickle",),
    ".pickle": ("pickle",),
    ".npy": ("npy",),
    ".npz": ("npz",),
    ".gguf": ("gguf",),
    ".tar": ("torch_tar", "tar"),
    ".zip": ("zip", "torch_zip", "torchscript", "npz"),
    ".gz": ("gzip",),
    ".tgz": ("gzip",),
    ".xz": ("xz",),
    ".bz2": ("bzip2",),
    ".zst": ("zstd",),
    ".7z": ("7z",),
    ".rar": ("rar",),
    ".h5": ("hdf5",),
    ".hdf5": ("hdf5",),
    ".png": ("png",),
}
"""What a file of each name may hold. Other names say nothing."""

INSIDE: dict[str, tuple[str, ...]] = {"zip": ("torch_zip", "torchscript", "npz"), "tar": ("torch_tar",)}
"""Kinds that are told from other archives by the names of their members only."""

_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"GGUF", "gguf"),
    (b"\x93NUMPY", "npy"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\x89HDF\r\n\x1a\n", "hdf5"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"%PDF-", "pdf"),
    (b"\x7fELF", "elf"),
    (b"MZ", "windows_program"),
    (b"\xcf\xfa\xed\xfe", "mach_o"),
    (b"\xca\xfe\xba\xbe", "mach_o"),
    (b"#!", "script"),
    (b"version https://git-lfs.github.com/spec/", "lfs_pointer"),
    (b"SQLite format 3\0", "sqlite"),
    (b"\xef\xbb\xbf", "text"),
)
WORDS = {
    "gzip": "a gzip archive", "xz": "an xz archive", "bzip2": "a bzip2 archive", "zstd": "a zstd archive",
    "7z": "a 7z archive", "rar": "a rar archive", "lz4": "an lz4 archive", "tar": "a tar archive",
    "zip": "a zip archive",
    "hdf5": "an HDF5 file", "png": "a PNG image", "jpeg": "a JPEG image", "gif": "a GIF image", "pdf": "a PDF document",
    "elf": "a Linux program", "windows_program": "a Windows program", "mach_o": "a macOS program", "script": "a script",
    "lfs_pointer": "a Git LFS pointer, not the file itself", "html": "a web page", "text": "a text",
    "sqlite": "a database", "empty": "an empty file", "unknown": "of an unknown kind",
    "torchscript": "a TorchScript program",
    "torch_zip": "a torch file (zip)", "torch_legacy": "a torch file (old form)", "torch_tar": "a torch file (tar)",
    "safetensors": "a safetensors file", "pickle": "a pickle", "npy": "a numpy array", "npz": "numpy arrays (npz)",
    "gguf": "a GGUF file", "headerless": "raw numbers without a header",
}  # fmt: skip
"""Each kind for people."""

ARCHIVES = ("gzip", "xz", "bzip2", "zstd", "7z", "rar", "lz4", "tar", "zip")


class Kinds(NamedTuple):
    """All that the bytes of a file can be taken for."""

    main: str
    others: tuple[str, ...]
    probe: plain_pickle.Probe


def declared(path: str) -> tuple[str, ...]:
    """The kinds that the name allows; empty where it says nothing."""
    return EXTENSIONS.get(os.path.splitext(path)[1].lower(), ())


def find(source: Source) -> Kinds:
    """Tries every interpretation; the one by the first bytes is the main one."""
    head = source.read(0, 600)
    probe = plain_pickle.Probe(source)
    main = next((kind for start, kind in _STARTS if head.startswith(start)), "")
    others: list[str] = []
    if is_tar_header(head):
        main, others = ("tar", []) if not main else (main, ["tar"])
    if safetensors_file.looks_like(source):
        if main:
            others.append("safetensors")
        main = main or "safetensors"
    if main != "zip" and zip_archive.end_records(source):
        if main:
            others.append("zip")
        else:
            others.append("zip") if _is_pickle(head, probe) else None
            main = main or ("pickle" if _is_pickle(head, probe) else "zip")
    if main != "hdf5" and _has_hdf5(source):
        others.append("hdf5")
    if head.startswith(torch_legacy.START):
        main = "torch_legacy"
    elif not main and _is_pickle(head, probe):
        main = "pickle"
    elif main not in ("", "pickle") and (probe.imports or (probe.complete and probe.end == source.length)):
        others.append("pickle")
    return Kinds(main or _text_kind(source, head), tuple(others), probe)


def _is_pickle(head: bytes, probe: plain_pickle.Probe) -> bool:
    """Whether a load would take it for a pickle and get somewhere: protocols 0 and 1 have no magic bytes."""
    starts = len(head) > 1 and head[0] == 0x80 and head[1] <= 5
    return starts or probe.imports or probe.complete


def is_tar_header(head: bytes) -> bool:
    """Whether 512 bytes are a tar header: by its checksum, as readers decide."""
    if len(head) < 512:
        return False
    field = head[148:156].rstrip(b" \0").lstrip(b" ")
    if not field or any(digit not in b"01234567" for digit in field):
        return False
    return sum(head[:148]) + 8 * 32 + sum(head[156:512]) == int(field, 8)


def _has_hdf5(source: Source) -> bool:
    place = 512
    while place < source.length:
        if source.read(place, 8) == b"\x89HDF\r\n\x1a\n":
            return True
        place *= 2
    return False


def _text_kind(source: Source, head: bytes) -> str:
    if not source.length:
        return "empty"
    start = head.lstrip()[:20].lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "html"
    try:
        words = head[:500].decode("utf-8", "strict" if source.length <= 500 else "ignore")
    except UnicodeDecodeError:
        return "unknown"
    return "text" if words and all(c.isprintable() or c in "\n\r\t" for c in words) else "unknown"

"""Reads the header of a numpy array file; an array of objects holds a pickle, which is followed and refused."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from .. import text
from . import limits, npy_fields
from .content import AMBIGUOUS, COULD_NOT_CHECK, DAMAGED, ITEM_BITS, NOT_WEIGHTS_ONLY, Content, Storage, Tensor
from .pickle_machine import PickleMachine
from .source import Source

MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    r"\{'descr': (?:'([^'\\]{1,40})'|(\[.*\])), 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \}[ ]*\n"
)
_SIZES = re.compile(r"|{0},|{0}(, {0}){{1,31}}".format("(?:0|[1-9][0-9]{0,17})"))
_CODES = {
    "b1": "BOOL", "u1": "U8", "i1": "I8", "u2": "U16", "i2": "I16", "f2": "F16", "u4": "U32", "i4": "I32", "f4": "F32",
    "u8": "U64", "i8": "I64", "f8": "F64", "c8": "C64", "c16": "C128",
}  # fmt: skip


class Header(NamedTuple):
    """What the header says."""

    code: str
    fortran_order: bool
    shape: tuple[int, ...]
    end: int
    """Where the elements begin."""


def inspect(source: Source, content: Content, name: str = "") -> None:
    """Checks one array, a file of its own or a member of an archive; `name` is then the member's."""
    if not name:
        content.kind = "npy"
    where = text.escaped(name)
    header = _header(source, content, where)
    if header is None:
        return
    elements = math.prod(header.shape)
    dtype = _CODES.get(header.code.lstrip("<>|="))
    try:
        width = ITEM_BITS[dtype] // 8 if dtype else npy_fields.width(header.code)
    except npy_fields.HoldsObjects:
        _objects(source, header, content, where)
        return
    if width is None:
        content.add(
            COULD_NOT_CHECK, "npy.dtype", "a dtype that is not read here", where=where, got=text.shown(header.code)
        )
        return
    rest = source.length - header.end
    if rest != elements * width:
        verdict = AMBIGUOUS if rest > elements * width else DAMAGED
        content.add(
            verdict, "npy.size", "the file does not have the size that its header states", where=where,
            got=f"{rest} bytes of data", want=f"{elements * width} bytes",
        )  # fmt: skip
        return
    if dtype is None:
        content.other_values += elements
        content.describe(name or "dtype", header.code)
        return
    key = name or "array"
    storage = source if source.handle >= 0 else None
    content.storages[key] = Storage(
        key, storage.part(header.end, rest) if storage else None, rest, header.code.startswith(">") and width > 1
    )
    content.tensors.append(Tensor(name or "array", dtype, header.shape, _strides(header), key, 0))


def _strides(header: Header) -> tuple[int, ...]:
    strides = []
    step = 1
    for size in header.shape if header.fortran_order else reversed(header.shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(strides if header.fortran_order else reversed(strides))


def _header(source: Source, content: Content, where: str) -> Header | None:
    head = source.read(0, 12)
    version = tuple(head[6:8])
    if len(head) < 12 or head[:6] != MAGIC or version not in ((1, 0), (2, 0), (3, 0)):
        content.add(DAMAGED, "npy.header", "not the start of a numpy array", where=where, got=f"version {version}")
        return None
    width = 2 if version == (1, 0) else 4
    length = int.from_bytes(head[8 : 8 + width], "little")
    start = 8 + width
    if length > source.length - start:
        content.add(DAMAGED, "npy.header", "the header is longer than the file", where=where, got=f"{length} bytes")
        return None
    if length > limits.NPY_HEADER:
        content.add(COULD_NOT_CHECK, "npy.limit", "the header is longer than this tool reads", where=where)
        return None
    raw = source.read(start, length)
    words = raw.decode("utf-8" if version == (3, 0) else "latin-1", "replace")
    match = _HEADER.fullmatch(words)
    sizes = _sizes(match[4]) if match else None
    if not match or sizes is None:
        content.add(
            DAMAGED, "npy.header", "the header is not what numpy writes", where=where, got=text.shown(words, 100),
            want="{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
        )  # fmt: skip
        return None
    return Header(match[1] or match[2] or "", match[3] == "True", sizes, start + length)


def _sizes(words: str) -> tuple[int, ...] | None:
    if not _SIZES.fullmatch(words):
        return None
    return tuple(int(word) for word in words.rstrip(",").split(", ") if word)


def _objects(source: Source, header: Header, content: Content, where: str) -> None:
    content.add(
        NOT_WEIGHTS_ONLY, "npy.objects", "an array of objects: its data is a pickle", where=where,
        want="an array of numbers", fix="save plain numbers: array.astype(float)",
    )  # fmt: skip
    if len(source.read(header.end, 1)) and not source.read(source.length - 1, 1):
        content.add(COULD_NOT_CHECK, "zip.limit", "a packed pickle is too large to read", where=where)
        return
    machine = PickleMachine(source, content, start=header.end, where=where)
    if machine.run() and machine.end != source.length:
        content.add(AMBIGUOUS, "pickle.trailing", "bytes after the end of the pickle", where=where)

"""The pickles inside torch files, written by their format."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from . import opcodes as op

STORAGES = {
    "float32": ("FloatStorage", 4), "float64": ("DoubleStorage", 8), "float16": ("HalfStorage", 2),
    "bfloat16": ("BFloat16Storage", 2), "int64": ("LongStorage", 8), "int32": ("IntStorage", 4),
    "int16": ("ShortStorage", 2), "int8": ("CharStorage", 1), "uint8": ("ByteStorage", 1), "bool": ("BoolStorage", 1),
    "complex64": ("ComplexFloatStorage", 8), "complex128": ("ComplexDoubleStorage", 16),
}  # fmt: skip


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous tensor."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def count(shape: Sequence[int]) -> int:
    """How many elements."""
    total = 1
    for size in shape:
        total *= size
    return total


def storage(key: str, dtype: str, elements: int, location: str = "cpu") -> bytes:
    """The persistent id of a storage."""
    name, _ = STORAGES[dtype]
    body = op.long_text("storage") + op.global_("torch", name) + op.long_text(key) + op.long_text(location)
    return op.MARK + body + op.int_(elements) + op.TUPLE + op.BINPERSID


def numbers(values: Sequence[int]) -> bytes:
    """A tuple of integers."""
    body = b"".join(b"\x8a" + _long1(value) for value in values)
    return op.MARK + body + op.TUPLE if values else op.EMPTY_TUPLE


def _long1(value: int) -> bytes:
    length = value.bit_length() // 8 + 1
    return bytes([length]) + value.to_bytes(length, "little", signed=True)


def tensor(
    key: str,
    dtype: str,
    shape: Sequence[int],
    *,
    elements: int | None = None,
    offset: int = 0,
    stride: Sequence[int] | None = None,
    location: str = "cpu",
    requires_grad: bool = False,
    parameter: bool = False,
) -> bytes:
    """One tensor."""
    steps = contiguous(shape) if stride is None else stride
    elements = count(shape) if elements is None else elements
    hooks = op.global_("collections", "OrderedDict") + op.EMPTY_TUPLE + op.REDUCE
    body = (
        op.global_("torch._utils", "_rebuild_tensor_v2")
        + op.MARK
        + storage(key, dtype, elements, location)
        + b"\x8a" + _long1(offset)
        + numbers(shape)
        + numbers(steps)
        + (b"\x88" if requires_grad else b"\x89")
        + hooks
        + op.TUPLE
        + op.REDUCE
    )  # fmt: skip
    if parameter:
        body = (
            op.global_("torch._utils", "_rebuild_parameter") + op.MARK + body + b"\x88" + hooks + op.TUPLE + op.REDUCE
        )
    return body


def dict_of(items: Mapping[str, bytes], ordered: bool = False) -> bytes:
    """A dict from keys to values that are opcodes already."""
    start = op.global_("collections", "OrderedDict") + op.EMPTY_TUPLE + op.REDUCE if ordered else op.EMPTY_DICT
    body = b"".join(op.long_text(key) + value for key, value in items.items())
    return start + op.MARK + body + op.SETITEMS


def data(dtype: str, elements: int) -> bytes:
    """Bytes for a storage."""
    width = STORAGES[dtype][1]
    return bytes(index % 2 if dtype == "bool" else index % 251 for index in range(width * elements))


def state_dict(payload: bytes = b"") -> tuple[bytes, dict[str, bytes]]:
    """An ordinary small state dict, its pickle and storages; `payload` is one more value in it."""
    items = {"weight": tensor("0", "float32", (3, 4)), "bias": tensor("1", "float32", (3,))}
    if payload:
        items["extra"] = payload
    return op.whole(dict_of(items, ordered=True)), {"0": data("float32", 12), "1": data("float32", 3)}


def legacy_file(pickle: bytes, storages: Mapping[str, tuple[str, bytes]], *, magic: bytes | None = None) -> bytes:
    """The file that torch.save wrote before 1.6: magic, protocol, system, the pickle, keys, then raw storages."""
    out = op.whole(b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19") if magic is None else magic
    out += op.whole(b"M\xe9\x03")
    out += _system() + pickle
    out += op.whole(op.EMPTY_LIST + op.MARK + b"".join(op.long_text(key) for key in storages) + op.APPENDS)
    for dtype, content in storages.values():
        out += struct.pack("<q", len(content) // STORAGES[dtype][1]) + content
    return out


def _system() -> bytes:
    sizes = dict_of({"short": op.int_(2), "int": op.int_(4), "long": op.int_(4)})
    return op.whole(dict_of({"protocol_version": op.int_(1001), "little_endian": b"\x88", "type_sizes": sizes}))


def legacy_storage(key: str, dtype: str, elements: int, location: str = "cpu", view: bytes = op.NONE) -> bytes:
    """The persistent id of a storage in the old file."""
    name, _ = STORAGES[dtype]
    body = op.long_text("storage") + op.global_("torch", name) + op.long_text(key) + op.long_text(location)
    return op.MARK + body + op.int_(elements) + view + op.TUPLE + op.BINPERSID

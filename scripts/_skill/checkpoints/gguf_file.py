"""Reads the header of a GGUF file (versions 2 and 3): metadata, names, shapes and places of the tensors."""

from __future__ import annotations

import struct
from typing import Any

from .. import text
from . import limits
from .content import COULD_NOT_CHECK, DAMAGED, ITEM_BITS, PACKED, Content, Storage, Tensor
from .source import Source

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K",
    13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL",
    21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M",
    30: "BF16", 34: "TQ1_0", 35: "TQ2_0",
}  # fmt: skip


class _Broken(Exception):
    """The header is not what the format says."""


class _Limit(Exception):
    """More than this tool reads."""


class _Header:
    """Reads the header through a window."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.base = 0
        self.window = b""
        self.index = 0
        self.items = 0
        self.text = 0

    @property
    def offset(self) -> int:
        return self.base + self.index

    def take(self, count: int) -> bytes:
        end = self.index + count
        if end > len(self.window):
            self.base += self.index
            self.index = 0
            self.window = self.source.read(self.base, max(limits.WINDOW, count))
            end = count
            if end > len(self.window):
                raise _Broken("the file ends inside the header")
        data = self.window[self.index : end]
        self.index = end
        return data

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def skip(self, count: int) -> None:
        if count > self.source.length - self.offset:
            raise _Broken("a length beyond the end of the file")
        self.base += self.index + count
        self.index = 0
        self.window = b""

    def string(self) -> str:
        length = self.number(8)
        if length > self.source.length - self.offset:
            raise _Broken("a text longer than the file")
        self.text += length
        if self.text > limits.GGUF_TEXT:
            raise _Limit
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError:
            raise _Broken("a text that is not UTF-8") from None

    def count_items(self, count: int) -> None:
        self.items += count
        if self.items > limits.GGUF_ITEMS:
            raise _Limit

    def value(self, kind: int, depth: int = 0) -> Any:
        """One value of the metadata; of an array only its length."""
        self.count_items(1)
        if kind in _FORMATS:
            form = _FORMATS[kind]
            data = self.take(struct.calcsize(form))
            if form == "?" and data not in (b"\0", b"\1"):
                raise _Broken("a truth value that is none")
            return struct.unpack("<" + form, data)[0]
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY or depth > 3:
            raise _Broken(f"an unknown type {kind}")
        inner, count = self.number(4), self.number(8)
        if count > self.source.length - self.offset:
            raise _Broken("an array longer than the file")
        if inner in _FORMATS:
            size = struct.calcsize(_FORMATS[inner]) * count
            self.skip(size) if size > limits.WINDOW else self.take(size)
        else:
            self.count_items(min(count, limits.GGUF_ITEMS + 1))
            for _ in range(count):
                self.value(inner, depth + 1)
        return f"an array of {count}"


def inspect(source: Source, content: Content) -> None:
    """Checks the header and that the tensors lie in the file one after another."""
    content.kind = "gguf"
    header = _Header(source)
    try:
        _read(header, content)
    except _Broken as error:
        content.add(DAMAGED, "gguf.header", f"the header is broken: {error}", where=f"byte {header.offset}")
    except _Limit:
        content.add(COULD_NOT_CHECK, "gguf.limit", "more metadata than this tool reads", where=f"byte {header.offset}")


def _read(header: _Header, content: Content) -> None:
    header.take(4)
    version = header.number(4)
    if version not in _VERSIONS:
        content.add(
            COULD_NOT_CHECK,
            "gguf.version",
            "a version that is not read here",
            got=str(version),
            want="2 or 3, little-endian",
        )
        return
    content.details["version"] = str(version)
    tensor_count, value_count = header.number(8), header.number(8)
    if max(tensor_count, value_count) > limits.GGUF_ITEMS:
        rest = header.source.length - header.offset
        # Each entry takes more than 12 bytes, so a count may be impossible for the file.
        raise _Broken("more entries than the file can hold") if max(tensor_count, value_count) * 12 > rest else _Limit
    alignment = 32
    keys: set[str] = set()
    for _ in range(value_count):
        key = header.string()
        value = header.value(header.number(4))
        if key in keys:
            raise _Broken(f"the key {text.shown(key, 60)} stands twice")
        keys.add(key)
        content.describe(key, value)
        if key == "general.alignment":
            alignment = value if type(value) is int else 0
    if alignment < 1 or alignment % 8 or alignment > 1 << 20:
        raise _Broken("an alignment that is none")
    places = [_entry(header, content) for _ in range(tensor_count)]
    if len({tensor.name for tensor in content.tensors}) != tensor_count:
        raise _Broken("two tensors have one name")
    start = -(-header.offset // alignment) * alignment
    if any(header.source.read(header.offset, start - header.offset)):
        raise _Broken("bytes after the header that are not zero")
    _places(places, start, alignment, header.source, content)


def _entry(header: _Header, content: Content) -> tuple[int, int, str]:
    """Offset, bytes and name of one tensor."""
    header.count_items(1)
    name = header.string()
    dimensions = header.number(4)
    if dimensions > 8:
        raise _Broken(f"{dimensions} dimensions")
    # The first dimension is the innermost one.
    shape = tuple(reversed([header.number(8) for _ in range(dimensions)]))
    kind, offset = header.number(4), header.number(8)
    dtype = _TYPES.get(kind)
    if dtype is None:
        raise _Broken(f"an unknown tensor type {kind}")
    elements = 1
    for size in shape:
        elements *= size
    group, nbytes = PACKED.get(dtype, (1, ITEM_BITS.get(dtype, 8) // 8))
    if elements >= 1 << 62 or (shape and shape[-1] % group):
        raise _Broken(f"a shape that {dtype} cannot have")
    content.tensors.append(Tensor(name, dtype, shape, None, "data", offset, "dense" if group == 1 else "packed"))
    return offset, elements // group * nbytes, name


def _places(places: list[tuple[int, int, str]], start: int, alignment: int, source: Source, content: Content) -> None:
    rest = source.length - start
    expected = 0
    for offset, nbytes, name in sorted(places):
        if offset % alignment or offset < expected or offset - expected >= alignment or offset + nbytes > rest:
            content.add(
                DAMAGED, "gguf.ranges", "a tensor overlaps another, leaves a hole, or lies beyond the end",
                where=text.escaped(name), got=f"bytes {offset} to {offset + nbytes}",
                want=f"from {-(-expected // alignment) * alignment} on, at most {max(rest, 0)}",
            )  # fmt: skip
            return
        if any(source.read(start + expected, offset - expected)):
            content.add(DAMAGED, "gguf.padding", "bytes between tensors that are not zero", where=text.escaped(name))
            return
        expected = offset + nbytes
    if max(rest, 0) - expected >= alignment:
        content.add(DAMAGED, "gguf.ranges", "bytes after the last tensor", got=f"{rest - expected} bytes")
    elif any(source.read(start + expected, rest - expected)):
        content.add(DAMAGED, "gguf.padding", "bytes after the last tensor that are not zero")
    content.storages["data"] = Storage("data", None, max(rest, 0))

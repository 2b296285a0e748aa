"""The bytes of a tensor in the order that safetensors wants: row by row, little-endian, a bounded piece at a time."""

from __future__ import annotations

from collections.abc import Iterator

from . import limits
from .content import ITEM_BITS, Storage, Tensor
from .source import Source

_HELD = 8 << 20
"""Bytes of a scattered tensor's span that are held in memory."""
_REPEATED = 64 << 20
_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Scattered(Exception):
    """A view so scattered that copying it would take too long."""


def blocks(tensor: Tensor, storage: Storage) -> Iterator[bytes]:
    """All elements in order; Scattered before the first block where the strides ask for too much work."""
    source = storage.source
    if source is None:
        raise Scattered
    # A view may repeat the same bytes without end.
    if tensor.nbytes > max(_REPEATED, 4 * storage.nbytes):
        raise Scattered
    width = ITEM_BITS[tensor.dtype] // 8 if ITEM_BITS[tensor.dtype] >= 8 else 0
    swapped = _swap_unit(tensor.dtype, width) if storage.big_endian else 1
    if tensor.elements == 0:
        return
    if tensor.contiguous:
        bits = ITEM_BITS[tensor.dtype]
        first = tensor.offset * bits // 8
        pieces = source.part(first, (tensor.elements * bits + 7) // 8).blocks()
    else:
        pieces = _strided(source, tensor, width)
    for piece in pieces:
        yield piece if swapped == 1 else _swap(piece, swapped)


def _swap_unit(dtype: str, width: int) -> int:
    # A complex number is two numbers, each in its own byte order.
    return width // 2 if dtype in ("C32", "C64", "C128") else max(width, 1)


def _swap(data: bytes, unit: int) -> bytes:
    result = bytearray(len(data))
    for index in range(unit):
        result[index::unit] = data[unit - 1 - index :: unit]
    return bytes(result)


def _strided(source: Source, tensor: Tensor, width: int) -> Iterator[bytes]:
    """Goes through the view: the last dimension at once, where the view's span is small from memory."""
    # Dimensions of one element say nothing.
    dimensions = [(size, step) for size, step in zip(tensor.shape, tensor.stride or (), strict=True) if size != 1]
    *outer, (size, step) = dimensions
    first, last = tensor.span
    span = (last - first) * width
    rows = 1
    for count, _ in outer:
        rows *= count
    if rows > 4_000_000 or (span > _HELD and rows * max(1, (size - 1) * step + 1) * width > 1 << 32):
        raise Scattered
    held = memoryview(source.exactly(first * width, span)) if span <= _HELD else None
    chunk = max(1, min(size, _HELD // (max(step, 1) * width)))
    gathered: list[bytes] = []
    gathered_size = 0
    for row_start in _starts(outer):
        for begin in range(0, size, chunk):
            count = min(chunk, size - begin)
            start, length = (row_start + begin * step) * width, ((count - 1) * step + 1) * width
            row = held[start : start + length] if held else memoryview(source.exactly(first * width + start, length))
            piece = bytes(row) if step == 1 else _every(row, step, count, width)
            gathered.append(piece)
            gathered_size += len(piece)
            if gathered_size >= limits.BLOCK:
                yield b"".join(gathered)
                gathered, gathered_size = [], 0
    yield b"".join(gathered)


def _every(row: memoryview, step: int, size: int, width: int) -> bytes:
    """Every `step`-th element; step 0 repeats the first."""
    if step == 0:
        return bytes(row[:width]) * size
    if width in _FORMATS:
        return row.cast(_FORMATS[width])[::step].tobytes()  # type: ignore[call-overload, no-any-return]
    return b"".join(bytes(row[index * step * width : (index * step + 1) * width]) for index in range(size))


def _starts(dimensions: list[tuple[int, int]]) -> Iterator[int]:
    """The offset of each innermost row from the first element, in order."""
    counters = [0] * len(dimensions)
    offset = 0
    while True:
        yield offset
        for index in reversed(range(len(dimensions))):
            size, step = dimensions[index]
            counters[index] += 1
            offset += step
            if counters[index] < size:
                break
            offset -= size * step
            counters[index] = 0
        else:
            return

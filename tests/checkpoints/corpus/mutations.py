"""Changes of valid files: flipped bits, cuts, splices, and integer fields set to values at the edges."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

EDGES = (
    0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
    0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF,
)  # fmt: skip
MOST_BYTES = 1 << 20


def mutated(choose: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """`data` after one to four changes; `others` are files to splice with."""
    for _ in range(choose.choice((1, 1, 1, 2, 3, 4))):
        data = choose.choice(CHANGES)(choose, data, others)
    return data[:MOST_BYTES]


def _at(choose: random.Random, data: bytes) -> int:
    """A place; headers and tails are more likely than the middle."""
    size = len(data)
    if size == 0:
        return 0
    kind = choose.random()
    if kind < 0.3:
        return choose.randrange(min(size, 64))
    return size - 1 - choose.randrange(min(size, 64)) if kind < 0.5 else choose.randrange(size)


def _flip(choose: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    if not data:
        return b"\0"
    place = _at(choose, data)
    return data[:place] + bytes([data[place] ^ 1 << choose.randrange(8)]) + data[place + 1 :]


def _set(choose: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    place = _at(choose, data)
    return data[:place] + choose.randbytes(choose.choice((1, 1, 2, 4, 8))) + data[place + 1 :]


def _field(choose: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    place = _at(choose, data)
    form = choose.choice(("<B", "<H", "<I", "<Q", ">H", ">I", ">Q"))
    width = struct.calcsize(form)
    value = choose.choice(EDGES)
    if choose.random() < 0.4:
        value = int.from_bytes(data[place : place + width], "little") + choose.choice((-1, 1, 8, 256, -256))
    packed = struct.pack(form, value & (256**width - 1))
    return data[:place] + packed + data[place + width :]


def _digits(choose: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Sets a number that is written in digits, as JSON, tar and pickles of protocol 0 do."""
    places = [index for index, byte in enumerate(data[:20_000]) if 0x30 <= byte <= 0x39]
    if not places:
        return data
    place = choose.choice(places)
    value = choose.choice((*map(str, EDGES), "-1", "1e9", "0.5", "9" * 400, "", "01", "NaN"))
    return data[:place] + value.encode() + data[place + 1 :]


def _delete(choose: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    place = _at(choose, data)
    return data[:place] + data[place + choose.choice((1, 1, 2, 4, 8, 30, 200)) :]


def _insert(choose: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    place = _at(choose, data)
    return (
        data[:place]
        + choose.choice((b"\0", b"\xff", b"(", b"{", b'"', b"\n", b"PK", b"N.", b"\x80\x04"))
        + data[place:]
    )


def _repeat(choose: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    place = _at(choose, data)
    part = data[place : place + choose.choice((1, 2, 8, 64, 500))]
    return data[:place] + part * choose.choice((2, 3, 50, 2000)) + data[place:]


def _move(choose: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    start, width, target = _at(choose, data), choose.choice((1, 4, 16, 100)), _at(choose, data)
    part = data[start : start + width]
    rest = data[:start] + data[start + width :]
    return rest[:target] + part + rest[target:]


def _cut(choose: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return data[: _at(choose, data)]


def _splice(choose: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = choose.choice(others) if others else data
    return data[: _at(choose, data)] + other[_at(choose, other) :]


CHANGES = (
    _flip, _flip, _flip, _set, _set, _field, _field, _field, _digits, _delete, _insert, _repeat, _move, _cut, _splice,
)  # fmt: skip

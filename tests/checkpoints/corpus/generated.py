"""Inputs made from nothing: a format's own tokens in a random order, which changes of valid files seldom reach."""

from __future__ import annotations

import json
import random
import struct
from typing import Any

from . import opcodes as op

_TOKENS = [
    b"(",
    b")",
    b"]",
    b"}",
    b"N",
    b"0",
    b"1",
    b"2",
    b"R",
    b"b",
    b"\x81",
    b"\x92",
    b"\x93",
    b"\x94",
    b"t",
    b"\x85",
    b"\x86",
    b"\x87",
    b"d",
    b"l",
    b"o",
    b"a",
    b"e",
    b"s",
    b"u",
    b"\x8f",
    b"\x90",
    b"\x91",
    b"\x88",
    b"\x89",
    b"K\x01",
    b"M\x01\x02",
    b"q\x00",
    b"q\x01",
    b"h\x00",
    b"h\x01",
    b"p0\n",
    b"g0\n",
    b"g1\n",
    b"r\1\0\0\0",
    b"j\1\0\0\0",
    b"Q",
    b"Px\n",
    b"I01\n",
    b"I7\n",
    b"L7L\n",
    b"F1.5\n",
    b"J\0\0\0\0",
    b"\x8a\x01\x02",
    b"\x8b\x01\0\0\0\x02",
    b"G" + bytes(8),
    b"C\x02ab",
    b"B\x01\0\0\0a",
    b"\x8e\x01" + bytes(7) + b"a",
    b"\x96\x01" + bytes(7) + b"a",
    b"\x82\x01",
    b"\x97",
    b"\x98",
    b".",
    b"\x95\x04" + bytes(7),
    b"\x80\x04",
    op.global_("collections", "OrderedDict"),
    op.global_("os", "getcwd"),
    op.global_("_codecs", "encode"),
    op.global_("builtins", "set"),
    op.global_("torch", "device"),
    op.global_("torch._utils", "_rebuild_tensor_v2"),
    op.global_("numpy", "dtype"),
    op.text("os"),
    op.text("getcwd"),
    op.text("collections"),
    op.text("OrderedDict"),
    op.text("latin1"),
    op.text8("a"),
    op.line_text("a"),
    op.string("a"),
    op.short_string("a"),
    op.inst("os", "getcwd"),
    op.inst("collections", "OrderedDict"),
]


def pickle(choose: random.Random) -> bytes:
    """Opcodes in any order, or a value built as a pickler would, with something odd in it now and then."""
    protocol = choose.choice((2, 4, 4, 5))
    if choose.random() < 0.5:
        body = b"".join(choose.choice(_TOKENS) for _ in range(choose.choice((3, 8, 20, 60, 300))))
        start = op.proto(protocol) if choose.random() < 0.8 else b""
        return start + body + (b"." if choose.random() < 0.7 else b"")
    return op.whole(_Built(choose).value(4), protocol)


class _Built:
    """Values with a memo; one in thirty is something that no pickler writes."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.memo = 0

    def value(self, depth: int) -> bytes:
        """The opcodes of one value."""
        kind = self.choose.randrange(30)
        if kind == 0:
            return self.choose.choice(_TOKENS)
        if kind == 1 and self.memo:
            return op.get(self.choose.randrange(self.memo))
        if kind < 14 or not depth:
            return self.plain()
        made = self.container(depth - 1) if kind < 26 else self.call(depth - 1)
        if self.choose.random() < 0.4 and self.memo < 200:
            made += op.put(self.memo)
            self.memo += 1
        return made

    def plain(self) -> bytes:
        """A number, text, bytes, None or a truth."""
        value = self.choose.choice((None, True, False, 0, -5, 70_000, "a", "os", "getcwd", "latin1", "cpu", "", "ü"))
        return op.argument(value)

    def container(self, depth: int) -> bytes:
        """A list, tuple or dict."""
        count = self.choose.randrange(4)
        values = b"".join(self.value(depth) for _ in range(count))
        kind = self.choose.randrange(4)
        if kind == 0:
            return op.EMPTY_LIST + op.MARK + values + op.APPENDS
        if kind == 1:
            return op.MARK + values + op.TUPLE
        if kind == 2:
            return op.MARK + values + op.LIST
        pairs = b"".join(op.long_text(f"k{index}") + self.value(depth) for index in range(count))
        return op.EMPTY_DICT + op.MARK + pairs + op.SETITEMS

    def call(self, depth: int) -> bytes:
        """A call of something allowed, mostly as it is meant."""
        kind = self.choose.randrange(8)
        if kind == 0:
            return op.global_("collections", "OrderedDict") + op.EMPTY_TUPLE + op.REDUCE
        if kind == 1:
            return op.call("_codecs", "encode", ("ab", "latin1"))
        if kind == 2:
            return op.global_("builtins", "set") + op.EMPTY_LIST + op.int_(7) + op.APPEND + op.TUPLE1 + op.REDUCE
        if kind == 3:
            return op.call("torch", "device", ("cpu",))
        if kind == 4:
            return op.global_("collections", "Counter") + op.EMPTY_DICT + op.TUPLE1 + op.REDUCE
        if kind == 5:
            return op.text("collections") + op.text("OrderedDict") + op.STACK_GLOBAL + op.EMPTY_TUPLE + op.REDUCE
        module, name = self.choose.choice(
            (("os", "getcwd"), ("collections", "OrderedDict"), ("torch", "load"), ("torch", "Size"))
        )
        return op.global_(module, name) + op.MARK + self.value(depth) + op.TUPLE + op.REDUCE


def json_text(choose: random.Random) -> bytes:
    """A JSON value, or nearly one."""
    if choose.random() < 0.3:
        parts = (
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            '"a"',
            '"b',
            "1",
            "-",
            "1e9",
            "true",
            "null",
            "NaN",
            "\\u12",
            " ",
            "\n",
            "é",
        )
        return "".join(choose.choice(parts) for _ in range(choose.randrange(1, 60))).encode()
    return json.dumps(_value(choose, 5)).encode()


def _value(choose: random.Random, depth: int) -> Any:
    kind = choose.randrange(9 if depth else 6)
    if kind >= 6:
        inner = [_value(choose, depth - 1) for _ in range(choose.randrange(5))]
        return (
            inner
            if kind == 6
            else {choose.choice(("schema", "a", "files", "", "é")) + str(i): v for i, v in enumerate(inner)}
        )
    plain = (
        None,
        choose.random() < 0.5,
        choose.randint(-(2**60), 2**60),
        choose.uniform(-1e9, 1e300),
        "é\0\ud800"[: kind % 3],
        "x",
    )
    return plain[kind]


def safetensors(choose: random.Random) -> bytes:
    """A header with plausible and implausible entries, and some data."""
    end = 0
    entries: dict[str, Any] = {}
    for index in range(choose.randrange(5)):
        size = choose.choice((0, 1, 4, 8, 12))
        shape = choose.choice(([size], [size, 1], [], [2, 2], [-1], [1 << 40, 1 << 40], [0, 1 << 60]))
        start = choose.choice((end, end, end, 0, end + 1, -4))
        end = start + choose.choice((size, size * 4, 4, 0))
        dtype = choose.choice(("F32", "U8", "U8", "BOOL", "F4", "I64", "XX", 7))
        entries[choose.choice(("a", "b", "__metadata__", "w")) + str(index)] = {
            "dtype": dtype, "shape": shape, "data_offsets": [start, end],
        }  # fmt: skip
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text) + choose.choice((0, 0, 0, 1, -1))) + text + bytes(max(0, min(end, 1000)))


def gguf(choose: random.Random) -> bytes:
    """Counts, keys and values of any type."""
    out = b"GGUF" + struct.pack("<IQQ", choose.choice((2, 3, 3, 9)), choose.randrange(3), choose.randrange(4))
    for _ in range(choose.randrange(6)):
        key = choose.choice((b"general.alignment", b"a", b"\xff", b""))
        out += (
            struct.pack("<Q", len(key))
            + key
            + struct.pack("<I", choose.randrange(15))
            + choose.randbytes(choose.randrange(24))
        )
    return out + choose.randbytes(choose.randrange(100))

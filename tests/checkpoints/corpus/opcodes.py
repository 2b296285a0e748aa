"""Pickles put together opcode by opcode, so that no pickler has to agree."""

from __future__ import annotations

import struct

STOP = b"."
MARK = b"("
POP = b"0"
POP_MARK = b"1"
DUP = b"2"
REDUCE = b"R"
BUILD = b"b"
NEWOBJ = b"\x81"
NEWOBJ_EX = b"\x92"
STACK_GLOBAL = b"\x93"
MEMOIZE = b"\x94"
TUPLE = b"t"
TUPLE1 = b"\x85"
TUPLE2 = b"\x86"
TUPLE3 = b"\x87"
EMPTY_TUPLE = b")"
EMPTY_DICT = b"}"
EMPTY_LIST = b"]"
EMPTY_SET = b"\x8f"
DICT = b"d"
LIST = b"l"
OBJ = b"o"
NONE = b"N"
APPEND = b"a"
APPENDS = b"e"
SETITEM = b"s"
SETITEMS = b"u"
BINPERSID = b"Q"


def proto(number: int) -> bytes:
    """PROTO."""
    return b"\x80" + bytes([number])


def global_(module: str, name: str) -> bytes:
    """GLOBAL."""
    return b"c" + module.encode("utf-8", "surrogatepass") + b"\n" + name.encode("utf-8", "surrogatepass") + b"\n"


def inst(module: str, name: str) -> bytes:
    """INST."""
    return b"i" + module.encode() + b"\n" + name.encode() + b"\n"


def text(value: str) -> bytes:
    """SHORT_BINUNICODE or BINUNICODE."""
    data = value.encode("utf-8", "surrogatepass")
    return (b"\x8c" + bytes([len(data)]) if len(data) < 256 else b"X" + struct.pack("<I", len(data))) + data


def long_text(value: str) -> bytes:
    """BINUNICODE, which protocol 1 knows."""
    data = value.encode("utf-8")
    return b"X" + struct.pack("<I", len(data)) + data


def text8(value: str) -> bytes:
    """BINUNICODE8."""
    data = value.encode("utf-8")
    return b"\x8d" + struct.pack("<Q", len(data)) + data


def line_text(value: str) -> bytes:
    """UNICODE."""
    return b"V" + value.encode("raw-unicode-escape") + b"\n"


def string(value: str) -> bytes:
    """STRING."""
    return b"S'" + value.encode() + b"'\n"


def short_string(value: str) -> bytes:
    """SHORT_BINSTRING."""
    return b"U" + bytes([len(value)]) + value.encode()


def bytes_(value: bytes) -> bytes:
    """BINBYTES."""
    return b"B" + struct.pack("<I", len(value)) + value


def put(index: int) -> bytes:
    """BINPUT."""
    return b"q" + bytes([index])


def get(index: int) -> bytes:
    """BINGET."""
    return b"h" + bytes([index])


def line_put(index: int) -> bytes:
    """PUT."""
    return b"p%d\n" % index


def line_get(index: int) -> bytes:
    """GET."""
    return b"g%d\n" % index


def long_put(index: int) -> bytes:
    """LONG_BINPUT."""
    return b"r" + struct.pack("<I", index)


def long_get(index: int) -> bytes:
    """LONG_BINGET."""
    return b"j" + struct.pack("<I", index)


def int_(value: int) -> bytes:
    """BININT."""
    return b"J" + struct.pack("<i", value)


def frame(data: bytes, length: int | None = None) -> bytes:
    """FRAME."""
    return b"\x95" + struct.pack("<Q", len(data) if length is None else length) + data


def argument(value: object) -> bytes:
    """A plain value as an argument."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return b"\x88" if value else b"\x89"
    if isinstance(value, int):
        return int_(value)
    if isinstance(value, str):
        return long_text(value)
    if isinstance(value, bytes):
        return b"C" + bytes([len(value)]) + value if len(value) < 256 else bytes_(value)
    if isinstance(value, tuple):
        return MARK + b"".join(argument(item) for item in value) + TUPLE
    if isinstance(value, list):
        return EMPTY_LIST + MARK + b"".join(argument(item) for item in value) + APPENDS
    if isinstance(value, dict):
        return EMPTY_DICT + MARK + b"".join(argument(k) + argument(v) for k, v in value.items()) + SETITEMS
    raise TypeError(type(value))


def call(module: str, name: str, arguments: tuple[object, ...]) -> bytes:
    """GLOBAL, arguments, REDUCE: the classic."""
    return global_(module, name) + argument(arguments) + REDUCE


def whole(body: bytes, protocol: int = 2) -> bytes:
    """PROTO, body, STOP."""
    return (proto(protocol) if protocol >= 2 else b"") + body + STOP

"""The size of one element of a numpy array that is not a plain number: text, dates, and records of fields."""

from __future__ import annotations

import math
import re

_PLAIN = re.compile(
    r"[<>|=]?(?:[biufc]([0-9]{1,2})|([SUV])([0-9]{1,9})|[mM]8(?:\[[1-9]?[0-9]{0,8}(?:[YMWDhms]|[munpfa]s)\])?)"
)
_TOKEN = re.compile(r"\s*('(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|[0-9]{1,12}|[\[\](),])")
_DEPTH = 16
_NUMBERS = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8, 16), "c": (8, 16, 32)}


class HoldsObjects(Exception):
    """Some field is a Python object: the data of the array is a pickle."""


class _NotRead(Exception):
    """Not a description that numpy writes."""


def width(code: str) -> int | None:
    """Bytes of one element; None for a description that is not read, HoldsObjects where a field is an object."""
    try:
        if not code.startswith("["):
            return _plain(code)
        tokens = _tokens(code)
        tokens.reverse()
        size = _record(tokens, 0)
        return None if tokens else size
    except (_NotRead, IndexError):
        if re.search(r"""['"][<>|=]?O""", code):
            raise HoldsObjects from None
        return None


def _tokens(code: str) -> list[str]:
    tokens = []
    position = 0
    while position < len(code):
        match = _TOKEN.match(code, position)
        if not match:
            raise _NotRead
        tokens.append(match[1])
        position = match.end()
    return tokens


def _plain(code: str) -> int:
    if code.lstrip("<>|=").startswith("O"):
        raise HoldsObjects
    match = _PLAIN.fullmatch(code)
    if not match:
        raise _NotRead
    if match[1]:
        if int(match[1]) not in _NUMBERS[code.lstrip("<>|=")[0]]:
            raise _NotRead
        return int(match[1])
    if match[2]:
        return int(match[3]) * (4 if match[2] == "U" else 1)
    return 8


def _take(tokens: list[str], wanted: str) -> None:
    if tokens.pop() != wanted:
        raise _NotRead


def _record(tokens: list[str], depth: int) -> int:
    """`[(name, type), (name, type, shape), ...]`; each name once."""
    if depth > _DEPTH:
        raise _NotRead
    total = 0
    names: set[str] = set()
    _take(tokens, "[")
    while tokens[-1] != "]":
        _take(tokens, "(")
        name = _name(tokens)
        if name in names and name != "''":
            raise _NotRead
        names.add(name)
        _take(tokens, ",")
        size = _record(tokens, depth + 1) if tokens[-1] == "[" else _plain(_text(tokens.pop()))
        if tokens[-1] == ",":
            tokens.pop()
            size *= _shape(tokens)
        _take(tokens, ")")
        total += size
        if tokens[-1] == ",":
            tokens.pop()
    tokens.pop()
    return total


def _name(tokens: list[str]) -> str:
    """A name, or a title and a name."""
    if tokens[-1] != "(":
        name = tokens.pop()
        _text(name)
        return name
    tokens.pop()
    _text(tokens.pop())
    _take(tokens, ",")
    name = tokens.pop()
    _text(name)
    _take(tokens, ")")
    return name


def _text(token: str) -> str:
    if token[0] not in "'\"":
        raise _NotRead
    return token[1:-1]


def _shape(tokens: list[str]) -> int:
    """The product of `(2, 3)`."""
    sizes = []
    _take(tokens, "(")
    while tokens[-1] != ")":
        token = tokens.pop()
        if not token.isdigit():
            raise _NotRead
        sizes.append(int(token))
        if tokens[-1] == ",":
            tokens.pop()
    tokens.pop()
    return math.prod(sizes)

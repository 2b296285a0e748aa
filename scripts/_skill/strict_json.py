"""A strict JSON reader and two writers.

Stricter than RFC 8259 by rule, because a plan must mean the same thing to every reader: UTF-8 only, no byte
order mark, no duplicate key, no NaN or Infinity, no number that a double cannot hold, no integer beyond 2^53-1,
no unpaired surrogate, bounded size and depth, nothing after the document. `1` is read as int and `1.0` as float,
so that a schema can tell the two literals apart. Nothing here recurses while reading, so no input can
exhaust the interpreter's stack.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Any

from . import text
from .findings import COULD_NOT, PROBLEM, Finding, Refusal

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
MAX_INTEGER = (1 << 53) - 1

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN_STRING = re.compile(r'"([^"\\\x00-\x1f]*)"')
_STRING_PART = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_PLAIN_ITEM = re.compile(r'[ \t\n\r]*(?:(-?(?:0|[1-9][0-9]{0,14}))|"([^"\\\x00-\x1f]*)")[ \t\n\r]*,')
"""A short integer or a string without escapes, and the comma after it."""
_WORD = re.compile(r"[-+]?[A-Za-z_0-9.]*")
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}


def loads(data: bytes, source: str, max_bytes: int = MAX_BYTES) -> Any:
    """The document in `data`; a Refusal (exit 1) names the code, place, line and column of the first mistake.

    `source` is the name that messages use for the document.
    """
    if len(data) > max_bytes:
        raise _refusal("json.size", f"{source} is too large", "", f"{len(data)} bytes", f"at most {max_bytes} bytes")
    if data[:3] == b"\xef\xbb\xbf":
        raise _refusal(
            "json.bom",
            f"{source} starts with a byte order mark",
            "",
            "EF BB BF",
            "UTF-8 without one",
            "save the file as UTF-8 without BOM",
        )
    wide = _wide_encoding(data)
    if wide:
        fix = "save the file as UTF-8 without BOM"
        raise _refusal("json.encoding", f"{source} is not UTF-8", "", f"looks like {wide}", "UTF-8", fix)
    try:
        decoded = data.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        raise _refusal(
            "json.encoding", f"{source} is not UTF-8", "", found, "UTF-8", "save the file as UTF-8"
        ) from None
    return _Reader(decoded, source).document()


def _wide_encoding(data: bytes) -> str | None:
    """UTF-16 or UTF-32, where a text starts as one of them does: with its mark, or with zeros around ASCII."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    zeros = tuple(byte == 0 for byte in data[:4])
    if zeros in ((False, True, True, True), (True, True, True, False)):
        return "UTF-32"
    return "UTF-16" if zeros in ((False, True, False, True), (True, False, True, False)) else None


def read_file(path: str, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file, bounded; a link, folder, pipe or missing file is a Refusal (exit 2)."""
    try:
        # O_NONBLOCK: opening a pipe that nobody writes to must not wait.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = "is a symbolic link" if os.path.islink(path) else getattr(error, "strerror", None) or str(error)
        raise Refusal(
            Finding("file.unreadable", f"cannot read the file: {reason}", path, want="a regular file"),
            exit_status=COULD_NOT,
        ) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Refusal(
            Finding("file.unreadable", "not a regular file", path, want="a regular file"), exit_status=COULD_NOT
        )
    with os.fdopen(handle, "rb") as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise Refusal(
            Finding(
                "json.size", "the file is too large", path, f"more than {max_bytes} bytes", f"at most {max_bytes} bytes"
            )
        )
    return data


def canonical(value: Any) -> bytes:
    """The one byte form of a value that digests are taken of: sorted keys, no spaces, ASCII, no NaN."""
    import json

    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def pretty(value: Any, indent: str = "") -> str:
    """The value for people to read and to be read back: two spaces, lists of plain values on one line."""
    import json

    if isinstance(value, dict) and value:
        inner = indent + "  "
        rows = [f"{inner}{json.dumps(str(key))}: {pretty(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        inner = indent + "  "
        return "[\n" + ",\n".join(inner + pretty(item, inner) for item in value) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)


def _refusal(code: str, message: str, place: str, got: str = "", want: str = "", fix: str = "") -> Refusal:
    return Refusal(Finding(code, message, place, got, want, fix), exit_status=PROBLEM)


class _Reader:
    """One pass over the text with an explicit stack of open containers."""

    def __init__(self, source_text: str, source: str) -> None:
        self.text = source_text
        self.source = source
        self.position = 0
        self.open: list[Any] = []
        self.keys: list[str] = []
        """For each open container the key that is being read (unused for lists)."""

    def document(self) -> Any:
        value = self.value()
        if self.next():
            raise self.wrong("json.trailing", "there is more text after the document", "one document and nothing else")
        return value

    def value(self) -> Any:
        """Reads one whole value: opens containers until a plain value, then closes what ends."""
        while True:
            if self.open and isinstance(self.open[-1], list):
                self.plain_items(self.open[-1])
            character = self.next()
            if character in "{[" and character:
                self.position += 1
                self.push({} if character == "{" else [])
                if self.next() != ("}" if character == "{" else "]"):
                    if character == "{":
                        self.read_key()
                    continue
                self.position += 1
                value = self.pop()
            else:
                value = self.plain(character)
            while self.open:
                self.attach(value)
                if self.more():
                    break
                value = self.pop()
            else:
                return value

    def plain_items(self, items: list[Any]) -> None:
        """Reads the run of plain items that stand here, if any: long lists are read several times faster so."""
        position = self.position
        while match := _PLAIN_ITEM.match(self.text, position):
            items.append(match[2] if match[1] is None else int(match[1]))
            position = match.end()
        self.position = position

    def push(self, container: Any) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise self.wrong("json.depth", "the document is nested too deep", f"at most {MAX_DEPTH} levels")
        self.open.append(container)
        self.keys.append("")

    def pop(self) -> Any:
        self.keys.pop()
        return self.open.pop()

    def attach(self, value: Any) -> None:
        container = self.open[-1]
        if isinstance(container, dict):
            container[self.keys[-1]] = value
        else:
            container.append(value)

    def more(self) -> bool:
        """After a value: True where another one follows in the innermost container, False at its end."""
        character = self.next()
        is_object = isinstance(self.open[-1], dict)
        closing = "}" if is_object else "]"
        if character == ",":
            self.position += 1
            if is_object:
                self.keys[-1] = ""
                self.read_key()
            return True
        if character == closing:
            self.position += 1
            return False
        raise self.wrong("json.syntax", "unexpected text", f"a comma or {closing}")

    def read_key(self) -> None:
        if self.next() != '"':
            raise self.wrong("json.syntax", "unexpected text", "a key in double quotes")
        start = self.position
        key = self.string()
        if key in self.open[-1]:
            self.position = start
            self.keys[-1] = key
            raise self.wrong(
                "json.duplicate_key",
                f"the key {text.shown(key)} stands twice in one object",
                "each key once",
                "remove one of the two, even where their values are equal",
            )
        self.keys[-1] = key
        if self.next() != ":":
            raise self.wrong("json.syntax", "unexpected text", "a colon after the key")
        self.position += 1

    def plain(self, character: str) -> Any:
        if character == '"':
            return self.string()
        number = _NUMBER.match(self.text, self.position)
        if number:
            return self.number(number)
        match = _WORD.match(self.text, self.position)
        word = match[0] if match else ""
        if word in _WORDS:
            self.position += len(word)
            return _WORDS[word]
        if word.lstrip("+-").lower() in ("nan", "infinity", "inf"):
            raise self.wrong("json.not_finite", f"{word} is not a JSON number", "a finite number")
        raise self.wrong("json.syntax", "unexpected text" if character else "the text ends too early", "a JSON value")

    def number(self, match: re.Match[str]) -> int | float:
        literal = match[0]
        follows = _WORD.match(self.text, match.end())
        if follows and follows[0]:
            raise self.wrong(
                "json.syntax", f"not a JSON number: {text.shown(literal[:40] + follows[0])}", "a JSON number"
            )
        result: int | float
        if match[2]:
            result = float(literal)
            if result in (float("inf"), float("-inf")):
                raise self.wrong("json.not_finite", "the number is too large for a double", "at most 1.8e308")
        else:
            # The length is looked at first: turning thousands of digits into an int is slow or refused.
            result = int(literal) if len(literal) <= 17 else MAX_INTEGER + 1
            if abs(result) > MAX_INTEGER:
                raise self.wrong("json.integer_range", "the integer is too large", f"at most 2^53-1 ({MAX_INTEGER})")
        self.position = match.end()
        return result

    def string(self) -> str:
        match = _PLAIN_STRING.match(self.text, self.position)
        if match:
            self.position = match.end()
            return match[1]
        self.position += 1
        parts: list[str] = []
        while True:
            part = _STRING_PART.match(self.text, self.position)
            if part:
                parts.append(part[0])
                self.position = part.end()
            character = self.peek()
            if character == '"':
                self.position += 1
                return "".join(parts)
            if character != "\\":
                message = "a control character inside a string" if character else "the text ends inside a string"
                raise self.wrong("json.syntax", message, "an escape such as \\n, or the closing quote")
            parts.append(self.escape())

    def escape(self) -> str:
        letter = self.text[self.position + 1 : self.position + 2]
        if letter in _ESCAPES and letter:
            self.position += 2
            return _ESCAPES[letter]
        start = self.position
        unit = self.code_unit()
        if unit is None:
            raise self.wrong("json.syntax", "not a JSON escape", '\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX')
        if 0xD800 <= unit < 0xDC00:
            low = self.code_unit()
            if low is not None and 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
        if 0xD800 <= unit < 0xE000:
            self.position = start
            raise self.wrong("json.surrogate", "half of a surrogate pair", "a whole character")
        return chr(unit)

    def code_unit(self) -> int | None:
        """The number of an escape \\uXXXX that stands here, or None."""
        digits = _HEX4.match(self.text, self.position + 2)
        if self.text[self.position : self.position + 2] != "\\u" or not digits:
            return None
        self.position += 6
        return int(digits[0], 16)

    def next(self) -> str:
        """Goes past white space and returns the character that stands there; empty at the end."""
        character = self.text[self.position : self.position + 1]
        if character and character in " \t\n\r":
            match = _SPACE.match(self.text, self.position)
            self.position = match.end() if match else self.position
            character = self.text[self.position : self.position + 1]
        return character

    def peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def wrong(self, code: str, message: str, want: str, fix: str = "") -> Refusal:
        parts = [
            self.keys[depth] if isinstance(container, dict) else len(container)
            for depth, container in enumerate(self.open)
            if not (isinstance(container, dict) and self.keys[depth] == "" and depth == len(self.open) - 1)
        ]
        line = self.text.count("\n", 0, self.position) + 1
        column = self.position - (self.text.rfind("\n", 0, self.position) + 1) + 1
        found = self.text[self.position : self.position + 30]
        got = text.shown(found) if found else "the end of the text"
        return _refusal(
            code,
            f"{self.source}, line {line}, column {column}: {message}",
            text.pointer(parts[:MAX_DEPTH]),
            got,
            want,
            fix,
        )

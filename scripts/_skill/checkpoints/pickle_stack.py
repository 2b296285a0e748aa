"""The stack and memo of a pickle that is followed without loading it, and the opcodes that only push plain values."""

from __future__ import annotations

import codecs
import re
import struct
from typing import Any

from . import limits
from .content import DAMAGED, Content
from .pickle_stream import PickleDamaged, PickleLimit, PickleStream
from .pickle_values import Skipped

_INTEGER = re.compile(rb"[+-]?[0-9]+")
_FLOAT = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|nan)")
_QUOTED = re.compile(rb"""(?:[^\\\n]|\\(?:[\\'"abfnrtv]|x[0-9a-fA-F]{2}|[0-3]?[0-7]{1,2}))*""")


class PickleStack:
    """Where a pickle stands: its bytes, stack, marks and memo, with stand-ins for all objects."""

    def __init__(self, stream: PickleStream, content: Content, where: str) -> None:
        self.stream = stream
        self.content = content
        self.where = where
        self.at = stream.offset
        """Offset of the opcode that is being followed."""
        self.protocol = 0
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.frame_end = 0
        self.containers = 0
        self.kept_text = 0

    def _add(self, verdict: str, code: str, message: str, **words: str) -> None:
        place = f"{self.where}, byte {self.at}" if self.where else f"byte {self.at}"
        self.content.add(verdict, code, message, where=place, **words)

    def _form(self, message: str) -> None:
        """A mistake that no writer makes and that loaders pass over: the finding is kept, and reading goes on."""
        self._add(DAMAGED, "pickle.form", f"no writer makes this: {message}")

    # The stack

    def _pop(self) -> Any:
        if not self.stack:
            raise PickleDamaged("the stack is empty")
        return self.stack.pop()

    def _top(self) -> Any:
        if not self.stack:
            raise PickleDamaged("the stack is empty")
        return self.stack[-1]

    def _since_mark(self) -> list[Any]:
        if not self.marks:
            raise PickleDamaged("there is no mark")
        items = self.stack
        self.stack = self.marks.pop()
        return items

    def _container(self) -> None:
        self.containers += 1
        if self.containers > limits.PICKLE_CONTAINERS:
            raise PickleLimit(f"{limits.PICKLE_CONTAINERS} lists, dicts and objects")

    def _put(self, index: int) -> None:
        if len(self.memo) >= limits.PICKLE_MEMO:
            raise PickleLimit(f"{limits.PICKLE_MEMO} memo entries")
        if index > len(self.memo) + 1:
            # Writers count from 0 or 1. Loaders make room for every entry up to the number.
            self._form(f"memo entry {index} is written after {len(self.memo)} others")
        elif index in self.memo:
            # A writer numbers its memo once; a second value under a number hides which one is meant.
            self._form(f"memo entry {index} is written twice")
        self.memo[index] = self._top()

    def _get(self, index: int) -> None:
        if index not in self.memo:
            raise PickleDamaged(f"memo entry {index} was never written")
        self.stack.append(self.memo[index])

    def _op_mark(self) -> None:
        if len(self.marks) >= limits.PICKLE_CONTAINERS:
            raise PickleLimit(f"{limits.PICKLE_CONTAINERS} open marks")
        self._container()
        self.marks.append(self.stack)
        self.stack = []

    def _op_pop(self) -> None:
        # POP on an empty part of the stack takes the mark away.
        if self.stack:
            self.stack.pop()
        else:
            self._since_mark()

    def _op_pop_mark(self) -> None:
        self._since_mark()

    def _op_dup(self) -> None:
        self.stack.append(self._top())

    def _op_put(self) -> None:
        self._put(self._index(self.stream.line()))

    def _op_binput(self) -> None:
        self._put(self.stream.number(1))

    def _op_long_binput(self) -> None:
        self._put(self.stream.number(4))

    def _op_memoize(self) -> None:
        self._put(len(self.memo))

    def _op_get(self) -> None:
        self._get(self._index(self.stream.line()))

    def _op_binget(self) -> None:
        self._get(self.stream.number(1))

    def _op_long_binget(self) -> None:
        self._get(self.stream.number(4))

    def _op_proto(self) -> None:
        self.protocol = self.stream.number(1)
        if self.protocol > 5:
            raise PickleDamaged(f"there is no protocol {self.protocol}")

    def _op_frame(self) -> None:
        length = self.stream.number(8)
        if self.frame_end:
            self._form("a frame stands inside a frame")
        if length > self.stream.source.length - self.stream.offset:
            self._form("a frame is longer than the file")
            length = self.stream.source.length - self.stream.offset
        self.frame_end = self.stream.offset + length

    # Plain values

    def _op_none(self) -> None:
        self.stack.append(None)

    def _op_newtrue(self) -> None:
        self.stack.append(True)

    def _op_newfalse(self) -> None:
        self.stack.append(False)

    def _index(self, line: bytes) -> int:
        """The number of a memo entry, in decimal."""
        return self._whole_number(line) & 0x7FFFFFFF

    def _op_int(self) -> None:
        line = self.stream.line()
        self.stack.append(line == b"01" if line in (b"00", b"01") else self._whole_number(line))

    def _op_long(self) -> None:
        line = self.stream.line()
        self.stack.append(self._whole_number(line[:-1] if line.endswith(b"L") else line))

    def _whole_number(self, digits: bytes) -> int:
        """The number; where it is none, loaders still take what stands before a NUL, in any base."""
        if _INTEGER.fullmatch(digits) and len(digits) <= limits.PICKLE_INTEGER:
            return int(digits)
        self._form("a number that is none")
        return 0

    def _op_binint(self) -> None:
        self.stack.append(int.from_bytes(self.stream.take(4), "little", signed=True))

    def _op_binint1(self) -> None:
        self.stack.append(self.stream.number(1))

    def _op_binint2(self) -> None:
        self.stack.append(self.stream.number(2))

    def _op_long1(self) -> None:
        self.stack.append(int.from_bytes(self.stream.take(self.stream.number(1)), "little", signed=True))

    def _op_long4(self) -> None:
        length = int.from_bytes(self.stream.take(4), "little", signed=True)
        if length < 0:
            raise PickleDamaged("an integer of negative length")
        if length > limits.PICKLE_INTEGER:
            self.stream.skip(length)
            self.stack.append(Skipped("integer", length))
            return
        self.stack.append(int.from_bytes(self.stream.take(length), "little", signed=True))

    def _op_float(self) -> None:
        line = self.stream.line()
        if _FLOAT.fullmatch(line):
            self.stack.append(float(line))
        else:
            self._form("a number that is none")
            self.stack.append(0.0)

    def _op_binfloat(self) -> None:
        self.stack.append(struct.unpack(">d", self.stream.take(8))[0])

    # Texts and bytes

    def _long(self, kind: str, length: int) -> bool:
        """Whether an object is too long to keep; it is then skipped and its stand-in pushed."""
        if length <= limits.PICKLE_STRING - 1:
            self.kept_text += length
            if self.kept_text > limits.PICKLE_TEXT:
                raise PickleLimit(f"{limits.PICKLE_TEXT} bytes of text")
            return False
        self.stream.skip(length)
        self.stack.append(Skipped(kind, length))
        return True

    def _unicode(self, length: int) -> None:
        if not self._long("text", length):
            try:
                self.stack.append(str(self.stream.take(length), "utf-8", "surrogatepass"))
            except UnicodeDecodeError:
                raise PickleDamaged("a text is not UTF-8") from None

    def _bytes(self, length: int) -> None:
        if not self._long("bytes", length):
            self.stack.append(self.stream.take(length))

    def _text_line(self) -> bytes | None:
        """The rest of a line; None where it is too long to keep, with its stand-in pushed."""
        line, length = self.stream.any_line()
        if line is None:
            self.stack.append(Skipped("text", length))
            return None
        self.kept_text += len(line)
        if self.kept_text > limits.PICKLE_TEXT:
            raise PickleLimit(f"{limits.PICKLE_TEXT} bytes of text")
        return line

    def _op_string(self) -> None:
        line = self._text_line()
        if line is None:
            return
        if len(line) < 2 or line[:1] not in (b"'", b'"') or line[:1] != line[-1:]:
            raise PickleDamaged("a text without its quotes")
        inner = line[1:-1]
        if not _QUOTED.fullmatch(inner):
            self._form("a text with an unknown escape")
            self.stack.append(Skipped("text", len(inner)))
            return
        self.stack.append(codecs.escape_decode(inner)[0].decode("latin-1"))

    def _op_binstring(self) -> None:
        length = int.from_bytes(self.stream.take(4), "little", signed=True)
        if length < 0:
            raise PickleDamaged("a text of negative length")
        if not self._long("text", length):
            self.stack.append(self.stream.take(length).decode("latin-1"))

    def _op_short_binstring(self) -> None:
        self.stack.append(self.stream.take(self.stream.number(1)).decode("latin-1"))

    def _op_unicode(self) -> None:
        line = self._text_line()
        if line is None:
            return
        try:
            self.stack.append(line.decode("raw-unicode-escape"))
        except UnicodeDecodeError:
            raise PickleDamaged("a text with a broken escape") from None

    def _op_binunicode(self) -> None:
        self._unicode(self.stream.number(4))

    def _op_short_binunicode(self) -> None:
        self._unicode(self.stream.number(1))

    def _op_binunicode8(self) -> None:
        self._unicode(self.stream.number(8))

    def _op_binbytes(self) -> None:
        self._bytes(self.stream.number(4))

    def _op_short_binbytes(self) -> None:
        self._bytes(self.stream.number(1))

    def _op_binbytes8(self) -> None:
        self._bytes(self.stream.number(8))

    def _op_bytearray8(self) -> None:
        self._bytes(self.stream.number(8))

"""The bytes of one pickle, opcode by opcode: a window that moves over a source, and bounded arguments."""

from __future__ import annotations

from . import limits
from .source import Source


class PickleDamaged(Exception):
    """The bytes are not a pickle here, or not one that any writer makes."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class PickleLimit(Exception):
    """More than this tool is willing to follow."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class PickleStream:
    """Reads arguments from a place in a source on, and keeps count of where it is."""

    def __init__(self, source: Source, start: int) -> None:
        self.source = source
        self.base = start
        """Where the window begins, in the source."""
        self.window = source.read(start, limits.WINDOW)
        self.index = 0

    @property
    def offset(self) -> int:
        """Of the next byte, in the source."""
        return self.base + self.index

    def _refill(self) -> None:
        self.base += self.index
        self.index = 0
        self.window = self.source.read(self.base, limits.WINDOW)

    def byte(self) -> int:
        """The next byte; -1 at the end."""
        if self.index >= len(self.window):
            self._refill()
            if not self.window:
                return -1
        value = self.window[self.index]
        self.index += 1
        return value

    def take(self, count: int) -> bytes:
        """The next `count` bytes, at most a window."""
        end = self.index + count
        if end > len(self.window):
            self._refill()
            end = count
            if count > len(self.window):
                raise PickleDamaged("the pickle ends in the middle of an argument")
        data = self.window[self.index : end]
        self.index = end
        return data

    def number(self, count: int) -> int:
        """An unsigned little-endian integer of `count` bytes."""
        return int.from_bytes(self.take(count), "little")

    def skip(self, count: int) -> None:
        """Passes over `count` bytes that are surely there."""
        if count > self.source.length - self.offset:
            raise PickleDamaged("the pickle ends in the middle of an argument")
        self.base += self.index + count
        self.index = 0
        self.window = b""

    def line(self) -> bytes:
        """The bytes up to the next newline, which is passed over; at the end of the file, whatever is left."""
        line, length = self.any_line()
        if line is None:
            raise PickleDamaged(f"a name or number of {length} characters")
        return line

    def any_line(self) -> tuple[bytes | None, int]:
        """The same, with its length; None where it is longer than a window."""
        end = self.window.find(b"\n", self.index)
        if end < 0:
            self._refill()
            end = self.window.find(b"\n", 0)
            if end < 0:
                return self._long_line()
        data = self.window[self.index : end]
        self.index = end + 1
        return data, len(data)

    def _long_line(self) -> tuple[bytes | None, int]:
        start = self.base
        if len(self.window) < limits.WINDOW:
            if not self.window:
                raise PickleDamaged("the pickle ends in the middle of a line")
            self.index = len(self.window)
            return self.window, len(self.window)
        while True:
            end = self.window.find(b"\n")
            if end >= 0 or not self.window:
                self.index = max(end + 1, 0)
                return None, self.offset - start - 1
            self.index = len(self.window)
            self._refill()

"""What a child prints: read through pipes, made harmless, marked, and kept in a file of bounded size.

A child's text is data. Every line of it starts with `| ` and holds no control sequence, so it can neither pass for a
line of the gate nor move the cursor; secrets are hidden by the caller's function; what is too much is
counted and left out. A carriage return starts the line over, as a progress line needs, and nothing else.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable

MARK = "| "
LONGEST_LINE = 4096
"""Characters; a longer line is broken."""
OVERLAP = 16384
"""Characters of an unfinished line that are kept back, so that a secret in the middle of it is seen whole."""
BLOCK = 1 << 16
BURST_BYTES = 256 << 10
BYTES_PER_SECOND = 32 << 10
"""How much is passed on at once, and how fast that is refilled."""
_CHUNK = 2048
"""A pipe that can be written to at all takes this much without waiting."""


class OutputLog:
    """The file that keeps a child's output, up to a number of bytes."""

    def __init__(self, path: str, most: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self.handle = os.open(path, flags, 0o644)
        self.left = max(0, most - os.fstat(self.handle).st_size)
        self.left_out = 0

    def write(self, line: str) -> None:
        """Keeps one line."""
        data = f"{line}\n".encode("utf-8", "replace")
        if self.left_out or len(data) > self.left:
            self.left_out += len(data)
            return
        self.left -= len(data)
        self._put(data)

    def close(self) -> None:
        """Says how much is missing, and closes the file."""
        if self.left_out:
            self._put(f"... {self.left_out} more bytes were left out\n".encode())
        os.close(self.handle)

    def _put(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self.handle, data) :]
        except OSError:
            # A full disk must not end the run's watch; the record of the end will fail by itself.
            self.left_out += len(data)


class OutputStream:
    """One stream of the child: what is read from `handle` goes, filtered, to the handle `onward` and to the log."""

    def __init__(self, handle: int, onward: int | None, log: OutputLog, hide: Callable[[str], str]) -> None:
        import codecs

        self.handle = handle
        self.onward = onward
        self.log = log
        self.hide = hide
        self.open = True
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._text = ""
        self._live = onward is not None and os.isatty(onward)
        self._pending = b""
        self._budget = float(BURST_BYTES)
        self._filled = time.monotonic()
        self._left_out = 0
        os.set_blocking(handle, False)

    @property
    def waiting(self) -> bool:
        """Whether something is still to be passed on."""
        return bool(self._pending)

    def read(self, blocks: int = 4) -> None:
        """Takes what is there, without waiting."""
        for _ in range(blocks):
            try:
                data = os.read(self.handle, BLOCK)
            except BlockingIOError:
                break
            except OSError as error:
                # The end of a terminal's child side is an error, not an empty read.
                if error.errno != errno.EIO:
                    raise
                data = b""
            if not data:
                self.open = False
                break
            self._text += self._decoder.decode(data)
            self._take_lines(False)
        self._send()

    def finish(self) -> None:
        """Passes on what is left, and waits a moment for a slow reader; closes the handle."""
        self._text += self._decoder.decode(b"", True)
        self._take_lines(True)
        if self._left_out:
            self._pending += f"{MARK}... {self._left_out} more bytes were left out here\n".encode()
        deadline = time.monotonic() + 1.0
        while self._pending and self.onward is not None and time.monotonic() < deadline:
            self._send()
            if self._pending:
                time.sleep(0.01)
        os.close(self.handle)

    def _take_lines(self, last: bool) -> None:
        # Hidden before anything is cut, so that no cut can split a secret.
        text = self.hide(self._text.replace("\r\n", "\n"))
        start = 0
        while start < len(text):
            ends = [at for at in (text.find("\n", start), text.find("\r", start)) if at >= 0]
            if not ends:
                break
            end = min(ends)
            # The last character may be the first half of "\r\n".
            if text[end] == "\r" and end + 1 == len(text) and not last:
                break
            self._line(text[start:end], text[end])
            start = end + 1
        rest = text[start:]
        if last and rest:
            self._line(rest, "\n")
            rest = ""
        while len(rest) > OVERLAP + LONGEST_LINE:
            self._line(rest[:LONGEST_LINE], "\n")
            rest = rest[LONGEST_LINE:]
        self._text = rest

    def _line(self, words: str, end: str) -> None:
        for at in range(0, max(len(words), 1), LONGEST_LINE):
            piece = harmless(words[at : at + LONGEST_LINE])
            final = "\n" if at + LONGEST_LINE < len(words) else end
            # What is written over is not kept: the log holds what stays on a screen.
            if final == "\n":
                self.log.write(piece)
            if piece or final == "\n":
                self._pass_on(f"{MARK}{piece}{final if self._live else chr(10)}".encode("utf-8", "replace"))

    def _pass_on(self, data: bytes) -> None:
        now = time.monotonic()
        self._budget = min(float(BURST_BYTES), self._budget + (now - self._filled) * BYTES_PER_SECOND)
        self._filled = now
        if self.onward is None or len(data) > self._budget or len(self._pending) > BURST_BYTES:
            self._left_out += len(data)
            return
        if self._left_out:
            self._pending += f"{MARK}... {self._left_out} bytes were left out here\n".encode()
            self._left_out = 0
        self._budget -= len(data)
        self._pending += data

    def _send(self) -> None:
        """Writes what the reader takes without making us wait: a reader that stalls must not stop the watch."""
        import select

        while self._pending and self.onward is not None:
            poller = select.poll()
            poller.register(self.onward, select.POLLOUT)
            if not any(found & select.POLLOUT for _, found in poller.poll(0)):
                return
            try:
                sent = os.write(self.onward, self._pending[:_CHUNK])
            except BlockingIOError:
                return
            except OSError:
                # The reader has gone away; the run goes on, and the log keeps its output.
                self.onward = None
                return
            self._pending = self._pending[sent:]


def harmless(words: str) -> str:
    """A line in which nothing is left that a terminal would obey, and no invisible character."""
    if words.isprintable():
        return words
    return "".join(
        c if c.isprintable() else "    " if c == "\t" else c.encode("unicode_escape", "backslashreplace").decode()
        for c in words
    )

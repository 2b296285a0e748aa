"""How the worker speaks to its parent: JSON lines on a pipe of its own, and the call in progress in shared memory.

The call in progress survives a crash and a hang, because it is written before each call into memory that the parent
reads: that is how a segmentation fault gets its step.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import sys
from typing import Any

TEXT = 300
"""Characters of a text that are sent; the parent escapes and shows it."""
PROGRESS_BYTES = 512
MAX_LINE = 60_000


class Channel:
    """One JSON object a line."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        os.set_inheritable(handle, False)

    def send(self, kind: str, **fields: Any) -> None:
        """Sends one message; texts are cut, numbers that JSON has no word for become texts."""
        line = json.dumps({"kind": kind, **_plain(fields)}, ensure_ascii=True, separators=(",", ":")) + "\n"
        data = line.encode()
        if len(data) > MAX_LINE:
            data = (json.dumps({"kind": "too_long", "of": kind}) + "\n").encode()
        while data:
            data = data[os.write(self._handle, data) :]


class Progress:
    """The call in progress, in memory shared with the parent: `serial|phase|call|environment|episode|step|agent`."""

    def __init__(self, handle: int) -> None:
        self._memory = mmap.mmap(handle, PROGRESS_BYTES)
        os.set_inheritable(handle, False)
        self.phase = ""
        self.quiet = False
        """Whether the environment is called out of order, where it may say so."""
        self.now = ("", -1, -1)
        self._serial = 0
        """Tells two calls of the same name apart, so that only one call can seem to hang."""

    def at(self, call: str, episode: int = -1, step: int = -1, agent: str = "", environment: int = -1) -> None:
        """Says that `call` begins; an empty call says that the worker itself works."""
        self._serial += 1
        self.now = (call, episode, step)
        words = f"{self._serial}|{self.phase}|{call}|{environment}|{episode}|{step}|{agent[:100]}"
        self._memory[:] = words.encode("utf-8", "replace")[:PROGRESS_BYTES].ljust(PROGRESS_BYTES, b"\0")


def _plain(value: Any) -> Any:
    """The value in JSON's own kinds, bounded."""
    if isinstance(value, str):
        cut = value if len(value) <= TEXT else f"{value[:TEXT]}... ({len(value)} characters)"
        return cut.encode("utf-8", "backslashreplace").decode()[: TEXT + 90]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else str(value)[:TEXT]
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, dict):
        return {str(key)[:TEXT]: _plain(item) for key, item in list(value.items())[:500]}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in list(value)[:2000]]
    return str(value)[:TEXT]


class Noticed(io.TextIOWrapper):
    """stdout or stderr, which notices what is written and when, and writes it on to the parent's pipe."""

    def __init__(self, number: int, name: str, channel: Channel, progress: Progress) -> None:
        super().__init__(
            open(number, "wb", buffering=0, closefd=False), "utf-8", "backslashreplace", write_through=True
        )
        self.stream = name
        self.written = 0
        self._channel = channel
        self._progress = progress
        self._told: set[str] = set()

    def write(self, text: str) -> int:
        """Writes, and says the first text of each call."""
        self.written += len(text.encode("utf-8", "backslashreplace"))
        call, episode, step = self._progress.now
        if text.strip() and not self._progress.quiet and call not in self._told:
            self._told.add(call)
            self._channel.send("output", stream=self.stream, call=call, episode=episode, step=step, text=text)
        return super().write(text)


def notice_output(channel: Channel, progress: Progress) -> tuple[Noticed, Noticed]:
    """Puts both streams in place of Python's own."""
    streams = Noticed(1, "stdout", channel, progress), Noticed(2, "stderr", channel, progress)
    sys.stdout, sys.stderr = streams
    return streams

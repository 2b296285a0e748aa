"""Runs one small program for a check: a list of words, no input, bounded output and time, nothing of it left behind."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

MAX_OUTPUT = 64 << 10


class Outcome(NamedTuple):
    """How it ended."""

    exit_status: int | None
    """None where it could not be started or took too long."""
    output: str
    """Standard output and error together, cut."""
    why: str
    """Why there is no exit status."""


def run(
    words: Sequence[str], seconds: float, variables: Mapping[str, str] | None = None, errors: bool = True
) -> Outcome:
    """The outcome of a program; never raises for what the program or the system does. `errors`: also its stderr."""
    import select
    import signal
    import subprocess

    try:
        process = subprocess.Popen(
            list(words),
            env=None if variables is None else dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if errors else subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Outcome(None, "", getattr(error, "strerror", None) or str(error))
    assert process.stdout is not None
    deadline = time.monotonic() + seconds
    output = bytearray()
    late = False
    with process.stdout as stream:
        while True:
            ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                late = True
                break
            part = os.read(stream.fileno(), 65536)
            if not part:
                break
            output += part[: MAX_OUTPUT - len(output)]
        while not late and process.poll() is None:
            late = time.monotonic() > deadline
            time.sleep(0.002)
        try:
            # Not reaped yet where it is late; otherwise only what it left behind in its own session is ended.
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            late = late and process.poll() is None
        process.wait()
    words_said = bytes(output).decode("utf-8", "replace").strip()
    if late:
        return Outcome(None, words_said, f"no answer within {seconds:g} s")
    return Outcome(process.returncode, words_said, "")

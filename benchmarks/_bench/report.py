"""The JSON report of a benchmark, and what becomes of it when the benchmark is interrupted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = "benchmark/1"
STANDARD_OUTPUT = Path("-")


@dataclass
class Interruption:
    """Exit status of an interrupted benchmark; None while it was not interrupted."""

    status: int | None = None


@contextlib.contextmanager
def until_interrupted() -> Iterator[Interruption]:
    """What was measured before Ctrl-C or SIGTERM is still reported: both only end the block.

    The first of them becomes an exception, which ends the process being measured on its way; those that follow, such as
    the second one that `timeout` sends, are ignored, so that this is not cut short.
    """

    def leave(number: int, _: object) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    interruption = Interruption()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, leave)
    try:
        yield interruption
    except SystemExit as end:
        interruption.status = end.code if isinstance(end.code, int) else 1
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def problem_with(file: Path | None) -> str | None:
    """Why a report could not be written there, found before an hour of measuring and not after it."""
    if file is None or file == STANDARD_OUTPUT:
        return None
    if file.is_dir():
        return f"--json {file} is a folder; name a file"
    if not file.parent.is_dir():
        return f"--json {file}: there is no folder {file.parent}"
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        return f"--json {file} cannot be written"
    return None


def deliver(report: dict[str, Any], text: str, file: Path | None) -> None:
    """Print the tables, or the report itself for ``--json -``; write the report where it was asked for."""
    document = json.dumps({"schema": SCHEMA, **report}, indent=1, allow_nan=False)
    print(document if file == STANDARD_OUTPUT else text)
    if file is not None and file != STANDARD_OUTPUT:
        try:
            file.write_text(document + "\n", encoding="utf-8")
        except OSError as error:
            print(f"{file} was not written: {error.strerror}; the report follows", file=sys.stderr)
            print(document)

"""Bounded reading of a run folder. Everything read here was written by others: it is data, shown and never obeyed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

MEBIBYTE = 1 << 20
MAX_TEXT = 400  # characters of one string that the page shows
MAX_DEPTH = 12
MAX_ITEMS = 2000  # of one array or object
HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class Unreadable(Exception):
    """A part of the run that cannot be shown; the text is the note that the page carries instead."""


@contextlib.contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; links, pipes and devices are refused and never waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise Unreadable(f"{path.name} is not a regular file")
        with os.fdopen(descriptor, "rb") as stream:
            yield stream
    except FileNotFoundError:
        raise Unreadable(f"{path.name} is missing") from None
    except OSError as error:
        raise Unreadable(f"{path.name} cannot be read: {error.strerror}") from None


def read_bytes(path: Path, limit: int) -> bytes:
    """The whole file, at most ``limit`` bytes; Unreadable when it is longer, missing or cannot be read."""
    with open_regular(path) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise Unreadable(f"{path.name} is longer than the {limit:,} bytes that the report reads")
    return data


def parse_object(data: bytes, name: str) -> dict[str, Any]:
    """Strict JSON: UTF-8, one object, no NaN or Infinity. Raises Unreadable."""
    try:
        document = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise Unreadable(f"{name} is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"{name} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise Unreadable(f"{name} is nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"{name} is not JSON: {visible(str(error))}") from None
    if not isinstance(document, dict):
        raise Unreadable(f"{name} does not hold a JSON object")
    return document


def file_digest(path: Path, limit: int) -> tuple[int, str]:
    """Size in bytes and SHA-256 of a file of at most ``limit`` bytes; Unreadable otherwise."""
    digest = hashlib.sha256()
    size = 0
    with open_regular(path) as stream:
        while block := stream.read(MEBIBYTE):
            size += len(block)
            if size > limit:
                raise Unreadable(f"{path.name} is longer than the {limit:,} bytes that the report digests")
            digest.update(block)
    return size, digest.hexdigest()


def visible(text: str, limit: int = MAX_TEXT) -> str:
    """Text that hides nothing: control, zero-width and direction marks become ``\\u{...}``; long text is cut."""
    cut = text[:limit]
    shown = "".join(_escape(character) for character in cut)
    return shown if len(text) <= limit else f"{shown}\u2026 ({len(text):,} characters)"


def cleaned(value: Any, depth: int = 0) -> Any:
    """A copy of parsed JSON in which every string is ``visible``, and nothing deeper or longer than the page shows."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        if depth >= MAX_DEPTH:
            return "\u2026"
        return {visible(key): cleaned(item, depth + 1) for key, item in list(value.items())[:MAX_ITEMS]}
    if isinstance(value, list):
        if depth >= MAX_DEPTH:
            return "\u2026"
        return [cleaned(item, depth + 1) for item in value[:MAX_ITEMS]]
    return value


def _escape(character: str) -> str:
    if unicodedata.category(character) in HIDDEN_CATEGORIES:
        return f"\\u{{{ord(character):x}}}"
    return character


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")

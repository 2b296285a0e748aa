"""Writing files so that a crash at any moment leaves the old file or the new one, and bounded reading."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .errors import MISUSE, PufferError

MAX_JSON = 8 << 20


def write_atomically(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Temporary file in the same folder, flush, fsync, rename, fsync of the folder. An error leaves no part behind."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as stream:
            for chunk in chunks:
                stream.write(chunk)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise PufferError(f"{path} cannot be written: {error.strerror}") from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes renames in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, content: Any, indent: int | None = 2) -> None:
    """JSON without NaN, atomically."""
    write_atomically(path, [json.dumps(content, indent=indent, allow_nan=False).encode() + b"\n"])


def parse_json(raw: bytes) -> Any:
    """JSON in UTF-8; duplicate keys and NaN are refused. Raises ValueError or RecursionError."""

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise ValueError(f"key {key!r} appears twice")
            found[key] = value
        return found

    def no_constant(word: str) -> Any:
        raise ValueError(f"{word} is not JSON")

    return json.loads(raw.decode("utf-8"), object_pairs_hook=no_duplicates, parse_constant=no_constant)


def read_json(path: Path) -> Any:
    """A JSON object from a file of bounded size, as ``parse_json`` reads it. FileNotFoundError passes."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_JSON + 1)
        if len(raw) > MAX_JSON:
            raise ValueError(f"over {MAX_JSON} bytes")
        content = parse_json(raw)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise PufferError(f"{path} cannot be read: {error}", MISUSE) from error
    if not isinstance(content, dict):
        raise PufferError(f"{path} holds no JSON object", MISUSE)
    return content

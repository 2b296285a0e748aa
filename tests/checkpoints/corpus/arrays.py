"""numpy's .npy by its format, with any header at all."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def header(descr: str, shape: Sequence[int], order: bool = False) -> str:
    """The header's text."""
    quoted = descr if descr.startswith("[") else repr(descr)
    sizes = "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
    return f"{{'descr': {quoted}, 'fortran_order': {order}, 'shape': {sizes}, }}"


def npy(
    descr: str,
    shape: Sequence[int],
    data: bytes,
    *,
    order: bool = False,
    text: str | None = None,
    version: tuple[int, int] = (1, 0),
    length: int | None = None,
    pad: bool = True,
) -> bytes:
    """The file; `text` replaces the header's text, `length` its length."""
    words = (header(descr, shape, order) if text is None else text).encode("latin-1" if version < (3, 0) else "utf-8")
    width = 2 if version == (1, 0) else 4
    if pad:
        words += b" " * (-(8 + width + len(words) + 1) % 64) + b"\n"
    count = len(words) if length is None else length
    return (
        b"\x93NUMPY"
        + bytes(version)
        + struct.pack("<H" if width == 2 else "<I", count & (256**width - 1))
        + words
        + data
    )

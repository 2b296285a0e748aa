"""Writes small checkpoints byte by byte, so that each test says exactly what is in its file."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from typing import Any

CALL = b"cos\ngetcwd\n(tR"
"""A harmless call in protocol 0."""
STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x00%sX\x03\x00\x00\x00cpuK%ctQ"


def storage(key: str = "0", numel: int = 6) -> bytes:
    """The opcodes of a storage of 32-bit floats."""
    return STORAGE.replace(b"%s", key.encode()).replace(b"%c", bytes([numel]))


def sizes(*numbers: int) -> bytes:
    """The opcodes of a tuple of small numbers."""
    return b"(" + b"".join(b"K" + bytes([number]) for number in numbers) + b"t"


def tensor(shape: tuple[int, ...] = (2, 3), stride: tuple[int, ...] = (3, 1), offset: int = 0, **of: Any) -> bytes:
    """The opcodes of a tensor that is a view of a storage."""
    hooks = b"ccollections\nOrderedDict\n)R"
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + storage(**of) + b"K" + bytes([offset]) + sizes(*shape) + sizes(*stride) + b"\x89" + hooks + b"tR"
    )  # fmt: skip


def text(words: str) -> bytes:
    """The opcodes of a text."""
    return b"X" + struct.pack("<I", len(words.encode())) + words.encode()


def pickled(body: bytes) -> bytes:
    """A whole pickle of protocol 2."""
    return b"\x80\x02" + body + b"."


def state_dict(**tensors: bytes) -> bytes:
    """A whole pickle of a dict of tensors."""
    return pickled(b"}(" + b"".join(text(name) + value for name, value in tensors.items()) + b"u")


def zipped(members: dict[str, bytes], compress: bool = False) -> bytes:
    """A zip archive as Python writes it."""
    buffer = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return buffer.getvalue()


def torch_file(pickle: bytes, storages: dict[str, bytes] | None = None, more: dict[str, bytes] | None = None) -> bytes:
    """A file in the layout of torch.save."""
    held = {"0": struct.pack("<6f", *range(6))} if storages is None else storages
    members = {"m/data.pkl": pickle, **{f"m/data/{key}": data for key, data in held.items()}, "m/version": b"3\n"}
    return zipped(members | {f"m/{name}": data for name, data in (more or {}).items()})


def safetensors(header: Any, data: bytes = b"") -> bytes:
    """A safetensors file; a header that is not bytes is written as JSON."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    """One entry of a safetensors header."""
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}

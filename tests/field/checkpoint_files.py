"""Writes the small checkpoints of the cases, byte by byte; the only callable in them is `os.getcwd`."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

CALL = b"cos\ngetcwd\n(tR"
SIX_FLOATS = struct.pack("<6f", *range(6))


FIXTURES = Path(__file__).resolve().parents[1] / "checkpoints/fixtures/files.json"


def written_by_torch(name: str) -> bytes:
    """A file that torch itself wrote."""
    return zlib.decompress(base64.b64decode(json.loads(FIXTURES.read_text(encoding="utf-8"))[name]))


def text(words: str) -> bytes:
    """The opcodes of a text."""
    return b"X" + struct.pack("<I", len(words.encode())) + words.encode()


def tensor(shape: tuple[int, ...], stride: tuple[int, ...], offset: int = 0, key: str = "0", numel: int = 6) -> bytes:
    """The opcodes of a tensor of 32-bit floats, a view of a storage."""
    sizes = (b"(" + b"".join(b"K" + bytes([n]) for n in numbers) + b"t" for numbers in (shape, stride))
    storage = (
        b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(key) + text("cpu") + b"K" + bytes([numel]) + b"tQ"
    )
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K" + bytes([offset]) + b"".join(sizes)
        + b"\x89ccollections\nOrderedDict\n)RtR"
    )  # fmt: skip


def pickled(body: bytes) -> bytes:
    """A whole pickle of protocol 2."""
    return b"\x80\x02" + body + b"."


def mapping(values: dict[str, bytes]) -> bytes:
    """The opcodes of a dict."""
    return b"}(" + b"".join(text(name) + value for name, value in values.items()) + b"u"


def zipped(members: dict[str, bytes]) -> bytes:
    """A zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def torch_file(body: bytes, storages: dict[str, bytes] | None = None) -> bytes:
    """A file in the layout of torch.save whose pickle holds `body`."""
    held = {"0": SIX_FLOATS} if storages is None else storages
    return zipped({"m/data.pkl": pickled(body), **{f"m/data/{key}": data for key, data in held.items()}})


def safetensors(header: Any, data: bytes = b"") -> bytes:
    """A safetensors file."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    """One entry of a safetensors header."""
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}

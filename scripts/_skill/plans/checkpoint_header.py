"""The header of a safetensors checkpoint, read strictly: names, types and shapes, never the data.

The format: 8 bytes with the header's length, a JSON header with type, shape and byte range of each tensor, then the
bytes. The length is compared with the file and a bound of our own before anything is read.
"""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

from .. import regular_file, strict_json, text
from ..findings import Finding, Refusal

MAX_HEADER_BYTES = 16 << 20
_ITEM_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4,
    "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8,
}  # fmt: skip


class StoredTensor(NamedTuple):
    """One tensor of a checkpoint."""

    dtype: str
    shape: tuple[int, ...]


class CheckpointHeader(NamedTuple):
    """What a checkpoint says that it holds."""

    byte_count: int
    tensors: dict[str, StoredTensor]
    metadata: dict[str, str]
    ranges: dict[str, tuple[int, int]]
    """Where each tensor's bytes lie in the file."""

    def group(self, prefix: str) -> dict[str, StoredTensor]:
        """The tensors whose names start with `prefix`."""
        return {name: tensor for name, tensor in self.tensors.items() if name.startswith(prefix)}


def read(path: str) -> CheckpointHeader:
    """The header of a plain file; a Refusal (exit 1) says what is wrong with it, exit 2 that it cannot be read."""
    handle, status = regular_file.open_for_reading(path)
    with os.fdopen(handle, "rb") as stream:
        start = stream.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or 8 + length > status.st_size:
            raise _wrong(path, "the file is shorter than its header says", f"{status.st_size} bytes")
        if length > MAX_HEADER_BYTES:
            raise _wrong(path, "the header is too large", f"{length} bytes", f"at most {MAX_HEADER_BYTES} bytes")
        content = stream.read(length)
    document = strict_json.loads(content, path, max_bytes=MAX_HEADER_BYTES)
    if not isinstance(document, dict):
        raise _wrong(path, "the header is not an object", text.shown(document))
    metadata = document.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise _wrong(path, "the metadata are not texts", "")
    tensors = _tensors(path, document, status.st_size - 8 - length)
    at = {name: document[name]["data_offsets"] for name in tensors}
    ranges = {name: (8 + length + begin, 8 + length + end) for name, (begin, end) in at.items()}
    return CheckpointHeader(status.st_size, tensors, metadata, ranges)


def sha256(path: str) -> str:
    """SHA-256 of a plain file, read in blocks."""
    import hashlib

    handle, _ = regular_file.open_for_reading(path)
    digest = hashlib.sha256()
    with os.fdopen(handle, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def group_sha256(path: str, header: CheckpointHeader, prefix: str) -> str:
    """SHA-256 over the tensors of a group, names, types and shapes included: as a manifest's `weights_sha256`."""
    import hashlib

    digest = hashlib.sha256()
    handle, _ = regular_file.open_for_reading(path)
    with os.fdopen(handle, "rb") as stream:
        for name, tensor in header.group(prefix).items():
            digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
            begin, end = header.ranges[name]
            stream.seek(begin)
            while begin < end and (block := stream.read(min(1 << 20, end - begin))):
                digest.update(block)
                begin += len(block)
    return digest.hexdigest()


def integers(path: str, header: CheckpointHeader, name: str, most: int) -> tuple[int, ...]:
    """The numbers of a short I64 tensor; none where it is not there, of another type, or longer than `most`."""
    tensor = header.tensors.get(name)
    if tensor is None or tensor.dtype != "I64" or math.prod(tensor.shape) > most:
        return ()
    begin, end = header.ranges[name]
    handle, _ = regular_file.open_for_reading(path)
    with os.fdopen(handle, "rb") as stream:
        stream.seek(begin)
        data = stream.read(end - begin)
    return tuple(int.from_bytes(data[at : at + 8], "little", signed=True) for at in range(0, len(data) - 7, 8))


def _tensors(path: str, document: dict[str, Any], data_bytes: int) -> dict[str, StoredTensor]:
    found: dict[str, StoredTensor] = {}
    ranges: list[tuple[int, int, str]] = []
    for name, entry in document.items():
        wrong = _entry_mistake(entry)
        if wrong:
            raise _wrong(path, f"the tensor {text.shown(name, 60)} {wrong}", "")
        begin, end = entry["data_offsets"]
        if end - begin != math.prod(entry["shape"]) * _ITEM_BYTES[entry["dtype"]]:
            raise _wrong(path, f"the tensor {text.shown(name, 60)} has a range that its shape does not fill", "")
        found[name] = StoredTensor(entry["dtype"], tuple(entry["shape"]))
        ranges.append((begin, end, name))
    at = 0
    for begin, end, name in sorted(ranges):
        if begin != at:
            raise _wrong(path, f"there is a hole or an overlap before {text.shown(name, 60)}", str(begin), str(at))
        at = end
    if at != data_bytes:
        raise _wrong(path, "the data are not as long as the header says", f"{data_bytes} bytes", f"{at} bytes")
    return found


def _entry_mistake(entry: Any) -> str:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        return "is not described by dtype, shape and data_offsets"
    if entry["dtype"] not in _ITEM_BYTES:
        return "is of an unknown type"
    numbers = [entry["shape"], entry["data_offsets"]]
    if not all(isinstance(part, list) and len(part) <= 64 for part in numbers) or len(entry["data_offsets"]) != 2:
        return "has a shape or a range of the wrong form"
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for part in numbers for n in part):
        return "has a size that is not a whole number"
    return ""


def _wrong(path: str, message: str, got: str, want: str = "") -> Refusal:
    return Refusal(
        Finding("start.format", f"not a whole safetensors file: {message}", path, got, want, "name another checkpoint")
    )

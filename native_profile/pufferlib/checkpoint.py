"""A run's checkpoints: safetensors files, and the manifest that says which one counts.

The order of writing is what makes them safe: the new file is complete on disk under its own name before the manifest
names it, and the old one is removed only after that.
So the manifest always names a whole file, whenever the power goes.

The format (https://github.com/huggingface/safetensors): 8 bytes with the header's length, a JSON header with dtype,
shape and byte range of each tensor, then the bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import MISUSE, PufferError
from .files import parse_json, read_json, write_atomically

if TYPE_CHECKING:
    from .engine import Tensor

MANIFEST = "manifest.json"
MAX_HEADER = 100_000_000  # bytes, the format's own limit
_ITEM_BYTES = {"F32": 4, "I32": 4, "I64": 8, "U8": 1}
_MANIFEST_KEYS = (
    ("status", str),
    ("iteration", int),
    ("step", int),
    ("goal_reached", bool),
    ("weights_sha256", str),
    ("plan_sha256", str),
)
_KINDS = {int: "a whole number", str: "text", bool: "true or false"}
_FILE_NAME = re.compile(r"checkpoint-[0-9]{16}\.safetensors")


def file_name(step: int) -> str:
    """The name of the checkpoint after ``step`` agent steps."""
    return f"checkpoint-{step:016d}.safetensors"


def write(path: Path, tensors: list[Tensor], metadata: dict[str, str]) -> dict[str, Any]:
    """Writes a checkpoint atomically; returns its name, size and digest as the manifest holds them."""
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for tensor in tensors:
        header[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [end, end + len(tensor.data)],
        }
        end += len(tensor.data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    chunks: list[bytes | memoryview] = [struct.pack("<Q", len(text)), text, *(t.data for t in tensors)]
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    write_atomically(path, chunks)
    return {"file": path.name, "bytes": 8 + len(text) + end, "sha256": digest.hexdigest()}


def weights_digest(tensors: list[Tensor]) -> str:
    """SHA-256 over the policy's tensors, names and shapes included: equal digests mean equal policies."""
    digest = hashlib.sha256()
    for tensor in tensors:
        if tensor.name.startswith("policy."):
            digest.update(f"{tensor.name} {tensor.dtype} {list(tensor.shape)}\n".encode())
            digest.update(tensor.data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Stored:
    """A tensor in a checkpoint: its bytes are ``content[begin:end]`` of the file's data part."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def _stored(entry: dict[str, Any]) -> Stored:
    begin, end = entry["data_offsets"]
    for n in (*entry["shape"], begin, end):
        if type(n) is not int or n < 0:
            raise ValueError(f"{n!r} stands where a size is expected")
    if entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"a tensor has the keys {sorted(entry)}")
    return Stored(str(entry["dtype"]), tuple(entry["shape"]), begin, end)


class Checkpoint:
    """A checkpoint read whole and checked: header within the file, ranges without holes or overlaps, fitting shapes."""

    def __init__(self, path: Path, expected: dict[str, Any] | None = None) -> None:
        self.path = path
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise PufferError(f"{path} is not a file")
            if expected is not None and status.st_size != expected["bytes"]:
                raise PufferError(f"{path} has {status.st_size} bytes, the manifest says {expected['bytes']}")
            self.content = self._read(status.st_size)
        except OSError as error:
            raise PufferError(f"{path} cannot be read: {error.strerror}", MISUSE) from error
        if expected is not None:
            found = hashlib.sha256(self.content).hexdigest()
            if found != expected["sha256"]:
                raise PufferError(f"{path} has SHA-256 {found}, the manifest says {expected['sha256']}")
        self.tensors, self.metadata, self._data = self._parse()

    def _read(self, size: int) -> bytes:
        """The file's ``size`` bytes; its header's length is looked at before anything large is read."""
        with self.path.open("rb") as stream:
            start = stream.read(8)
            if len(start) < 8:
                raise self._bad("is shorter than its 8-byte length")
            (length,) = struct.unpack("<Q", start)
            if length > MAX_HEADER or 8 + length > size:
                raise self._bad(f"says that its header has {length} bytes")
            return start + stream.read(size - 8)

    def _parse(self) -> tuple[dict[str, Stored], dict[str, str], int]:
        (length,) = struct.unpack("<Q", self.content[:8])
        try:
            header = parse_json(self.content[8 : 8 + length])
            metadata = dict(header.pop("__metadata__", {}))
            if not all(isinstance(value, str) for value in metadata.values()):
                raise ValueError("metadata holds something else than text")
            tensors = {name: _stored(entry) for name, entry in header.items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self._bad(f"has a header that is not as the format says ({error})") from error
        at = 0
        for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
            size = _ITEM_BYTES.get(tensor.dtype)
            if size is None:
                raise self._bad(f"holds {name} of type {tensor.dtype}")
            for n in tensor.shape:
                size *= n
            if tensor.begin != at or tensor.end - tensor.begin != size:
                raise self._bad(f"has {name} at {tensor.begin}..{tensor.end}, expected {at}..{at + size}")
            at = tensor.end
        if 8 + length + at != len(self.content):
            raise self._bad(f"has {len(self.content) - 8 - length} bytes of data, its header tells of {at}")
        return tensors, metadata, 8 + length

    def _bad(self, what: str) -> PufferError:
        return PufferError(f"{self.path} is not a whole safetensors file: it {what}")

    def find(self, tensor: Tensor) -> Stored:
        """The stored tensor of the same name, type and shape."""
        stored = self.tensors.get(tensor.name)
        if stored is None:
            raise PufferError(f"{self.path} holds no {tensor.name}: this run cannot start from it")
        if (stored.dtype, stored.shape) != (tensor.dtype, tensor.shape):
            raise PufferError(
                f"{self.path}: {tensor.name} is {stored.dtype} {list(stored.shape)}, "
                f"the plan needs {tensor.dtype} {list(tensor.shape)}"
            )
        return stored

    def fill(self, tensor: Tensor) -> None:
        """Copies the stored tensor of the same name into the engine's memory."""
        stored = self.find(tensor)
        tensor.data[:] = self.content[self._data + stored.begin : self._data + stored.end]


def read_manifest(run_dir: Path) -> dict[str, Any] | None:
    """The manifest, or None where the run has not come to its first checkpoint."""
    try:
        manifest = read_json(run_dir / MANIFEST)
    except FileNotFoundError:
        return None
    named = manifest.get("checkpoint")
    if (
        manifest.get("schema") != "manifest/1"
        or not isinstance(named, dict)
        or not _FILE_NAME.fullmatch(str(named.get("file")))
    ):
        raise PufferError(f"{run_dir / MANIFEST} is not a manifest/1 that names a checkpoint", MISUSE)
    for part, name, kind in [
        (named, "bytes", int),
        (named, "sha256", str),
        *((manifest, *key) for key in _MANIFEST_KEYS),
    ]:
        if type(part.get(name)) is not kind:
            raise PufferError(f"{run_dir / MANIFEST}: {name} is {part.get(name)!r}, expected {_KINDS[kind]}", MISUSE)
    if named["file"] != file_name(manifest["step"]):
        raise PufferError(f"{run_dir / MANIFEST} is of step {manifest['step']} and names {named['file']}", MISUSE)
    return dict(manifest)


def latest(run_dir: Path) -> tuple[dict[str, Any], Checkpoint] | None:
    """The manifest and the checkpoint that it names, verified; None before the first."""
    manifest = read_manifest(run_dir)
    return (
        None
        if manifest is None
        else (manifest, Checkpoint(run_dir / manifest["checkpoint"]["file"], manifest["checkpoint"]))
    )


def remove_others(run_dir: Path, keep: str) -> None:
    """Removes checkpoints that the manifest no longer names, and parts of files that were never finished."""
    for path in _leftovers(run_dir, keep):
        path.unlink(missing_ok=True)


def _leftovers(run_dir: Path, keep: str) -> Iterator[Path]:
    for path in run_dir.iterdir():
        unfinished = path.name.startswith(".") and path.name.endswith(".part")
        if unfinished or (_FILE_NAME.fullmatch(path.name) and path.name != keep):
            yield path

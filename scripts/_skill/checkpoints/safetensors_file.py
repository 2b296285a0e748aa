"""Reads the header of a safetensors file as strictly as the reference library, and a little more strictly.

Layout: 8 bytes length of the header, the header (JSON), then the bytes of all tensors without a hole.
"""

from __future__ import annotations

from typing import Any

from .. import strict_json, text
from ..findings import Refusal
from . import limits
from .content import COULD_NOT_CHECK, DAMAGED, ITEM_BITS, Content, Storage, Tensor, shown_shape
from .source import Source

DTYPES = frozenset(
    {
        "BOOL", "F4", "F6_E2M3", "F6_E3M2", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ",
        "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "C64", "F64", "I64", "U64",
    }
)  # fmt: skip


def looks_like(source: Source) -> bool:
    """Whether the file begins as one: a length, then the brace of its header."""
    head = source.read(0, 9)
    return len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") <= 1 << 40


def inspect(source: Source, content: Content) -> None:
    """Checks the header and that the tensors fill the rest of the file exactly."""
    content.kind = "safetensors"
    length = int.from_bytes(source.read(0, 8).ljust(8, b"\0"), "little")
    if source.length < 8:
        content.add(DAMAGED, "safetensors.truncated", "shorter than the 8 bytes of its length field")
        return
    rest = source.length - 8
    if length > limits.SAFETENSORS_REFERENCE or length > rest:
        content.add(
            DAMAGED, "safetensors.header_length", "the header is longer than the file, or than any reader takes",
            got=f"{length} bytes", want=f"at most {min(rest, limits.SAFETENSORS_REFERENCE)} bytes",
        )  # fmt: skip
        return
    header = source.read(8, length) if length <= limits.SAFETENSORS_HEADER else b""
    if (not header and length) or header.count(b"[") + header.count(b"{") > limits.SAFETENSORS_BRACKETS:
        content.add(
            COULD_NOT_CHECK, "safetensors.limit", "the header is longer than this tool reads", got=f"{length} bytes",
            want=f"at most {limits.SAFETENSORS_HEADER} bytes",
        )  # fmt: skip
        return
    if header[:1] != b"{":
        content.add(DAMAGED, "safetensors.header", "the header does not begin with a brace")
        return
    try:
        document = strict_json.loads(header, "the header", max_bytes=limits.SAFETENSORS_HEADER)
    except Refusal as refusal:
        for finding in refusal.findings:
            content.add(
                DAMAGED, finding.code, finding.message, where=finding.pointer, got=finding.got, want=finding.want,
                fix=finding.fix,
            )  # fmt: skip
        return
    _metadata(document.pop("__metadata__", {}), content)
    total = rest - length
    before = len(content.findings) + content.left_out
    tensors = [_tensor(name, entry, total, content) for name, entry in document.items()]
    if len(content.findings) + content.left_out == before:
        _ranges([entry for entry in tensors if entry is not None], total, content)
    content.storages["data"] = Storage("data", source.part(8 + length, total), total)
    content.groups.append(("", list(document)))
    content.details["header_bytes"] = str(length)


def _metadata(metadata: Any, content: Content) -> None:
    if not isinstance(metadata, dict):
        content.add(DAMAGED, "safetensors.metadata", "__metadata__ is not an object", got=text.shown(metadata))
        return
    for key, value in metadata.items():
        if not isinstance(value, str):
            content.add(
                DAMAGED,
                "safetensors.metadata",
                "metadata that is not a text",
                where=text.pointer(["__metadata__", key]),
                got=text.shown(value),
                want="a text",
            )
        content.describe(key, value)


def _tensor(name: str, entry: Any, total: int, content: Content) -> tuple[int, int, str] | None:
    """One entry of the header; begin, end and name of a good one."""

    def wrong(message: str, got: str = "", want: str = "") -> None:
        content.add(DAMAGED, "safetensors.tensor", message, where=text.pointer([name]), got=got, want=want)

    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        wrong("an entry with other keys", text.shown(entry), "dtype, shape, data_offsets")
        return None
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if dtype not in DTYPES if isinstance(dtype, str) else True:
        wrong("unknown dtype", text.shown(dtype), text.listed(DTYPES, 30))
        return None
    if not _naturals(shape) or len(shape) > limits.DIMENSIONS:
        wrong("not a shape", text.shown(shape), f"at most {limits.DIMENSIONS} integers from 0 on")
        return None
    if not _naturals(offsets) or len(offsets) != 2:
        wrong("not a range", text.shown(offsets), "two integers from 0 on")
        return None
    bits = ITEM_BITS[dtype]
    for size in shape:
        bits *= size
    if bits >= 1 << 64 and 0 not in shape:
        wrong("a size that no machine can count", shown_shape(shape))
        return None
    begin, end = offsets
    if bits % 8 or (end - begin) * 8 != bits:
        wrong(
            "shape and range disagree", f"{end - begin} bytes", f"{bits / 8:g} bytes for {dtype} {shown_shape(shape)}"
        )
        return None
    if end > total:
        wrong("a range beyond the end of the file", f"{begin} to {end}", f"at most {total}")
        return None
    content.tensors.append(Tensor(name, dtype, tuple(shape), None, "data", begin * 8 // ITEM_BITS[dtype]))
    if (begin * 8) % ITEM_BITS[dtype]:
        content.warn("safetensors.alignment", f"{text.shown(name)} does not begin at a multiple of its elements' size")
    return begin, end, name


def _naturals(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _ranges(ranges: list[tuple[int, int, str]], total: int, content: Content) -> None:
    """The tensors must fill the data without hole or overlap."""
    expected = 0
    for begin, end, name in sorted(ranges):
        if begin != expected:
            what = "overlap" if begin < expected else "leave a hole"
            content.add(
                DAMAGED, "safetensors.ranges", f"the tensors {what}", where=text.pointer([name]),
                got=f"begins at {begin}", want=f"at {expected}",
            )  # fmt: skip
            return
        expected = end
    if expected != total:
        content.add(
            DAMAGED, "safetensors.ranges", "bytes after the last tensor", got=f"{total} bytes of data",
            want=f"{expected} bytes",
        )  # fmt: skip

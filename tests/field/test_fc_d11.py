"""FC-D11 · safetensors header bombs and overlaps.

The length is compared with the file before anything is read; ranges must fill the data exactly.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import pytest
import safetensors as reference

from .checkpoint_files import entry, safetensors
from .conftest import Tool

REFUSED = {
    "length 2^63": struct.pack("<Q", 1 << 63) + b"{}",
    "length 2^64-1": b"\xff" * 8 + b"{}",
    "length 100,000,001": struct.pack("<Q", 100_000_001) + b"{}",
    "length one beyond the file": struct.pack("<Q", 3) + b"{}",
    "length zero": bytes(8) + b"{}",
    "overlap": safetensors({"a": entry("F32", [2], 0, 8), "b": entry("F32", [2], 4, 12)}, bytes(12)),
    "same bytes twice": safetensors({"a": entry("F32", [1], 0, 4), "b": entry("F32", [1], 0, 4)}, bytes(4)),
    "hole in front": safetensors({"a": entry("F32", [1], 4, 8)}, bytes(8)),
    "hole in the middle": safetensors({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 2, 3)}, bytes(3)),
    "trailing bytes": safetensors({"a": entry("F32", [1], 0, 4)}, bytes(5)),
    "trailing bytes without tensors": safetensors({}, b"x"),
    "beyond the end": safetensors({"a": entry("F32", [2], 0, 8)}, bytes(4)),
    "shape of 2^80": safetensors({"a": entry("F32", [1 << 40, 1 << 40], 0, 0)}),
    "shape that wraps to 4 bytes": safetensors({"a": entry("F32", [(1 << 62) + 1], 0, 4)}, bytes(4)),
    "start -4": safetensors({"a": entry("F32", [1], -4, 0)}),
    "end before start": safetensors({"a": entry("F32", [1], 4, 0)}, bytes(4)),
    "shape and range disagree": safetensors({"a": entry("F32", [2], 0, 4)}, bytes(4)),
    "half a byte": safetensors({"a": entry("F4", [1], 0, 1)}, bytes(1)),
    "unknown dtype": safetensors({"a": entry("F128", [1], 0, 16)}, bytes(16)),
    "empty file": b"",
    "seven bytes": bytes(7),
    "no header": struct.pack("<Q", 0),
    "array": safetensors(b"[]"),
    "number": safetensors(b"1"),
    "not UTF-8": safetensors(b'{"\xff":1}'),
    "deep": safetensors(b'{"a":' * 50_000),
    "key twice": safetensors(b'{"a":%s,"a":%s}' % ((b'{"dtype":"U8","shape":[1],"data_offsets":[0,1]}',) * 2), b"a"),
}
LEGAL = {
    "F32 [0] at 0..0": safetensors({"a": entry("F32", [0], 0, 0)}),
    "no tensor": safetensors({}),
    "scalar": safetensors({"a": entry("F64", [], 0, 8)}, bytes(8)),
    "zero among sizes": safetensors({"a": entry("F32", [3, 0, 2], 0, 0), "b": entry("U8", [1], 0, 1)}, bytes(1)),
    "out of order": safetensors({"b": entry("U8", [1], 1, 2), "a": entry("U8", [1], 0, 1)}, bytes(2)),
    "spaces after the header": safetensors(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}     ', bytes(1)),
}


@pytest.mark.parametrize("what", sorted(REFUSED))
def test_bombs_overlaps_and_holes_are_refused(what: str, tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(REFUSED[what])
    answer = tool("inspect_checkpoint", "x.safetensors")
    assert (answer.exit_status, answer.report["checkpoint"]["verdict"]) == (1, "damaged"), answer.codes


@pytest.mark.parametrize("what", sorted(LEGAL))
def test_legal_corner_cases_pass(what: str, tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(LEGAL[what])
    answer = tool("inspect_checkpoint", "x.safetensors")
    assert (answer.exit_status, answer.codes) == (0, [])
    reference.deserialize(LEGAL[what])


@pytest.mark.parametrize("what", sorted(REFUSED.keys() - {"key twice"}))
def test_the_reference_library_rejects_the_same_but_for_a_key_twice(what: str) -> None:
    with pytest.raises((reference.SafetensorError, OverflowError, ValueError)):
        reference.deserialize(REFUSED[what])


@pytest.mark.parametrize("length", [99_999_999, 100_000_001, 1 << 40])
def test_a_length_in_a_huge_file_costs_neither_time_nor_memory(length: int, tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", length) + b"{")
    os.truncate(path, 110_000_000)
    start = time.perf_counter()
    answer = tool("inspect_checkpoint", path)
    assert answer.exit_status in (1, 2)
    assert time.perf_counter() - start < 20

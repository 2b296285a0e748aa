"""FC-D05 · Extension and magic bytes disagree.

A file is what its bytes say. Every reading is tried; the name must agree, and a file of two kinds is refused.
"""

from __future__ import annotations

import io
import pickle
import tarfile
from pathlib import Path

import pytest

from .checkpoint_files import CALL, entry, mapping, pickled, safetensors, tensor, torch_file, zipped
from .conftest import Tool

PROTOCOL_0 = CALL + b"."
TORCH = torch_file(mapping({"w": tensor((2, 3), (3, 1))}))
TENSORS = safetensors({"w": entry("U8", [4], 0, 4)}, b"abcd")
EVIL_ZIP = zipped({"m/data.pkl": pickled(CALL)})


def tar_of(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("a")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def polyglot() -> bytes:
    """A safetensors file whose length field is also the start of a pickle that goes on in the tensor's bytes."""
    body = CALL + b"."
    header = b'{"t":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}' % (len(body), len(body))
    return safetensors(header + b" " * (0x3049 - len(header) - 2) + b"\n}", body)


MISMATCHES = {
    "pickle of protocol 0 as .bin": ("x.bin", PROTOCOL_0),
    "pickle of protocol 0 as .safetensors": ("x.safetensors", PROTOCOL_0),
    "harmless pickle as .safetensors": ("x.safetensors", pickle.dumps({"a": 1}, 0)),
    "image as .pt": ("x.pt", b"\x89PNG\r\n\x1a\n" + bytes(60)),
    "zip as .pkl": ("x.pkl", TORCH),
    "torch as .safetensors": ("x.safetensors", TORCH),
    "safetensors as .pt": ("x.pt", TENSORS),
    "safetensors as .bin": ("x.bin", TENSORS),
    "numpy as .pt": ("x.pt", b"\x93NUMPY\x01\x00" + bytes(20)),
    "web page as .safetensors": ("x.safetensors", b"<!DOCTYPE html><html>404</html>"),
    "LFS pointer as .pt": ("x.pt", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
    "script as .ckpt": ("x.ckpt", b"#!/bin/true\n"),
    "program as .bin": ("x.bin", b"\x7fELF" + bytes(60)),
    "gzip as .pth": ("x.pth", b"\x1f\x8b\x08\0" + bytes(60)),
    "upper-case name": ("X.SAFETENSORS", PROTOCOL_0),
}
TWO_KINDS = {
    "clean pickle, then zip": ("x.pkl", pickle.dumps({"a": 1}) + EVIL_ZIP),
    "the same as .pt": ("x.pt", pickle.dumps({"a": 1}) + EVIL_ZIP),
    "tensors, then zip": (
        "x.safetensors",
        safetensors({"w": entry("U8", [len(EVIL_ZIP)], 0, len(EVIL_ZIP))}, EVIL_ZIP),
    ),
    "length field that is a pickle": ("x.safetensors", polyglot()),
    "tar, then zip": ("x.tar", tar_of(b"a") + EVIL_ZIP),
    "zip after an image": ("x.png", b"\x89PNG\r\n\x1a\n" + bytes(60) + EVIL_ZIP),
    "numpy, then zip": ("x.npy", b"\x93NUMPY\x01\x00" + bytes(60) + EVIL_ZIP),
    "zip, then zip": ("x.pt", TORCH + EVIL_ZIP),
    "zip, then bytes": ("x.pt", TORCH + b"\0"),
    "bytes, then zip": ("x.pt", b"\0" + TORCH),
    "clean pickle, then pickle": ("x.pkl", pickle.dumps({"a": 1}) + pickled(CALL)),
    "clean pickle, then a byte": ("x.pkl", pickle.dumps({"a": 1}) + b"\n"),
}


@pytest.mark.parametrize("what", sorted(MISMATCHES))
def test_a_name_that_says_something_else_is_refused(what: str, tool: Tool, tmp_path: Path) -> None:
    name, data = MISMATCHES[what]
    (tmp_path / name).write_bytes(data)
    answer = tool("inspect_checkpoint", name)
    assert answer.exit_status == 1
    assert {"kind.mismatch", "safetensors.header_length"} & set(answer.codes), answer.codes


@pytest.mark.parametrize("what", sorted(TWO_KINDS))
def test_a_file_of_two_kinds_is_refused_as_ambiguous_or_worse(what: str, tool: Tool, tmp_path: Path) -> None:
    name, data = TWO_KINDS[what]
    (tmp_path / name).write_bytes(data)
    answer = tool("inspect_checkpoint", name)
    assert (answer.exit_status, answer.report["checkpoint"]["verdict"] in ("ambiguous", "unsafe")) == (1, True)
    assert {"kind.ambiguous", "pickle.trailing", "zip.trailing", "zip.leading", "zip.end_records"} & set(answer.codes)


def test_the_call_hidden_behind_a_safetensors_length_is_named(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(polyglot())
    assert "os.getcwd" in tool("inspect_checkpoint", "x.safetensors").finding("pickle.unsafe_call")["message"]


def test_an_lfs_pointer_is_explained(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(MISMATCHES["LFS pointer as .pt"][1])
    assert "git lfs pull" in tool("inspect_checkpoint", "x.pt").finding("kind.mismatch")["fix"]


@pytest.mark.parametrize(("name", "data"), [("x.pt", TORCH), ("x.bin", TORCH), ("x.safetensors", TENSORS)])
def test_names_that_agree_pass(name: str, data: bytes, tool: Tool, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    assert tool("inspect_checkpoint", name).exit_status == 0


def test_what_the_caller_expects_counts_more_than_the_name(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(TENSORS)
    assert tool("inspect_checkpoint", "weights").exit_status == 0
    assert tool("inspect_checkpoint", "weights", "--expect", "safetensors").exit_status == 0
    assert tool("inspect_checkpoint", "weights", "--expect", "torch").codes == ["kind.mismatch"]


def test_raw_numbers_cannot_be_checked(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\x00\x00\x80\x3f" * 100)
    answer = tool("inspect_checkpoint", "x.bin")
    assert (answer.exit_status, answer.report["checkpoint"]["kind"]) == (2, "headerless")
    assert "digest" in answer.finding("kind.unknown")["fix"]

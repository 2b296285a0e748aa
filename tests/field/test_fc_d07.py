"""FC-D07 · Hash that reads only part of the file.

Every byte counts, the name does not, and memory does not grow with the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT, Tool

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
SIZE = 2_000_000


def digest(tool: Tool, *files: str) -> list[str]:
    return [entry["sha256"] for entry in tool("manifest", "digest", *files).report["digests"]]


@pytest.mark.parametrize("offset", [0, 10, 65_535, 65_536, 0x100000, 0x10FFFF, 0x110000, SIZE - 2, SIZE - 1])
def test_files_that_differ_in_one_byte_anywhere_have_different_digests(tool, tmp_path, offset) -> None:
    zeros = bytearray(SIZE)
    (tmp_path / "a").write_bytes(zeros)
    zeros[offset] = 1
    (tmp_path / "b").write_bytes(zeros)
    first, second = digest(tool, "a", "b")
    assert first != second and second == hashlib.sha256(zeros).hexdigest()


def test_a_copy_under_another_name_has_the_same_digest(tool, tmp_path) -> None:
    content = os.urandom(SIZE)
    for name in ("model.ckpt", "renamed.safetensors", "é 名.bin"):
        (tmp_path / name).write_bytes(content)
    found = digest(tool, "model.ckpt", "renamed.safetensors", "é 名.bin")
    assert found == [hashlib.sha256(content).hexdigest()] * 3


def test_the_digest_of_an_empty_file_is_that_of_nothing(tool, tmp_path) -> None:
    (tmp_path / "empty").touch()
    assert digest(tool, "empty") == [EMPTY]


@pytest.mark.parametrize("size", [1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (4 << 20) + 7])
def test_every_size_around_a_block_is_read_to_its_end(tool, tmp_path, size) -> None:
    content = os.urandom(size)
    (tmp_path / "f").write_bytes(content)
    assert digest(tool, "f") == [hashlib.sha256(content).hexdigest()]


def test_all_64_digits_are_compared(tool, tmp_path) -> None:
    (tmp_path / "f").write_bytes(b"weights")
    right = hashlib.sha256(b"weights").hexdigest()
    assert tool("manifest", "digest", "f", "--expect", right).exit_status == 0
    for index in (0, 31, 32, 62, 63):
        wrong = right[:index] + ("0" if right[index] != "0" else "1") + right[index + 1 :]
        answer = tool("manifest", "digest", "f", "--expect", wrong)
        assert answer.exit_status == 1 and answer.codes == ["manifest.digest"]
    for form in (right.upper(), right[:8], right + "0", "0x" + right[2:], "", right[:-1] + "\n", "sha256:" + right):
        answer = tool("manifest", "digest", "f", f"--expect={form}")
        assert answer.exit_status == 2 and answer.codes == ["manifest.digest_form"]


def test_a_wrong_digest_is_exit_1_and_the_first_line(tool, tmp_path, run) -> None:
    (tmp_path / "w").mkdir()
    for name in "abcdef":
        (tmp_path / "w" / name).write_text(name)
    assert tool("manifest", "create", "w", "--out", "m.json").exit_status == 0
    (tmp_path / "w" / "d").write_text("D")  # the same size
    (tmp_path / "w" / "a").unlink()
    (tmp_path / "w" / "b").write_text("longer")
    (tmp_path / "w" / "new").touch()
    answer = tool("manifest", "verify", "m.json")
    assert answer.exit_status == 1
    assert answer.codes == ["manifest.digest", "manifest.size", "manifest.missing", "manifest.unlisted"]
    assert answer.report["findings"][0]["pointer"] == "d"
    result = run([sys.executable, ROOT / "scripts/manifest.py", "verify", tmp_path / "m.json"])
    assert result.returncode == 1
    assert "WRONG DIGEST" in (result.stdout + result.stderr).splitlines()[0]


def test_a_file_larger_than_the_memory_cap_is_read_whole(tmp_path, clean_environment) -> None:
    big = tmp_path / "big"
    with big.open("wb") as stream:
        stream.truncate(300 << 20)
        stream.seek(-1, os.SEEK_END)
        stream.write(b"x")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (96 << 20, 96 << 20))

    command = [sys.executable, ROOT / "scripts/manifest.py", "digest", big, "--json"]
    done = subprocess.run(
        command, env=clean_environment, capture_output=True, timeout=60, check=False, preexec_fn=limited
    )
    assert done.returncode == 0, done.stderr
    reference = hashlib.sha256()
    for _ in range(299):
        reference.update(bytes(1 << 20))
    reference.update(bytes((1 << 20) - 1) + b"x")
    assert json.loads(done.stdout)["digests"][0] == {
        "path": str(big), "bytes": 300 << 20, "sha256": reference.hexdigest(),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "nothing", "device", "link to nothing"])
def test_what_is_not_a_plain_file_has_no_digest(tool, tmp_path, kind) -> None:
    path: Path = tmp_path / "x"
    (tmp_path / "real").write_text("x")
    if kind == "link":
        path.symlink_to("real")
    elif kind == "link to nothing":
        path.symlink_to("nowhere")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    answer = tool("manifest", "digest", "/dev/zero" if kind == "device" else "x", timeout=10)
    assert answer.exit_status == (2 if kind == "nothing" else 1)
    assert answer.codes == ["file.unreadable" if kind == "nothing" else "file.kind"]
    assert "digests" not in answer.report

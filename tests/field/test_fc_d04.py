"""FC-D04 · Scanner error or broken tail read as "clean".

Whatever breaks the reading, the answer is "unsafe" or "could not", never a pass, and what was found before stays found.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .checkpoint_files import CALL, mapping, tensor, torch_file, zipped
from .conftest import Tool

GOOD = torch_file(mapping({"w": tensor((2, 3), (3, 1))}))
CENTRAL = GOOD.index(b"PK\x01\x02")


def changed(offset: int, value: bytes) -> bytes:
    return GOOD[:offset] + value + GOOD[offset + len(value) :]


LOCAL_NAME = GOOD.index(b"m/data.pkl")
CENTRAL_NAME = GOOD.index(b"m/data.pkl", CENTRAL)
BROKEN = {
    "payload, then invalid bytes": b"cos\ngetcwd\n(tR0\x80\x04\xff\xff",
    "encrypted bit in the central entry": changed(CENTRAL + 8, b"\x01"),
    "encrypted bit in both": changed(CENTRAL + 8, b"\x01")[:6] + b"\x01" + changed(CENTRAL + 8, b"\x01")[7:],
    "wrong checksum": changed(CENTRAL + 16, b"\0\0\0\0"),
    "wrong checksum in both": changed(14, b"\1\1\1\1")[: CENTRAL + 16] + b"\1\1\1\1" + GOOD[CENTRAL + 20 :],
    "local and central names differ": changed(LOCAL_NAME, b"m/data.pkx"),
    "central name differs": changed(CENTRAL_NAME, b"m/data.pkx"),
    "cut by 10 bytes": GOOD[:-10],
    "cut by one byte": GOOD[:-1],
    "cut in the middle": GOOD[: len(GOOD) // 2],
    "only its first bytes": GOOD[:8],
    "unknown method": changed(CENTRAL + 10, b"\x63"),
    "sizes differ": changed(CENTRAL + 24, b"\xff"),
    "7z around it": b"7z\xbc\xaf\x27\x1c" + GOOD,
    "gzip around it": b"\x1f\x8b\x08\0" + GOOD,
    "pickle inside cut": torch_file(mapping({"w": tensor((2, 3), (3, 1))})[:-4]),
    "pickle inside with a payload and cut": zipped({"m/data.pkl": b"\x80\x02" + CALL + b"\xff"}),
    "empty": b"",
    "one byte": b"\x80",
    "zeros": bytes(1000),
}


@pytest.mark.parametrize("what", sorted(BROKEN))
@pytest.mark.parametrize("name", ["x.pt", "x.unknown"])
def test_nothing_broken_is_ever_a_pass(what: str, name: str, tool: Tool, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(BROKEN[what])
    answer = tool("inspect_checkpoint", name)
    assert answer.exit_status in (1, 2)
    assert answer.report["status"] != "ok"
    assert answer.report["checkpoint"]["verdict"] not in ("safe", "not_weights_only")
    assert [finding for finding in answer.report["findings"] if finding["severity"] == "error"]
    assert "safe to load" not in answer.report["summary"]
    assert "clean" not in answer.text.lower()


@pytest.mark.parametrize("what", ["payload, then invalid bytes", "pickle inside with a payload and cut"])
def test_the_payload_before_the_broken_tail_is_named(what: str, tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(BROKEN[what])
    answer = tool("inspect_checkpoint", "x.pt")
    assert answer.exit_status == 1
    assert "os.getcwd" in answer.finding("pickle.unsafe_call")["message"]
    assert answer.finding("pickle.damaged")


def test_the_whole_file_passes(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(GOOD)
    assert tool("inspect_checkpoint", "x.pt").exit_status == 0


def test_a_file_that_cannot_be_opened_could_not_be_checked(tool: Tool) -> None:
    assert tool("inspect_checkpoint", "nowhere.pt").exit_status == 2


def test_a_failed_check_of_an_archive_says_so(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.tgz").write_bytes(b"\x1f\x8b\x08\0" + bytes(30))
    answer = tool("inspect_checkpoint", "x.tgz")
    assert answer.exit_status == 2
    assert "not a pass" in answer.report["summary"]

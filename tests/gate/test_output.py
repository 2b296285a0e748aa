"""What a child prints is data: marked, harmless, without secrets, bounded, and kept."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _skill.process import child_output

from ..scripts.gate_bundle import Bundle, modes

SECRET = "dummy-secret-123"


def launch(bundle: Bundle, mode: str) -> subprocess.CompletedProcess[str]:
    words = [f"--set=environment.settings.mode={modes()[mode]}"]
    return bundle.run("launch", "quickstart", "--env", "fake", "--run", "r", "--opt-in", *words)


def test_every_line_of_the_child_is_marked_and_nothing_in_it_moves_a_terminal(bundle: Bundle) -> None:
    result = launch(bundle, "prints")
    assert result.returncode == 0, result.stderr
    both = result.stdout + result.stderr
    assert not [c for c in both if not c.isprintable() and c != "\n"]
    assert "| \\x1b[31mred\\x1b]0;title\\x07\\x1b[1A over\n| written \\u200b\\u202e\n" in result.stdout
    # A line that looks like the gate's own verdict is marked as the child's.
    assert "\n| complete: runs/r, mean return 500 over 128 episodes\n| \\xff\n" in result.stdout
    assert result.stderr.endswith("| a last line without an end\n")
    kept = (bundle.work / "runs/r/output.log").read_text()
    # The file keeps what stays on a screen: the last text of a line that is written over.
    assert "written \\u200b\\u202e\n" in kept and "red" not in kept and max(map(len, kept.splitlines())) <= 4096


def test_with_json_the_child_s_output_stays_off_standard_output(bundle: Bundle) -> None:
    report = bundle.launch(mode="prints")
    assert report["result"] == "complete"


def test_output_without_end_is_cut_and_counted_and_stops_nothing(bundle: Bundle) -> None:
    started = time.monotonic()
    result = launch(bundle, "flood")
    assert result.returncode == 0
    assert time.monotonic() - started < 30
    assert len(result.stdout) + len(result.stderr) < 3 << 20
    assert "bytes were left out here\n" in result.stdout and "bytes were left out here\n" in result.stderr
    log = bundle.work / "runs/r/output.log"
    assert log.stat().st_size <= (4 << 20) + 100
    record = json.loads((bundle.work / "runs/r/audit.jsonl").read_text().splitlines()[-1])["data"]
    assert record["output_bytes_left_out"] > 10 << 20
    assert f"... {record['output_bytes_left_out']} more bytes were left out" in log.read_text()[-100:]


def test_a_reader_that_stalls_stops_neither_the_run_nor_its_limits(bundle: Bundle) -> None:
    # Nobody reads the pipe, and it is much smaller than what is printed.
    read, write = os.pipe()
    words = [f"--set=environment.settings.mode={modes()['flood']}"]
    command = bundle.command("launch", "quickstart", "--env", "fake", "--run", "r", "--opt-in", *words)
    process = subprocess.Popen(command, cwd=bundle.work, env=bundle.variables, stdout=subprocess.DEVNULL, stderr=write)
    os.close(write)
    deadline = time.monotonic() + 40
    log = bundle.work / "runs/r/audit.jsonl"
    while not (log.exists() and len(log.read_text().splitlines()) == 4):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.close(read)
    assert process.wait(20) == 0


def collected(parts: list[bytes], hide=str) -> str:
    """What passes a stream to which `parts` were written."""
    read, write = os.pipe()
    back, onward = os.pipe()

    class Kept(child_output.OutputLog):
        def __init__(self) -> None:
            self.lines: list[str] = []

        def write(self, line: str) -> None:
            self.lines.append(line)

    log = Kept()
    stream = child_output.OutputStream(read, onward, log, hide)
    for part in parts:
        os.write(write, part)
        stream.read()
    os.close(write)
    stream.read()
    stream.finish()
    os.close(onward)
    os.close(back)
    return "\n".join(log.lines)


@given(st.lists(st.binary(max_size=40), max_size=12))
def test_whatever_bytes_arrive_in_whatever_pieces_the_result_is_printable_and_the_same(parts: list[bytes]) -> None:
    found = collected(parts)
    assert not [c for c in found if not c.isprintable() and c != "\n"]
    whole = b"".join(parts)
    if b"\r" not in whole:
        assert found == collected([whole])


@given(st.integers(0, len(SECRET)), st.text(alphabet="ab \n", max_size=20), st.text(alphabet="ab \n", max_size=20))
def test_a_secret_is_hidden_wherever_it_is_cut(at: int, before: str, after: str) -> None:
    words = (before + SECRET + after).encode()
    place = len(before) + at
    found = collected([words[:place], words[place:]], lambda words: words.replace(SECRET, "[KEY]"))
    assert SECRET not in found and "[KEY]" in found


@pytest.mark.parametrize("filler", [0, 4090, 20000, 20479, 20480, 65530])
def test_a_secret_in_a_line_without_end_is_hidden(filler: int) -> None:
    words = b"x" * filler + SECRET.encode() + b"y" * 30000
    parts = [words[at : at + 10000] for at in range(0, len(words), 10000)]
    found = collected(parts, lambda words: words.replace(SECRET, "[KEY]"))
    assert SECRET not in found.replace("\n", "") and "[KEY]" in found.replace("\n", "")


def test_a_full_disk_does_not_end_the_watch(tmp_path: Path) -> None:
    log = child_output.OutputLog("/dev/full", 1 << 20)
    log.write("words")
    assert log.left_out > 0
    log.close()

"""The programs that measure hashing and reliability: what they count, and that they find what is wrong."""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from pathlib import Path

import pytest

import hashing
import reliability
from _bench import readers

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def one_reader(monkeypatch: pytest.MonkeyPatch):
    """Puts one reader in the place of all."""

    def put(read, refuses=()) -> None:
        reader = readers.Reader("trial", lambda: [b"seed " * 20], read, refuses)
        monkeypatch.setattr(readers, "READERS", (reader,))

    before = signal.getsignal(signal.SIGALRM)
    yield put
    signal.signal(signal.SIGALRM, before)


def test_a_crash_is_counted_named_and_its_input_kept(one_reader, tmp_path) -> None:
    def breaks(data: bytes, _: Path) -> None:
        if b"seed seed" not in data[:9]:
            raise ZeroDivisionError("seen")

    one_reader(breaks)
    found = reliability.try_chunk("trial", 1, 0, 300, str(tmp_path))
    assert found["inputs"] == 300 and found["failures"]
    assert "ZeroDivisionError: seen" in found["failures"][0]["problem"]
    kept = Path(found["failures"][0]["kept"]).read_bytes()
    with pytest.raises(ZeroDivisionError):
        breaks(kept, tmp_path)
    row = reliability.merged("trial", [found])
    assert (
        not row["clean"]
        and row["failed"] == len(found["failures"])
        and "ZeroDivision" in reliability.text_of([row], {}, _machine())
    )


def test_a_slow_input_and_a_hang_are_failures(one_reader, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(reliability, "HANGS_AFTER", 0.1)
    calls = []

    def hangs(data: bytes, _: Path) -> None:
        calls.append(data)
        while len(calls) == 3:
            time.sleep(0.01)

    one_reader(hangs)
    found = reliability.try_chunk("trial", 1, 0, 5, str(tmp_path))
    assert found["inputs"] == 5 and [f["input"] for f in found["failures"]] == [1]
    assert "no answer" in found["failures"][0]["problem"]


def test_a_refusal_is_an_answer_and_so_is_what_a_reader_declares(one_reader, tmp_path) -> None:
    from _skill.findings import Finding, Refusal

    def refuses(data: bytes, _: Path) -> None:
        if data != b"seed " * 20:
            raise Refusal(Finding("a.b", "no")) if len(data) % 2 else KeyError("declared")

    one_reader(refuses, ("KeyError",))
    found = reliability.try_chunk("trial", 1, 0, 100, str(tmp_path))
    assert found["failures"] == [] and 0 < found["refused"] < 100


def test_the_same_seed_makes_the_same_inputs() -> None:
    for reader in readers.READERS[:1] + tuple(reader for reader in readers.READERS if reader.generated):
        made = [reader.make(random.Random(7), [b"abc" * 50, b"xyz"]) for _ in range(2)]
        assert made[0] == made[1]


def test_every_reader_takes_its_own_seeds_and_a_few_changes(run, tmp_path) -> None:
    command = [
        sys.executable,
        BENCHMARKS / "reliability.py",
        "--inputs",
        "40",
        "--keep",
        tmp_path / "kept",
        "--json",
        "-",
    ]
    done = run(command, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert report["not_tried"] == {} and len(report["readers"]) == len(readers.READERS) >= 15
    assert all(row["inputs"] == 40 and row["clean"] and row["peak_bytes"] > 1e6 for row in report["readers"])
    assert not (tmp_path / "kept").exists()


def test_hashing_is_measured_beside_a_bare_loop_of_the_same_file(run, tmp_path) -> None:
    report = tmp_path / "report.json"
    sizes = "--bytes 3000000 --sparse-bytes 200000000 --small-files 200 --large-files 4 --repetitions 1 --wait 0"
    done = run([sys.executable, BENCHMARKS / "hashing.py", *sizes.split(), "--json", report], timeout=120)
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(report.read_text(encoding="utf-8"))
    assert document["results"]["sparse"]["peak_resident_bytes"] < 64e6
    assert document["results"]["one_file"]["share"]["median"] > 0  # how much says a quiet machine
    assert {goal["what"] for goal in document["goals"]} >= {"peak memory on the sparse file"}


def test_the_bare_loop_reads_the_whole_file(tmp_path) -> None:
    import hashlib

    data = bytes(range(256)) * 9000
    (tmp_path / "f").write_bytes(data)
    assert hashing.bare_loop(tmp_path / "f") == hashlib.sha256(data).hexdigest()


def _machine() -> dict:
    from _bench import host

    return host.describe()

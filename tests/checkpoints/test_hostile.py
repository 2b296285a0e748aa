"""No hostile checkpoint passes: every one of the corpus is exit 1 or 2, in time, and without running anything."""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .corpus import hostile_files, hostile_globals, hostile_headers, hostile_streams, hostile_zips
from .corpus.cases import Case
from .judging import judge

ROOT = Path(__file__).resolve().parents[2]
MODULES = (hostile_globals, hostile_streams, hostile_zips, hostile_headers, hostile_files)
CASES = [case for module in MODULES for case in module.cases()]
GROUPS = sorted({case.kind for case in CASES})


def wrong(case: Case, folder: Path) -> str:
    """What is wrong about the judgement of one case; empty where it is right."""
    folder.mkdir()
    start = time.process_time()
    found = judge(case.make(folder))
    took = time.process_time() - start
    if found.status not in case.statuses or (case.verdicts and found.verdict not in case.verdicts):
        return f"{case.name}: {found}"
    if not found.codes:
        return f"{case.name}: refused without a reason"
    return f"{case.name}: took {took:.2f} s" if took > 1 else ""


def test_the_corpus_is_large_and_names_each_file_once() -> None:
    assert len(CASES) >= 200
    assert [name for name, count in collections.Counter(case.name for case in CASES).items() if count > 1] == []
    contents = collections.Counter(case.content for case in CASES if isinstance(case.content, bytes))
    assert sum(contents.values()) - len(contents) < 60  # the same bytes under another name, a few times


@pytest.mark.parametrize("kind", GROUPS)
def test_every_hostile_file_is_refused_with_a_reason_and_in_time(kind: str, tmp_path: Path) -> None:
    cases = [case for case in CASES if case.kind == kind]
    assert [found for index, case in enumerate(cases) if (found := wrong(case, tmp_path / str(index)))] == []


def test_the_tool_itself_gives_the_same_answers_bounded_and_without_a_trace(tmp_path: Path, clean_environment) -> None:
    # A few of each kind as a user runs it: a process of its own.
    chosen = [case for kind in GROUPS for case in [c for c in CASES if c.kind == kind][:2]]
    for index, case in enumerate(chosen):
        folder = tmp_path / str(index)
        folder.mkdir()
        command = [sys.executable, ROOT / "scripts/inspect_checkpoint.py", case.make(folder), "--json"]
        done = subprocess.run(command, env=clean_environment, capture_output=True, timeout=30, check=False)
        assert done.returncode in case.statuses, case.name
        assert b"Traceback" not in done.stderr and len(done.stdout) < 200_000
        report = json.loads(done.stdout)
        assert report["exit_status"] == done.returncode and report["findings"]
        assert all(character.isprintable() or character == "\n" for character in done.stdout.decode())


def test_memory_stays_bounded_over_the_whole_corpus(tmp_path: Path) -> None:
    program = (
        "import resource, sys, tempfile\n"
        "from pathlib import Path\n"
        f"sys.path[:0] = [{str(ROOT / 'scripts')!r}, {str(ROOT)!r}]\n"
        "from tests.checkpoints.corpus import hostile_streams, hostile_zips, hostile_headers\n"
        "from tests.checkpoints.judging import judge\n"
        "cases = [c for m in (hostile_streams, hostile_zips, hostile_headers) for c in m.cases() if 'bomb' in c.kind]\n"
        "made = [(c.make(Path(tempfile.mkdtemp(dir=sys.argv[1])))) for c in cases]\n"
        "del cases\n"
        "import os\n"
        "most = 0\n"
        "for path in made:\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        judge(path)\n"
        "        with open('/proc/self/status') as status:\n"
        "            peak = [line for line in status if line.startswith('VmHWM')]\n"
        "        os._exit(0)\n"
        "    usage = os.wait4(child, 0)[2]\n"
        "    most = max(most, usage.ru_maxrss)\n"
        "print(most)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    del program
    assert int(done.stdout) * (1 if sys.platform == "darwin" else 1024) < 256 << 20


def test_nothing_of_the_corpus_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Unpickling is replaced by a trap, and so is what most of the files name.
    import pickle

    def trap(*_: object, **__: object) -> None:
        raise AssertionError("something was loaded")

    for name in ("loads", "load", "Unpickler", "_loads", "_load"):
        monkeypatch.setattr(pickle, name, trap)
    monkeypatch.setattr(os, "getcwd", trap)
    for index, case in enumerate(CASES[::7]):
        (tmp_path / str(index)).mkdir()
        judge(case.make(tmp_path / str(index)))

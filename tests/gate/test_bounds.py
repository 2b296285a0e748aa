"""What the child of a launch can reach, and how the gate ends one that will not end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from _skill.process import file_isolation, network_isolation, process_tree

from ..scripts.gate_bundle import Bundle, modes

BOUNDED = pytest.mark.skipif(
    network_isolation.unavailable() is not None or file_isolation.unavailable() is not None,
    reason="this kernel bounds no child",
)


def worked(bundle: Bundle, *choices: str) -> set[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        # A setting between 0.1 and 100 carries the port, which is below 100 000.
        report = bundle.launch(f"environment.settings.gravity={port / 1000}", *choices, mode="escapes")
        assert report["result"] == "complete", report["findings"]
    return set(json.loads((bundle.work / "runs/r/worked.json").read_text()))


@BOUNDED
def test_a_child_writes_to_its_run_its_cache_and_its_temporary_folder_and_reaches_nothing_else(bundle: Bundle) -> None:
    found = worked(bundle)
    if tuple(int(part) for part in os.uname().release.split(".")[:2]) < (6, 12):
        found.discard("signals to the gate")
    assert found == {"run", "temporary", "cache"}
    assert not (bundle.root / "home/marker").exists()


def test_an_unbounded_child_could_do_all_that(bundle: Bundle) -> None:
    # What the test above would see if nothing were bounded: the places are real ones.
    for module in ("file_isolation", "network_isolation"):
        source = bundle.root / f"scripts/_skill/process/{module}.py"
        source.write_text(source.read_text().replace('startswith("linux")', 'startswith("nothing")'))
    (bundle.root / "home/.cache").mkdir(exist_ok=True)
    found = worked(bundle)
    for path in Path("/dev/shm").glob("marker-*"):
        path.unlink()
    assert found >= {"home", "above the run", "gate", "engine copy", "network", "other cache", "run"}


def test_a_bound_that_the_kernel_refuses_at_the_last_moment_starts_nothing(bundle: Bundle) -> None:
    source = bundle.root / "scripts/_skill/process/isolation.py"
    refuses = "        raise OSError(1, 'no')\n        if self.no_network:"
    source.write_text(source.read_text().replace("        if self.no_network:", refuses))
    report = bundle.launch(mode="good")
    assert (report["exit_status"], report["findings"][0]["code"]) == (2, "child.start")
    last = json.loads((bundle.work / "runs/r/audit.jsonl").read_text().splitlines()[-1])
    assert last["data"]["result"] == "not_started" and not (bundle.work / "runs/r/manifest.json").exists()


def test_a_plan_that_names_the_network_gets_it_and_the_statement_says_so(bundle: Bundle) -> None:
    bundle.plan('network=["api.example.org"]')
    shown = bundle.run("approve", "plan.json", "--by", "Ada").stdout
    assert "network     open: the plan names api.example.org; any host can be reached" in shown


def test_an_environment_from_outside_has_a_cache_of_its_own(bundle: Bundle, tmp_path: Path) -> None:
    folders = []
    for name in ("one", "two"):
        folder = tmp_path / name / "fake"
        folder.mkdir(parents=True)
        (folder / "fake.h").write_bytes((bundle.root / "native_profile/pufferlib/ocean/fake/fake.h").read_bytes())
        report = bundle.json("launch", "quickstart", "--env", "fake", "--env-path", str(folder))
        folders.append(report["bounds"]["files"])
        words = bundle.run("launch", "quickstart", "--env", "fake", "--env-path", str(folder)).stdout
        folders.append(next(line for line in words.splitlines() if line.startswith("files ")).rsplit("/", 2)[1])
    assert folders[1] != folders[3]
    own = bundle.run("launch", "quickstart", "--env", "fake").stdout
    assert "pufferlib-native-outside" in words and "pufferlib-native-outside" not in own


@pytest.mark.parametrize(("mode", "limit"), [("stops", "wall_seconds"), ("multiplies", "processes")])
def test_a_child_that_stops_itself_or_multiplies_is_ended(bundle: Bundle, mode: str, limit: str) -> None:
    source = bundle.root / "scripts/_skill/process/child.py"
    source.write_text(source.read_text().replace("GRACE_SECONDS = 10.0", "GRACE_SECONDS = 1.0"))
    report = bundle.launch("limits.wall_seconds=2" if mode == "stops" else "limits.wall_seconds=60", mode=mode)
    assert report["exit_status"] == 1 and report["seconds"] < 15
    record = json.loads((bundle.work / "runs/r/audit.jsonl").read_text().splitlines()[-1])["data"]
    assert record["limit"] == limit or (mode == "stops" and record["result"] == "complete")
    marker = f"--run-dir {bundle.work}/runs/r"
    assert [path for path in Path("/proc").glob("[0-9]*/cmdline") if marker in _words(path)] == []


def _words(path: Path) -> str:
    try:
        return path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def test_files_with_odd_names_and_in_great_number_leave_a_record_that_verifies(bundle: Bundle) -> None:
    report = bundle.launch(mode="litters")
    assert report["result"] == "complete", report["findings"]
    assert len(report["files"]) == 100 and "\x1b" not in json.dumps(report, ensure_ascii=False)
    assert bundle.json("audit", "verify", "runs/r")["exit_status"] == 0
    record = json.loads((bundle.work / "runs/r/audit.jsonl").read_text().splitlines()[-1])["data"]
    assert len(record["files"]) == 2000 and record["files_left_out"] > 1000
    shown = bundle.run("audit", "show", "runs/r")
    assert shown.returncode == 0 and len(shown.stdout) < 1 << 20


def test_a_killed_gate_takes_a_bounded_child_along(bundle: Bundle) -> None:
    words = [f"--set=environment.settings.mode={modes()['sleep']}"]
    command = bundle.command("launch", "quickstart", "--env", "fake", "--run", "r", "--opt-in", *words)
    process = subprocess.Popen(
        command, cwd=bundle.work, env=bundle.variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 20
    while not (bundle.work / "runs/r/ready").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child = int((bundle.work / "runs/r/ready").read_text())
    process.send_signal(signal.SIGKILL)
    process.wait()
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1][:3]:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_folder_that_cannot_be_looked_into_counts_as_full(tmp_path: Path, monkeypatch) -> None:
    def refuse(path: str) -> Any:
        raise PermissionError(13, "no", path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert process_tree.disk_bytes(str(tmp_path)) > 1 << 50


def test_memory_that_processes_share_counts_once() -> None:
    program = """
import mmap, os, sys, time
held = mmap.mmap(-1, 64 << 20)
held[::4096] = b"x" * len(held[::4096])
pids = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        sum(held[::4096])
        os.write(1, b".")
        time.sleep(20)
    pids.append(pid)
for _ in pids: pass
sys.stdout.flush()
time.sleep(20)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert len(process.stdout.read(3)) == 3
        every = [process.pid, *process_tree.descendants(process.pid)]
        assert process_tree.memory_bytes(every) > 4 * 60 << 20
        assert process_tree.own_memory_bytes(every) < 2 * 64 << 20
    finally:
        for pid in process_tree.descendants(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()

"""Interrupted at a hundred moments: no half-written manifest is ever taken for a good one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from _skill.findings import Refusal
from _skill.manifests import file_manifest, verification

from .test_creating import tree

ROOT = Path(__file__).resolve().parents[2]

# Forks a hundred writers and kills each at a moment of its own; imports happen once.
FORKS = """
import os, random, signal, sys, time
sys.path.insert(0, sys.argv[1])
from _skill import atomic_file
from _skill.manifests import file_manifest
root, out = sys.argv[2:]
moments = random.Random(1)
file_manifest.create(root, out + "0", 2)
start = time.monotonic()
for _ in range(3):
    file_manifest.create(root, out + "0", 2)
usual = (time.monotonic() - start) / 3 * 1.3
for index in range(100):
    child = os.fork()
    if child == 0:
        made = file_manifest.create(root, f"{out}{index}", 2)
        atomic_file.create(f"{out}{index}", made.data)
        os._exit(0)
    time.sleep(moments.uniform(0, usual))
    os.kill(child, random.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
    os.waitpid(child, 0)
"""


def test_a_hundred_interruptions_leave_whole_manifests_or_none(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", *(f"d{i % 10}/f{i}" for i in range(300)))
    (tmp_path / "out").mkdir()
    command = [sys.executable, "-c", FORKS, str(ROOT / "scripts"), str(root), str(tmp_path / "out" / "m")]
    done = subprocess.run(command, stderr=subprocess.PIPE, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    written = sorted((tmp_path / "out").glob("m*"))
    for path in written:
        manifest = file_manifest.read(str(path))
        assert len(manifest.files) == 300
        assert verification.verify(manifest, str(path), str(root)).findings == []
    assert len(written) < 100  # else nothing was interrupted
    for left in (tmp_path / "out").glob(".m*"):
        try:
            file_manifest.read(str(left))  # whole, if only its rename was missing; else refused
        except Refusal:
            continue


def test_ctrl_c_and_sigterm_end_at_once_with_their_status_and_no_file(tmp_path: Path) -> None:
    big = tmp_path / "w" / "big"
    big.parent.mkdir()
    with big.open("wb") as stream:
        stream.truncate(64 << 30)
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)):
        command = [sys.executable, str(ROOT / "scripts/manifest.py"), "create", str(tmp_path / "w"), "--out", "m.json"]
        child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.4)
        start = time.monotonic()
        child.send_signal(number)
        out, err = child.communicate(timeout=10)
        assert child.returncode == status, err
        assert time.monotonic() - start < 2
        assert "Traceback" not in err and not out
        assert sorted(os.listdir(tmp_path)) == ["w"]

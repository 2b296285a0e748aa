"""FC-D06 · Half-written checkpoint replaces a good one.

A write that is killed at any step leaves the previous file as it was; what it leaves over is listed, and never taken
for a checkpoint or a manifest. The engine's own checkpoint writer is tested in `tests/native/test_checkpoint.py`.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from ..checkpoints.corpus.torch_pickles import state_dict
from ..checkpoints.corpus.zips import torch_archive
from .conftest import ROOT, Tool


def load_killed_writer() -> Any:
    spec = importlib.util.spec_from_file_location("killed_writer", ROOT / "tests" / "manifests" / "killed_writer.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


killed_at_every_step = load_killed_writer().killed_at_every_step


@pytest.fixture
def checkpoints(tmp_path: Path, tool: Tool) -> Path:
    """A folder with a good checkpoint and the manifest of it, and one with the next checkpoint."""
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    safetensors.numpy.save_file({"w": np.arange(5000, dtype=np.float32)}, folder / "model.safetensors")
    assert tool("manifest", "create", folder, "--out", folder / "manifest.json").exit_status == 0
    return folder


def test_killed_at_every_step_of_making_a_manifest_the_one_before_still_verifies(
    checkpoints, tool, tmp_path, clean_environment
) -> None:
    target = checkpoints / "next.json"
    command = [ROOT / "scripts/manifest.py", "create", checkpoints / "model.safetensors", "--out", target]
    steps = 0
    for _ in killed_at_every_step(command, cwd=tmp_path, env=clean_environment):
        steps += 1
        left = sorted(path.name for path in checkpoints.iterdir() if path.name.startswith(".next.json"))
        answer = tool("manifest", "verify", checkpoints / "manifest.json")
        errors = {f["code"] for f in answer.report["findings"] if f["severity"] == "error"}
        if target.exists():
            # From the rename on the new one is whole, though its writer was killed.
            assert tool("manifest", "verify", target).exit_status == 0
            assert errors == {"manifest.unlisted"}
            target.unlink()
        else:
            assert answer.exit_status == 0 and not errors
        assert answer.report["left_overs"] == left
        assert [f["pointer"] for f in answer.report["findings"] if f["code"] == "manifest.left_over"] == left
    assert steps >= 3  # a write, a sync, a rename at the least
    assert tool("manifest", "verify", target).exit_status == 0


def test_killed_at_every_step_of_converting_the_checkpoint_before_still_verifies(
    checkpoints, tool, tmp_path, clean_environment
) -> None:
    source, target = tmp_path / "model.pt", checkpoints / "next.safetensors"
    source.write_bytes(torch_archive(*state_dict()))
    command = [ROOT / "scripts/inspect_checkpoint.py", source, "--convert", target]
    steps = 0
    for _ in killed_at_every_step(command, cwd=tmp_path, env=clean_environment):
        steps += 1
        answer = tool("manifest", "verify", checkpoints / "manifest.json")
        errors = {f["code"] for f in answer.report["findings"] if f["severity"] == "error"}
        if target.exists():
            safetensors.numpy.load_file(target)
            assert errors == {"manifest.unlisted"}
            target.unlink()
        else:
            assert answer.exit_status == 0 and not errors
        left = sorted(path.name for path in checkpoints.iterdir() if path.name.startswith("."))
        assert answer.report["left_overs"] == left
    assert steps >= 4
    assert len(safetensors.numpy.load_file(target)) > 0


def test_a_truncated_file_in_the_place_of_a_conversion_is_refused_and_stays(checkpoints, tool, tmp_path) -> None:
    target = checkpoints / "model.safetensors"
    target.write_bytes(target.read_bytes()[:1000])
    (tmp_path / "model.pt").write_bytes(torch_archive(*state_dict()))
    answer = tool("inspect_checkpoint", "model.pt", "--convert", target)
    assert answer.exit_status == 1 and answer.codes == ["file.exists"]
    assert target.stat().st_size == 1000
    assert tool("inspect_checkpoint", target).exit_status == 1


def test_left_overs_are_listed_and_never_taken_into_a_new_manifest(checkpoints, tool, tmp_path) -> None:
    for name in (".model.safetensors.0123456789ab.tmp", ".model.safetensors.4711.part"):
        (checkpoints / name).write_bytes((checkpoints / "model.safetensors").read_bytes()[:100])
    answer = tool("manifest", "create", checkpoints, "--out", tmp_path / "new.json")
    assert answer.exit_status == 0 and len(answer.report["left_overs"]) == 2
    assert answer.codes == ["manifest.left_over"] * 2
    assert "tmp" not in (tmp_path / "new.json").read_text() and "part" not in (tmp_path / "new.json").read_text()
    again = tool("manifest", "verify", checkpoints / "manifest.json")
    assert again.exit_status == 0 and len(again.report["left_overs"]) == 2


@pytest.mark.parametrize("name", ["new.safetensors.tmp", "new.part", "new.safetensors.incomplete", "0123456789ab.tmp"])
def test_a_left_over_of_somebody_else_is_never_taken_either(checkpoints, tool, tmp_path, name) -> None:
    (checkpoints / name).write_bytes(b"half")
    answer = tool("manifest", "create", checkpoints, "--out", tmp_path / "new.json")
    assert answer.exit_status == 1 and answer.codes == ["manifest.unfinished"]
    assert not (tmp_path / "new.json").exists()
    assert tool("manifest", "verify", checkpoints / "manifest.json").codes == ["manifest.unlisted"]


@pytest.mark.parametrize("keep", [0, 1, 7, 50, 99])
def test_a_truncated_file_of_the_same_name_is_a_wrong_size_before_any_hashing(checkpoints, tool, keep) -> None:
    path = checkpoints / "model.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * keep // 100])
    answer = tool("manifest", "verify", checkpoints / "manifest.json")
    assert answer.exit_status == 1 and answer.codes == ["manifest.size"]
    assert answer.finding("manifest.size")["got"] == f"{len(data) * keep // 100} bytes"


def test_a_huge_file_of_the_wrong_size_is_not_hashed(checkpoints, tool) -> None:
    os.truncate(checkpoints / "model.safetensors", 1 << 40)  # sparse: a terabyte would take ten minutes
    answer = tool("manifest", "verify", checkpoints / "manifest.json", timeout=10)
    assert answer.exit_status == 1 and answer.codes == ["manifest.size"]


def test_a_half_written_manifest_is_never_taken_for_a_good_one(checkpoints, tool) -> None:
    path = checkpoints / "manifest.json"
    data = path.read_bytes()
    for end in range(0, len(data), 41):
        path.write_bytes(data[:end])
        assert tool("manifest", "verify", path).exit_status == 1, end


def test_an_existing_file_is_never_written_over_nor_taken_for_done(checkpoints, tool) -> None:
    path = checkpoints / "manifest.json"
    path.write_bytes(path.read_bytes()[:50])
    answer = tool("manifest", "create", checkpoints, "--out", path)
    assert answer.exit_status == 1 and answer.codes == ["file.exists"]
    assert path.stat().st_size == 50


def test_a_full_disk_leaves_nothing_behind(checkpoints, tool, tmp_path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    answer = tool("manifest", "create", checkpoints, "--out", "/dev/full/m.json")
    assert answer.exit_status == 2
    answer = tool("manifest", "create", checkpoints, "--out", tmp_path / "nowhere" / "m.json")
    assert answer.exit_status == 2 and not (tmp_path / "nowhere").exists()

"""The tool as a user runs it: one screen of help, one report, bounded time and memory, nothing half-written."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from _skill import strict_json
from _skill.json_schema import Schema

from .writing import entry, safetensors, state_dict, tensor, torch_file

ROOT = Path(__file__).resolve().parents[2]
TOOL = [sys.executable, str(ROOT / "scripts/inspect_checkpoint.py")]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)


def report(*arguments: str | Path):
    answer = run(*arguments, "--json")
    document = json.loads(answer.stdout)
    assert document["exit_status"] == answer.returncode
    return document


@pytest.fixture(scope="module")
def schema() -> Schema:
    return Schema(strict_json.loads((ROOT / "schemas/checkpoint_report.schema.json").read_bytes(), "schema"))


def test_help_is_one_screen_with_statuses_and_an_example() -> None:
    answer = run("--help")
    assert answer.returncode == 0
    assert answer.stdout.count("\n") <= 30
    assert "exit status" in answer.stdout
    assert "example:" in answer.stdout


@pytest.mark.parametrize(
    "name",
    ["state_dict.pt", "training.pt", "program.pt", "numpy_scalar.pt", "legacy_views.pt", "arrays.npz", "objects.npy"],
)
def test_every_report_follows_its_schema(name: str, fixtures: Path, schema: Schema) -> None:
    document = report(fixtures / name, "--tensors")
    assert schema.findings(document["checkpoint"]) == []


def test_the_report_of_huge_sizes_follows_its_schema(tmp_path: Path, schema: Schema) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(safetensors({"t": entry("F32", [(1 << 53) - 1, 0, (1 << 53) - 1], 0, 0)}))
    assert schema.findings(report(path, "--tensors")["checkpoint"]) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nowhere.pt"], "file.unreadable"),
        ([], "use.wrong"),
        (["x", "--expect", "tf"], "use.wrong"),
        (["x", "--keep", "a"], "use.wrong"),
        (["x", "--unpack"], "use.wrong"),
    ],
)
def test_wrong_use_and_missing_files_are_could_not(arguments: list[str], code: str) -> None:
    document = report(*arguments)
    assert (document["exit_status"], document["findings"][0]["code"]) == (2, code)


def test_links_folders_and_pipes_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "real.safetensors"
    target.write_bytes(safetensors({}))
    link = tmp_path / "x.safetensors"
    link.symlink_to(target)
    os.mkfifo(tmp_path / "pipe.pt")
    for path in (link, tmp_path, tmp_path / "pipe.pt"):
        document = report(path)
        assert (document["exit_status"], document["findings"][0]["code"]) == (1, "file.kind")


def test_conversion_never_replaces_a_file_and_reports_what_it_wrote(tmp_path: Path) -> None:
    path, out = tmp_path / "x.pt", tmp_path / "x.safetensors"
    path.write_bytes(torch_file(state_dict(w=tensor())))
    document = report(path, "--convert", out)
    assert document["converted"]["tensors"] == 1
    assert report(out)["checkpoint"]["sha256"] == document["converted"]["sha256"]
    before = out.read_bytes()
    again = report(path, "--convert", out)
    assert (again["exit_status"], again["findings"][-1]["code"]) == (1, "file.exists")
    assert out.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["x.pt", "x.safetensors"]


def test_a_conversion_that_is_killed_leaves_no_file_of_that_name(tmp_path: Path) -> None:
    path, out = tmp_path / "x.pt", tmp_path / "x.safetensors"
    size = 1 << 26
    numel = b"J" + struct.pack("<i", size // 4)
    body = tensor((1,), (1,)).replace(b"K\x06tQ", numel + b"tQ").replace(b"(K\x01t(K\x01t", b"(" + numel + b"t(K\x01t")
    path.write_bytes(torch_file(state_dict(w=body), storages={"0": bytes(size)}))
    assert report(path)["exit_status"] == 0
    for delay in (0.05, 0.15, 0.3):
        child = subprocess.Popen([*TOOL, str(path), "--convert", str(out)], stdout=subprocess.DEVNULL)
        time.sleep(delay)
        child.kill()
        child.wait()
        if out.exists():
            assert report(out)["exit_status"] == 0
            out.unlink()


def test_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    size = 1 << 30
    path.write_bytes(safetensors({"t": entry("U8", [size], 0, size)}))
    os.truncate(path, path.stat().st_size + size)
    # The peak of the process's own memory; the figure of the resource module holds the parent's, too.
    code = (
        "import runpy, sys; sys.argv = sys.argv[1:]\n"
        "sys.path.insert(0, sys.argv[0].rpartition('/')[0])\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "finally: print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, TOOL[1], str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert int(answer.stdout.split()[-1]) < 64 << 10


@pytest.mark.parametrize("size", [20_000, 600_000])
def test_a_pickle_of_many_opcodes_ends_soon(size: int, tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(b"\x80\x02](" + b"}" * size + b"e.")
    start = time.perf_counter()
    answer = run(path)
    assert answer.returncode in (0, 2)
    assert time.perf_counter() - start < 5

"""What a process may use is read where it binds (affinity, cgroup, mounts), and a machine can be kept in a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from _skill import machine
from _skill.findings import Refusal
from _skill.json_schema import Schema

from .gate_bundle import ROOT

CODE = "import os, sys; sys.path.insert(0, 'scripts'); os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
CODE += "from _skill import machine; print(machine.usable_cores())"


def files(monkeypatch: pytest.MonkeyPatch, content: dict[str, str]) -> None:
    monkeypatch.setattr(machine, "_text", lambda path: content.get(path, ""))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))


def test_affinity_counts() -> None:
    result = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == "1\n"


@pytest.mark.parametrize(
    ("own", "above", "cores"),
    [
        ("max 100000", "max 100000", 16),
        ("200000 100000", "max 100000", 2),
        ("150000 100000", "", 2),
        ("max 100000", "50000 100000", 1),
    ],
)
def test_the_tightest_quota_of_all_cgroups_counts_rounded_up(monkeypatch, own: str, above: str, cores: int) -> None:
    content = {"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/cpu.max": own, "/sys/fs/cgroup/a/cpu.max": above}
    files(monkeypatch, content)
    assert machine.usable_cores() == cores


def test_the_cgroup_limits_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    files(monkeypatch, {"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": "1048576\n"})
    assert machine.usable_memory() == 1 << 20
    files(monkeypatch, {"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": "max\n"})
    assert (machine.usable_memory() or 0) > 1 << 20


def test_a_cgroup_path_never_leads_out_of_the_cgroup_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    files(monkeypatch, {"/proc/self/cgroup": "0::/../../../etc\n", "/etc/cpu.max": "100000 100000"})
    assert machine.usable_cores() == 16


def test_the_older_control_groups_count_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    content = {
        "/proc/self/cgroup": "9:name=systemd:/\n4:memory:/a/b\n2:cpu,cpuacct:/a\n",
        "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "300000\n",
        "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
        "/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "2097152\n",
    }
    files(monkeypatch, content)
    assert (machine.usable_cores(), machine.usable_memory()) == (3, 2 << 20)


def test_a_measured_machine_is_a_document_that_is_read_back(tmp_path: Path) -> None:
    measured = machine.measure(str(tmp_path))
    assert Schema.shipped("machine").findings(measured.as_json()) == []
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(measured.as_json()))
    assert machine.read(str(path)) == measured
    path.write_text(json.dumps({"tool": "doctor", "exit_status": 0, "machine": measured.as_json()}))
    assert machine.read(str(path)) == measured


def test_without_programs_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*words: object, **options: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "run", started)
    measured = machine.measure(programs=False)
    assert measured.cores >= 1 and Schema.shipped("machine").findings(measured.as_json()) == []


def test_the_shared_memory_and_the_disk_are_those_of_the_mounts(tmp_path: Path) -> None:
    measured = machine.measure(str(tmp_path), programs=False)
    status = os.statvfs("/dev/shm")
    assert measured.shared_memory_free_bytes is not None
    assert measured.shared_memory_free_bytes <= status.f_blocks * status.f_frsize
    assert machine.measure(str(tmp_path / "gone"), programs=False).disk_free_bytes is None


def test_packages_are_known_by_their_metadata_and_never_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch-2.9.0+cpu.dist-info", "wandb-0.22.dist-info", "Trackio-0.9.dist-info", "unknown_x-1.dist-info"):
        (tmp_path / name).mkdir()
    (tmp_path / "tensorboard-2.20-py3.11.egg-info").mkdir()
    (tmp_path / "torch.py").write_text("raise AssertionError('imported')")
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(tmp_path / "gone")])
    found = machine.measure(programs=False).packages
    assert found == {"tensorboard": "2.20", "torch": "2.9.0+cpu", "trackio": "0.9", "wandb": "0.22"}


def test_of_credentials_only_the_names_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "dummy-secret-123")
    monkeypatch.setenv("HF_TOKEN", "")
    measured = machine.measure(programs=False)
    assert "WANDB_API_KEY" in measured.variables and "HF_TOKEN" not in measured.variables
    assert "dummy-secret" not in json.dumps(measured.as_json())


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ["a", "b", "c"]),
        ("0,2", ["a", "c"]),
        ("2,0", ["c", "a"]),
        ("", []),
        ("-1", []),
        ("0,-1,1", ["a"]),
        ("1,9,0", ["b"]),
        ("none", []),
        ("GPU-8932f937-d72c", ["a"]),
    ],
)
def test_devices_that_a_variable_hides_are_not_there(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, names: list[str]
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setattr(
        os, "listdir", lambda folder: ["null", "nvidia0", "nvidia1", "nvidia2", "nvidiactl", "nvidia-uvm"]
    )
    monkeypatch.setattr(machine, "_output", lambda words: "a, 1024\nb, 2048\nc, [N/A]\n")
    found = machine._devices(programs=True)
    assert [device.name for device in found] == names
    sizes = {"a": 1 << 30, "b": 2 << 30, "c": None}
    assert all(device.memory_bytes == sizes[device.name] for device in found)


def test_a_program_that_hangs_fails_or_is_not_there_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_PROGRAM_SECONDS", 0.2)
    assert machine._output(["/nowhere/nvidia-smi"]) == ""
    assert machine._output([sys.executable, "-c", "raise SystemExit(1)"]) == ""
    assert machine._output([sys.executable, "-c", "import time; time.sleep(30)"]) == ""


def test_the_compiler_is_the_one_that_is_named(tmp_path: Path) -> None:
    program = tmp_path / "clang++"
    program.write_text("")
    assert machine.find_compiler({"PATH": str(tmp_path)}) is None or "zig" in str(
        machine.find_compiler({"PATH": str(tmp_path)})
    )
    program.chmod(0o755)
    assert machine.find_compiler({"PATH": str(tmp_path)}) == str(program)
    assert machine.find_compiler({"PATH": "", "CXX": f"{program} -O3"}) == str(program)
    assert machine.find_compiler({"PATH": str(tmp_path), "CXX": "other-c++"}) is None


GOOD = machine.Machine("Linux", "x86_64", "3.11", 2, None, None, None, (), None, {}, ()).as_json()


@pytest.mark.parametrize(
    "change",
    [
        {"cores": 0},
        {"cores": 2.0},
        {"cores": True},
        {"memory_bytes": -1},
        {"devices": [{"kind": "tpu", "name": "x", "memory_bytes": None}]},
        {"devices": [{"kind": "cuda"}]},
        {"variables": ["WANDB_API_KEY=dummy-secret-123"]},
        {"variables": {"WANDB_API_KEY": "dummy-secret-123"}},
        {"packages": {"a b": "1"}},
        {"extra": 1},
        {"schema": "machine/2"},
    ],
)
def test_a_machine_of_the_wrong_form_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "machine.json"
    path.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(Refusal) as refused:
        machine.read(str(path))
    assert refused.value.exit_status == 1 and str(path) in refused.value.findings[0].pointer

"""What a process may use is read from its affinity and its cgroup, never from the host's count."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from _skill import machine

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

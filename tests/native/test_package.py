"""The package is light to import, needs nothing but the standard library, and counts the cores it may use."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from pufferlib import cores

from .conftest import PROFILE


def python(*words, env=None, **options):
    environment = {"PYTHONPATH": str(PROFILE), "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]} | (env or {})
    return subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, timeout=120, check=False, **options
    )


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys; before = set(sys.modules); import pufferlib; print(*sorted(set(sys.modules) - before))"
    assert python("-c", code).stdout.split() == ["pufferlib"]


@pytest.mark.parametrize("module", ["cli", "cli.train", "training", "engine", "checkpoint", "report"])
def test_no_module_needs_more_than_the_standard_library(module):
    code = f"import sys, pufferlib.{module}; print(*{{m.partition('.')[0] for m in sys.modules}})"
    loaded = set(python("-S", "-c", code).stdout.split())
    assert "pufferlib" in loaded
    assert loaded - {"pufferlib", "__main__"} <= set(sys.stdlib_module_names) | {"_distutils_hack"}


def test_the_command_line_runs_without_site_packages(clean_environment):
    done = python("-S", "-m", "pufferlib", "envs", env=clean_environment)
    assert done.returncode == 0 and "cartpole" in done.stdout, done.stderr


def test_help_comes_at_once():
    best = 9.0
    for _ in range(5):
        began = time.perf_counter()
        assert python("-m", "pufferlib", "--help").returncode == 0
        best = min(best, time.perf_counter() - began)
    assert best < 0.3  # 0.1 s on an idle machine


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="affinity can be set on Linux only")
def test_cores_follow_the_affinity():
    code = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); "
        "from pufferlib.cores import usable_cores; print(usable_cores())"
    )
    assert python("-c", code).stdout.strip() == "1"


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """``groups({path: cpu.max}, own)``: a control group tree of its own, with this process in ``own``."""

    def build(quotas, own="/", affinity=64):
        for path, quota in quotas.items():
            folder = tmp_path / "cgroup" / path.strip("/")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "cpu.max").write_text(quota + "\n")
        real = cores._read
        monkeypatch.setattr(cores, "_CGROUP_V2", tmp_path / "cgroup")
        monkeypatch.setattr(cores, "_CGROUP_V1", tmp_path / "v1")
        monkeypatch.setattr(cores, "_read", lambda p: f"0::{own}\n" if str(p) == "/proc/self/cgroup" else real(p))
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(affinity)), raising=False)
        return cores.usable_cores()

    return build


@pytest.mark.parametrize(
    ("quotas", "own", "affinity", "expected"),
    [
        ({"/": "max 100000"}, "/", 64, 64),
        ({"/": "300000 100000"}, "/", 64, 3),
        ({"/": "300000 100000"}, "/", 2, 2),
        ({"/": "50000 100000"}, "/", 64, 1),
        ({"/": "250000 100000"}, "/", 64, 2),
        ({"/a": "400000 100000", "/a/b": "max 100000"}, "/a/b", 64, 4),
        ({"/a": "400000 100000", "/a/b": "200000 100000"}, "/a/b", 64, 2),
        ({"/a": "100000 100000"}, "/other", 8, 8),
        ({}, "/", 8, 8),
    ],
)
def test_cores_follow_the_smallest_quota_above(groups, quotas, own, affinity, expected):
    assert groups(quotas, own, affinity) == expected


def test_cores_follow_an_old_control_group(groups, tmp_path):
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "cpu.cfs_quota_us").write_text("150000\n")
    (tmp_path / "v1" / "cpu.cfs_period_us").write_text("50000\n")
    assert groups({}) == 3
    (tmp_path / "v1" / "cpu.cfs_quota_us").write_text("-1\n")
    assert cores.usable_cores() == 64


def test_a_run_uses_the_cores_it_may(make_trainer):
    """0 workers in a plan are all usable ones; the numbers do not depend on it."""
    from pufferlib.checkpoint import weights_digest

    one, all_of_them = make_trainer(workers=1), make_trainer(workers=cores.usable_cores())
    one.iterate()
    all_of_them.iterate()
    assert weights_digest(one.collect()) == weights_digest(all_of_them.collect())

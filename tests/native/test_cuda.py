"""The rollout and every environment are device code too, wherever there is a CUDA compiler to say so."""

from __future__ import annotations

import subprocess

import pytest

from pufferlib.build import CORE, OCEAN
from pufferlib.compiler import find_nvcc
from pufferlib.environments import names


@pytest.mark.parametrize("name", names())
def test_the_rollout_compiles_for_a_gpu(tmp_path, name):
    nvcc = find_nvcc() or pytest.skip("no nvcc on the path: the rollout was not compiled for a GPU")
    header = OCEAN / name / f"{name}.h"
    includes = [f"-I{CORE}", f"-I{CORE / 'include'}", f'-DENV_HEADER="{header}"']
    flags = ["-std=c++17", "-arch=sm_80", "-ptx", "--Werror", "all-warnings"]
    done = subprocess.run(
        [str(nvcc), *flags, *includes, str(CORE / "rollout.cu"), "-o", str(tmp_path / "rollout.ptx")],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert ".entry puffer_rollout" in (tmp_path / "rollout.ptx").read_text(encoding="utf-8")

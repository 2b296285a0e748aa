"""The whole engine under the address and undefined-behaviour sanitizers; only `make sanitize` builds it so: it is slow.

The thread sanitizer is not among them: its runtime does not start inside a Python process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.sanitize
# The engine is built with the flags that it always has; the last ones win. The compiler itself runs without the
# sanitizer's runtime, and the file stays the same, so that the engine's cache finds the build again.
WRAPPER = """#!/bin/sh
unset LD_PRELOAD
exec {compiler} "$@" -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
"""


def sanitizing(compiler: str) -> Path:
    """A compiler command that adds the sanitizers, kept beside the tests' builds."""
    command = Path(os.environ["XDG_CACHE_HOME"]) / "sanitizing-compiler"
    text = WRAPPER.format(compiler=compiler)
    if not command.exists() or command.read_text(encoding="utf-8") != text:
        command.parent.mkdir(parents=True, exist_ok=True)
        command.write_text(text, encoding="utf-8")
        command.chmod(0o755)
    return command


@pytest.mark.parametrize(
    ("environment", "settings"),
    [
        ("cartpole", ["--policy.hidden", "24,17", "--policy.activation", "gelu", "--train.anneal-lr", "cosine"]),
        ("squared", ["--train.num-envs", "1000", "--train.minibatch-size", "16000"]),
        ("target", ["--policy.hidden", "16", "--policy.activation", "relu"]),
        ("breakout", ["--policy.hidden", "32"]),
    ],
)
def test_training_touches_nothing_it_should_not(
    environment: str, settings: list[str], tmp_path: Path, run: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    compiler = os.environ.get("CXX") or ("g++" if shutil.which("g++") else "c++")
    runtime = run([*compiler.split(), "-print-file-name=libasan.so"]).stdout.strip()
    if not os.path.isabs(runtime):
        pytest.skip(f"{compiler} has no libasan.so, which a Python process needs to be started with")
    small = ["--train.total-timesteps", "40000", "--train.num-envs", "256", "--train.horizon", "16"]
    small += ["--train.minibatch-size", "1024", "--workers", "3", *settings]
    trained = run(
        [sys.executable, "-m", "pufferlib", "train", environment, "--run-dir", tmp_path / "run", *small],
        env={
            "CXX": str(sanitizing(compiler)),
            "LD_PRELOAD": runtime,
            # What Python itself leaves behind is no leak of ours.
            "ASAN_OPTIONS": "detect_leaks=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "PYTHONPATH": "native_profile",
        },
        timeout=900,
    )
    # 1: the goal was not reached, as it cannot be in so few steps.
    assert trained.returncode in (0, 1), trained.stderr[-4000:]
    assert "Sanitizer" not in trained.stderr and "runtime error" not in trained.stderr
    assert (tmp_path / "run" / "manifest.json").exists()

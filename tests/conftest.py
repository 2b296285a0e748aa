"""Shared by all tests: where the repository is, a home of the tests' own, and how a command is run as a person would.

Nothing here writes into the user's home. The engine that the tests build is kept in build/test-cache, so that a second
`make test` compiles nothing; `make clean` removes it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "build" / "test-cache"

# Before any test imports the engine: what runs in this process builds into the tests' cache too.
os.environ["XDG_CACHE_HOME"] = str(CACHE)
sys.dont_write_bytecode = True

# Started in the background of a script, this process ignores Ctrl-C, and whatever it starts inherits that; tests of
# interruptions need the signal to work.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is slow, not wrong, so examples have no deadline; and the same examples are drawn every time.
hypothesis.settings.register_profile("repository", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("repository")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only `make sanitize` asks for: an engine with sanitizers takes minutes to build."""
    if "sanitize" in (config.option.markexpr or ""):
        return
    left_out = [item for item in items if item.get_closest_marker("sanitize")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout under test."""
    return ROOT


@pytest.fixture
def clean_environment(tmp_path: Path) -> dict[str, str]:
    """Environment variables of a fresh machine: an empty home, the tests' cache, and no credential of the caller's."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    kept = {
        name: os.environ[name] for name in ("PATH", "CC", "CXX", "TMPDIR", "OPENBLAS_CORETYPE") if name in os.environ
    }
    return kept | {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(CACHE),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
    }


@pytest.fixture
def run(clean_environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``run([...], cwd=, env=, timeout=)``: a command in list form, no input, captured text, ended at ``timeout`` s."""

    def command(
        arguments: Sequence[str | Path],
        *,
        cwd: Path = ROOT,
        env: Mapping[str, str] | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(a) for a in arguments],
            cwd=cwd,
            env=clean_environment | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )

    return command

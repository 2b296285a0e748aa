"""The files that belong to the repository, and Python's own parser over them."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def files(repository: Path) -> list[Path]:
    """Every file that git tracks or would track, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=repository,
        capture_output=True,
        timeout=60,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout, so nothing says which files belong to it")
    names = sorted(set(listed.stdout.decode().split("\0")) - {""})
    # A file that was removed but not yet from git's index is listed, too.
    return [Path(name) for name in names if (repository / name).is_symlink() or (repository / name).exists()]


@pytest.fixture(scope="session")
def texts(repository: Path, files: list[Path]) -> dict[Path, str]:
    """The content of every file of the repository; all of them are UTF-8 text."""
    return {file: (repository / file).read_bytes().decode("utf-8") for file in files}


@pytest.fixture(scope="session")
def modules(texts: dict[Path, str]) -> dict[Path, ast.Module]:
    """The syntax tree of every Python file."""
    return {file: ast.parse(text, str(file)) for file, text in texts.items() if file.suffix == ".py"}

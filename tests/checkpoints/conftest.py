"""Where the fixtures of this folder lie, and how a file is inspected in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from .fixtures import unpack


@pytest.fixture(scope="session")
def fixtures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files that torch and numpy wrote; `fixtures/make.py` makes them again."""
    folder = tmp_path_factory.mktemp("fixtures") / "files"
    unpack.unpack(folder)
    return folder

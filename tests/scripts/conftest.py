"""Gives each test a private copy of the gate with a stand-in for the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from .gate_bundle import Bundle, build_bundle


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return build_bundle(tmp_path / "bundle")

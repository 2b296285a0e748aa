"""Runs the check of environments that lie beside the tests, in this process's own Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _skill.contracts import pipeline, target
from _skill.contracts.contract import CheckOptions, Contract

HERE = Path(__file__).parent
Checked = Callable[..., Contract]


@pytest.fixture
def check() -> Checked:
    """``check("file.py:Class", steps=60, ...)``: the contract of an environment of this folder, or of another."""

    def run(words: str, **options: Any) -> Contract:
        path = HERE / words
        named = str(path) if ".py:" in words and not words.startswith("/") else words
        asked = CheckOptions(named, **{"steps": 60, "seconds": 40, **options})
        return pipeline.check(target.read(named, asked.api), asked)

    return run


def codes(contract: Contract) -> list[str]:
    """The codes of what the run found; what the source alone says is left out."""
    return [finding.code for finding in contract.findings if not finding.code.startswith("static.")]

"""Runs the tools as a user does: a process of its own, in a folder of its own, with a report on stdout.

Each case of the field is one file here, named by its id: `test_fc_a01.py`. A test names the tool that must notice, and
what its report has to say.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Answer(NamedTuple):
    """What a tool answered."""

    exit_status: int
    report: dict[str, Any]
    """The JSON report."""
    stderr: str

    @property
    def codes(self) -> list[str]:
        """The codes of all findings, in order."""
        return [finding["code"] for finding in self.report["findings"]]

    def finding(self, code: str) -> dict[str, str]:
        """The first finding with a code; fails with all of them where there is none."""
        found = [finding for finding in self.report["findings"] if finding["code"] == code]
        assert found, json.dumps(self.report["findings"], indent=1)
        first: dict[str, str] = found[0]
        return first

    @property
    def text(self) -> str:
        """Everything that a person would read: to look for words that must, or must never, be there."""
        return json.dumps(self.report, ensure_ascii=False) + self.stderr


Tool = Callable[..., Answer]


@pytest.fixture
def tool(tmp_path: Path, clean_environment: dict[str, str]) -> Tool:
    """``tool("validate_plan", "plan.json", ..., variables={}, timeout=60)`` in `tmp_path`."""

    def run(
        name: str, *arguments: str | Path, variables: Mapping[str, str] | None = None, timeout: float = 60
    ) -> Answer:
        result = subprocess.run(
            [sys.executable, str(ROOT / "scripts" / f"{name}.py"), *map(str, arguments), "--json"],
            cwd=tmp_path,
            env=clean_environment | dict(variables or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
        assert "Traceback" not in result.stderr, result.stderr
        report = json.loads(result.stdout)
        assert report["exit_status"] == result.returncode
        return Answer(result.returncode, report, result.stderr)

    return run

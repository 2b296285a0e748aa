"""This bundle passes its own lint: the rules of Agent Skills, whole links, nothing hidden, scripts that answer."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from _skill.skills import front_matter, lint
from _skill.skills.bundle import Bundle

ROOT = Path(__file__).resolve().parents[2]
NAME = "pufferlib-skill"
MADE_HERE = ("build", "dist", "runs")


@pytest.fixture(scope="module")
def found() -> list[Any]:
    """What the lint says of this checkout, whatever its folder is called."""
    return lint.check(Bundle(str(ROOT), NAME, MADE_HERE))


def test_the_bundle_has_no_error(found: list[Any]) -> None:
    assert [finding for finding in found if finding.severity == "error"] == []


def test_what_an_agent_is_given_to_read_has_no_warning_either(found: list[Any]) -> None:
    read = re.compile(r"SKILL\.md|README\.md|references/|schemas/|scripts/")
    assert [finding for finding in found if read.match(finding.pointer)] == []


def test_the_tool_says_the_same_and_every_script_answers(run: Callable[..., CompletedProcess[str]]) -> None:
    command = [sys.executable, ROOT / "scripts" / "lint_skill.py", "--as", NAME, "--run-help", "--json"]
    result = run(command, timeout=300)
    report = json.loads(result.stdout)
    assert (result.returncode, report["errors"]) == (0, 0), report["findings"]


def test_the_name_is_the_project_s_and_the_description_says_when_and_when_not() -> None:
    data = (ROOT / "SKILL.md").read_bytes()
    matter, mistakes = front_matter.read(data.decode("utf-8"), data)
    assert matter is not None and mistakes == []
    # A checkout may lie in any folder; what names the skill's own folder is the project's name.
    assert matter.fields["name"] == NAME
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'name = "{NAME}"\n' in project
    assert f"/skills/{NAME}" in (ROOT / "README.md").read_text(encoding="utf-8")
    description = str(matter.fields["description"])
    assert "Use when" in description and "Do not use" in description
    metadata = matter.fields["metadata"]
    assert isinstance(metadata, dict) and re.fullmatch(r"\d+\.\d+\.\d+", metadata["version"])
    assert f'version = "{metadata["version"]}"' in project


def test_the_body_keeps_our_own_budget() -> None:
    data = (ROOT / "SKILL.md").read_bytes()
    matter, _ = front_matter.read(data.decode("utf-8"), data)
    assert matter is not None
    assert matter.body.count("\n") < 250 and len(matter.body) < 20_000
    for link in re.findall(r"\]\(([^)]+)\)", matter.body):
        assert re.fullmatch(r"(references|schemas)/[\w.-]+|[A-Z]+\.md", link), link

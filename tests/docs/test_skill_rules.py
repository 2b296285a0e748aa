"""SKILL.md keeps the Agent Skills rules: the union of what the public validators ask for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEYS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def front_matter(text: str) -> tuple[dict[str, str | dict[str, str]], str]:
    """Front matter and body, from the small part of YAML that we write ourselves: plain ``key: value`` lines, folded
    blocks (``>-``) and one flat map. Anything else is refused, since validators disagree about it."""
    assert text.startswith("---\n"), "SKILL.md starts with three hyphens and no byte-order mark"
    head, mark, body = text[4:].partition("\n---\n")
    assert mark, "the front matter has no end"
    assert "---" not in head, "three hyphens inside the front matter cut it off for some readers"
    result: dict[str, str | dict[str, str]] = {}
    key = ""
    for line in head.splitlines():
        inner = re.fullmatch(r"  (\S.*)", line)
        if inner and isinstance(result.get(key), dict):
            entry = re.fullmatch(r'([\w-]+): "([^"]*)"', inner[1])
            assert entry, f"metadata is a flat map of quoted strings, found {line!r}"
            flat = result[key]
            assert isinstance(flat, dict)
            flat[entry[1]] = entry[2]
        elif inner:
            result[key] = f"{result[key]} {inner[1]}".strip()
        else:
            pair = re.fullmatch(r"([a-z-]+):(?: (.*))?", line)
            assert pair, f"not a plain key and value: {line!r}"
            key, value = pair[1], pair[2] or ""
            assert key not in result, f"{key} is there twice"
            assert value == ">-" or not re.search(r"[\[\]{}&*|]|: |^['\"]", value), f"use a folded block for {line!r}"
            result[key] = {} if key == "metadata" else "" if value == ">-" else value
    return result, body


@pytest.fixture(scope="module")
def skill() -> tuple[dict[str, str | dict[str, str]], str]:
    return front_matter((ROOT / "SKILL.md").read_bytes().decode("utf-8"))


def test_the_keys_are_the_closed_set(skill: tuple[dict[str, object], str]) -> None:
    assert {"name", "description"} <= set(skill[0]) <= KEYS


def test_the_name_is_kebab_case_and_the_folder_s_name(skill: tuple[dict[str, object], str]) -> None:
    name = str(skill[0]["name"])
    assert NAME.fullmatch(name) and len(name) <= 64
    # A checkout may lie in any folder; what names the skill's own folder is the project's name.
    assert f'name = "{name}"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"/skills/{name}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_description_says_what_when_and_when_not(skill: tuple[dict[str, object], str]) -> None:
    description = str(skill[0]["description"])
    assert 1 <= len(description) <= 1024
    assert not re.search(r"[<>]", description)
    assert "Use when" in description and "Do not use" in description


def test_short_fields_keep_their_limits(skill: tuple[dict[str, object], str]) -> None:
    fields = skill[0]
    assert 1 <= len(str(fields.get("compatibility", "x"))) <= 500
    metadata = fields.get("metadata", {})
    assert isinstance(metadata, dict) and re.fullmatch(r"\d+\.\d+\.\d+", metadata["version"])
    assert f'version = "{metadata["version"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_body_is_short(skill: tuple[dict[str, object], str]) -> None:
    body = skill[1]
    assert body.count("\n") < 250
    assert len(body) < 20_000


def test_links_are_one_level_deep(skill: tuple[dict[str, object], str]) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", skill[1]):
        assert re.fullmatch(r"(references|schemas)/[\w.-]+|[A-Z]+\.md", link), link


def test_nothing_invisible_is_hidden_in_what_an_agent_reads() -> None:
    """Zero-width and direction-changing characters, and comments that are not remarks on code blocks."""
    remark = re.compile(r"<!-- (?:not run|exits \d+|file): [^<>]*-->")
    for document in [ROOT / "SKILL.md", ROOT / "README.md", *(ROOT / "references").glob("*.md")]:
        text = document.read_text(encoding="utf-8")
        hidden = re.search("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]", text)
        assert hidden is None, f"{document.name}: {hidden and hidden.group()!r}"
        assert "<!--" not in remark.sub("", text), f"{document.name} has a hidden comment"


@pytest.mark.parametrize(
    "head",
    [
        "name: a\nname: b",
        "name: [a, b]",
        "description: does X: then Y",
        "description: 'x'",
        "metadata:\n  version: 1.0",
        "description: >-\n  before --- after",
        "name:\ttab",
    ],
)
def test_what_validators_disagree_about_is_refused(head: str) -> None:
    with pytest.raises(AssertionError):
        front_matter(f"---\n{head}\n---\nbody\n")

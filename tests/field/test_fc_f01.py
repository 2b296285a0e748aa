"""SKILL.md front matter

Of the names and descriptions that people really wrote, only those pass that every public validator takes; the rest is
refused by a code, at a line, with what to write instead.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Answer, Tool

SKILL = "---\nname: {name}\ndescription: {description}\n{more}---\n# A skill\n\nRun the check.\n"


def bundle(
    folder: Path, name: str, description: str = "Checks plans.", more: str = "", called: str | None = None
) -> Path:
    root = folder / (called or (name if name.strip("./") else "a-skill"))
    root.mkdir()
    (root / "SKILL.md").write_bytes(SKILL.format(name=name, description=description, more=more).encode("utf-8"))
    return root


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("PDF-x", "skill.name"),
        ("-x", "skill.name"),
        ("x-", "skill.name"),
        ("a--b", "skill.name"),
        ("a_b", "skill.name"),
        ("x" * 65, "skill.name"),
        ("123", "skill.not_text"),
        ("1.0", "skill.not_text"),
        ("yes", "skill.not_text"),
        ("\u0430bc", "skill.name"),
        ("a.b", "skill.name"),
        ("..", "skill.name"),
        ("a b", "skill.name"),
        ("[x]", "front_matter.flow"),
        ("*x", "front_matter.anchor"),
        ("x: y", "front_matter.colon"),
    ],
)
def test_a_name_that_some_validator_refuses_is_refused(tool: Tool, tmp_path: Path, name: str, code: str) -> None:
    answer = tool("lint_skill", bundle(tmp_path, name))
    assert answer.exit_status == 1
    finding = answer.finding(code)
    assert finding["pointer"] == "SKILL.md:2" and (finding["want"] or finding["fix"])


def test_a_name_of_64_characters_passes(tool: Tool, tmp_path: Path) -> None:
    assert_clean(tool("lint_skill", bundle(tmp_path, "x" * 64)))


def assert_clean(answer: Answer) -> None:
    assert (answer.exit_status, answer.report["findings"]) == (0, [])


def test_the_name_is_the_folder_s(tool: Tool, tmp_path: Path) -> None:
    root = bundle(tmp_path, "a-skill", called="other")
    assert tool("lint_skill", root).finding("skill.name_folder")["fix"].startswith("rename the folder to a-skill")
    assert_clean(tool("lint_skill", root, "--as", "a-skill"))
    (tmp_path / "a-skill").symlink_to(root)
    assert_clean(tool("lint_skill", "a-skill"))


@pytest.mark.parametrize(
    ("description", "code"),
    [
        ("", "skill.description_missing"),
        ('""', "skill.description_missing"),
        ("x" * 1025, "skill.description_long"),
        ("\u00e9" * 1025, "skill.description_long"),
        ("does X: then Y", "front_matter.colon"),
        ("does X #1 and more", "front_matter.comment_cut"),
        (">-\n  before --- after", "front_matter.hyphens"),
        ("Checks <plan>.", "skill.description_brackets"),
        ("12", "skill.not_text"),
        ("~", "skill.not_text"),
        ("{a: b}", "front_matter.flow"),
        ("a\tb", "front_matter.tab"),
    ],
)
def test_a_description_that_some_reader_takes_otherwise_is_refused(
    tool: Tool, tmp_path: Path, description: str, code: str
) -> None:
    answer = tool("lint_skill", bundle(tmp_path, "a-skill", description))
    assert answer.exit_status == 1
    answer.finding(code)


@pytest.mark.parametrize(
    "description",
    [
        "x" * 1024,
        "\u00e9" * 1024,
        '"does X: then Y"',
        "'does X: then Y'",
        ">-\n  does X: then Y\n  and #1",
        "|\n  does X: then Y",
    ],
    ids=["1024", "1024 of two bytes", "double quotes", "single quotes", "folded", "literal"],
)
def test_a_description_that_all_readers_take_alike_passes(tool: Tool, tmp_path: Path, description: str) -> None:
    assert_clean(tool("lint_skill", bundle(tmp_path, "a-skill", description)))


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ('version: "1.0"\n', "skill.unknown_key"),
        ("Name: x\n", "skill.unknown_key"),
        ("tools: Read\n", "skill.unknown_key"),
        ("metadata:\n  a:\n    b: c\n", "front_matter.nested"),
        ("metadata: x\n", "skill.metadata"),
        ("allowed-tools:\n  - Read\n", "front_matter.list"),
        (f"compatibility: {'x' * 501}\n", "skill.compatibility"),
        ("compatibility: ''\n", "skill.compatibility"),
        ("description: again\n", "front_matter.duplicate"),
    ],
)
def test_other_keys_keep_the_closed_set_and_its_limits(tool: Tool, tmp_path: Path, more: str, code: str) -> None:
    answer = tool("lint_skill", bundle(tmp_path, "a-skill", more=more))
    assert answer.exit_status == 1
    answer.finding(code)


def test_version_at_the_top_is_sent_to_metadata(tool: Tool, tmp_path: Path) -> None:
    answer = tool("lint_skill", bundle(tmp_path, "a-skill", more='version: "1.0"\n'))
    assert answer.finding("skill.unknown_key")["fix"] == "put it below metadata"


def test_all_known_keys_pass(tool: Tool, tmp_path: Path) -> None:
    more = f'license: MIT\ncompatibility: {"x" * 500}\nmetadata:\n  version: "1.0"\nallowed-tools: Read Grep\n'
    assert_clean(tool("lint_skill", bundle(tmp_path, "a-skill", more=more)))


def test_line_ends_and_encodings(tool: Tool, tmp_path: Path) -> None:
    path = bundle(tmp_path, "a-skill", "Pr\u00fcft Pl\u00e4ne.") / "SKILL.md"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"\n", b"\r\n"))
    assert_clean(tool("lint_skill", "a-skill", variables={"LC_ALL": "C", "PYTHONUTF8": "0"}))
    path.write_bytes(b"\xef\xbb\xbf" + data)
    bom = tool("lint_skill", "a-skill").finding("front_matter.bom")
    assert "byte order mark" in bom["message"] and "without BOM" in bom["fix"]
    path.write_bytes(data.decode("utf-8").encode("latin-1"))
    assert tool("lint_skill", "a-skill").finding("text.encoding")["want"] == "UTF-8"
    path.write_bytes(data.decode("utf-8").encode("utf-16"))
    assert tool("lint_skill", "a-skill").exit_status == 1


def test_a_skill_without_a_name_or_a_file_is_refused(tool: Tool, tmp_path: Path) -> None:
    root = tmp_path / "a-skill"
    root.mkdir()
    tool("lint_skill", root).finding("skill.missing")
    (root / "SKILL.md").write_text("---\ndescription: x\n---\nx\n")
    tool("lint_skill", root).finding("skill.name_missing")
    (root / "SKILL.md").write_text("no front matter\n")
    tool("lint_skill", root).finding("front_matter.missing")
    assert tool("lint_skill", "gone").exit_status == 2

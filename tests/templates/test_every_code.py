"""Each reason why a template or its test is refused has a case: its code, its exit status, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from _skill import layout
from _skill.findings import Refusal
from _skill.templates import catalogue, trying

CLASS = "class Mine(object):\n    pass\n"


def refused(refusal: Refusal) -> tuple[list[str], int]:
    return [finding.code for finding in refusal.findings], refusal.exit_status


def written(folder: Path, text: str | bytes) -> str:
    path = folder / "mine.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize("kind", ["environments", "training"])
def test_a_template_that_is_not_there_is_answered_with_the_nearest(kind: str) -> None:
    name = catalogue.names(kind)[0]
    with pytest.raises(Refusal) as caught:
        catalogue.load(kind, name + "x")
    assert refused(caught.value) == (["template.unknown"], 2)
    assert caught.value.findings[0].fix == f"did you mean {name}?"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("template.no_class", "print('ok')\n"),
        ("template.no_class", "class Mine:\n    pass\n"),
        ("template.test_failed", CLASS + "raise SystemExit('what is wrong')\n"),
        ("template.test_failed", "this is not Python\n"),
    ],
)
def test_a_file_that_is_no_working_environment_is_a_problem(code: str, text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    found, _ = trying.environment(path)
    assert [(finding.code, finding.pointer) for finding in found] == [(code, path)]
    assert "what is wrong" not in text or found[0].got.strip('"') == "what is wrong"


def test_a_package_that_is_missing_is_could_not_check_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        trying.environment(written(tmp_path, "import surely_missing.part\n" + CLASS))
    assert refused(caught.value) == (["template.package"], 2)
    assert caught.value.findings[0].fix == "python3 -m pip install surely_missing"


@pytest.mark.parametrize("text", ["def (\n", "x = 'a\0b'\n", "(" * 500])
def test_a_training_program_that_is_not_python_is_never_started(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "run", None)
    found, _ = trying.program(written(tmp_path, text))
    assert [finding.code for finding in found] == ["template.syntax"]


@pytest.mark.parametrize("what", ["nothing there", "not text", "a folder without a header"])
def test_what_no_template_became_cannot_be_tested(what: str, tmp_path: Path) -> None:
    path = str(tmp_path) if what == "a folder without a header" else str(tmp_path / "mine.py")
    if what == "not text":
        written(tmp_path, b"\xff\xfe")
    with pytest.raises(Refusal) as caught:
        trying.environment(path)
    assert refused(caught.value) == (["template.unusable"], 2)


@pytest.mark.parametrize("what", ["no report", "no program"])
def test_a_check_that_gives_no_report_is_no_pass(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scripts").mkdir()
    if what == "no report":
        (tmp_path / "scripts" / "check_env.py").write_text("print('half a rep')\n")
    monkeypatch.setattr(layout, "SCRIPTS", str(tmp_path / "scripts"))
    with pytest.raises(Refusal) as caught:
        trying.environment(written(tmp_path, CLASS))
    assert refused(caught.value) == (["template.no_check"], 2)

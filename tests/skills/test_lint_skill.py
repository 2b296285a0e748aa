"""Every kind of bad bundle is found by its code; good bundles of many shapes have no finding at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _skill.findings import Refusal
from _skill.skills import answers, lint, markdown
from _skill.skills.bundle import MAX_FILE_BYTES, Bundle

from . import bundles


def codes(root: Path, severity: str | None = None, **options) -> list[str]:
    found = lint.check(Bundle(str(root), **options))
    return [finding.code for finding in found if severity in (None, finding.severity)]


def errors_of(tmp_path: Path, files: bundles.Files) -> list[str]:
    return codes(bundles.write(tmp_path, files), "error")


BAD = bundles.FRONT_MATTER | bundles.LINKS | bundles.HIDDEN | bundles.PROGRAMS


@pytest.mark.parametrize("kind", bundles.GOOD)
def test_a_good_bundle_has_no_finding(tmp_path: Path, kind: str) -> None:
    root = bundles.write(tmp_path, bundles.GOOD[kind])
    name = "a" * 64 if kind.startswith("64") else None
    found = lint.check(Bundle(str(root), name))
    ignored = {"scripts/NAME.py"}
    assert [f for f in found if not any(word in f.got for word in ignored)] == []


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_bundle_is_found_by_its_code(tmp_path: Path, kind: str) -> None:
    files, code = BAD[kind]
    assert code in errors_of(tmp_path, files)


@pytest.mark.parametrize("kind", bundles.NAMES)
def test_a_name_that_only_one_validator_takes_is_refused(tmp_path: Path, kind: str) -> None:
    name, code = bundles.NAMES[kind]
    found = errors_of(tmp_path, bundles.head(f"name: {name}\ndescription: x"))
    assert code in found


@pytest.mark.parametrize("kind", bundles.WARNINGS)
def test_a_weakness_is_a_warning_and_no_error(tmp_path: Path, kind: str) -> None:
    files, code = bundles.WARNINGS[kind]
    root = bundles.write(tmp_path, files)
    assert code in codes(root, "warning")
    assert codes(root, "error") == []


@pytest.mark.parametrize("words", bundles.WORDINGS, ids=range(len(bundles.WORDINGS)))
def test_an_order_in_other_words_is_found(tmp_path: Path, words: tuple[str, str]) -> None:
    root = bundles.write(tmp_path, bundles.reference("Some text. " + " ".join(words) + ". More text."))
    assert "hidden.override" in codes(root, "error")


def test_a_finding_names_file_and_line(tmp_path: Path) -> None:
    root = bundles.write(tmp_path, bundles.reference(f"one\ntwo\n{bundles.ORDER}"))
    (finding,) = lint.check(Bundle(str(root)))
    assert finding.pointer == "references/x.md:5"
    root = bundles.write(tmp_path / "2", bundles.script("import os\n\nos.system(c)"))
    (finding,) = lint.check(Bundle(str(root)))
    assert (finding.pointer, finding.got) == ("scripts/x.py:3", '"os.system(c)"')


def test_program_files_that_nothing_leads_to_are_only_warned_about(tmp_path: Path) -> None:
    files: bundles.Files = {"tests/test_x.py": f'x = "{bundles.ORDER}"\n'}
    root = bundles.write(tmp_path, files)
    assert codes(root, "error") == [] and "hidden.override" in codes(root, "warning")
    root = bundles.write(tmp_path / "2", files | bundles.body("Look at [it](tests/test_x.py)."))
    assert "hidden.override" in codes(root, "error")


def test_an_allowance_of_the_caller_makes_one_finding_a_warning(tmp_path: Path) -> None:
    root = bundles.write(tmp_path, bundles.reference(bundles.ORDER) | {"references/y.md": bundles.ORDER})
    found = lint.check(Bundle(str(root)), ["hidden.override:references/x.md"])
    assert [(f.pointer.split(":")[0], f.severity) for f in found] == [
        ("references/y.md", "error"),
        ("references/x.md", "warning"),
    ]
    unused = lint.check(Bundle(str(bundles.write(tmp_path / "2", {}))), ["hidden.override:gone.md"])
    assert [f.code for f in unused] == ["use.allowance"]


def test_a_link_is_found_and_never_followed(tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text(bundles.ORDER)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "x.md").write_text(bundles.ORDER)
    root = bundles.write(tmp_path, bundles.body("[x](x.md) [y](more/x.md)"))
    (root / "x.md").symlink_to(tmp_path / "outside.md")
    (root / "more").symlink_to(tmp_path / "more")
    found = codes(root)
    assert found.count("bundle.link") == 2 and "hidden.override" not in found and "link.missing" in found


def test_a_folder_whose_name_begins_with_the_bundle_s_is_outside(tmp_path: Path) -> None:
    (tmp_path / "a-skill-x").mkdir()
    (tmp_path / "a-skill-x" / "x.md").write_text("x")
    assert "link.outside" in errors_of(tmp_path, bundles.body("[x](../a-skill-x/x.md)"))


def test_a_skill_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    root = bundles.write(tmp_path, {})
    (root / "SKILL.md").rename(tmp_path / "SKILL.md")
    (root / "SKILL.md").symlink_to(tmp_path / "SKILL.md")
    assert {"bundle.link", "skill.missing"} <= set(codes(root, "error"))


def test_the_folder_itself_may_be_a_link_named_after_the_skill(tmp_path: Path) -> None:
    root = bundles.write(tmp_path, {})
    root.rename(tmp_path / "checkout")
    assert "skill.name_folder" in codes(tmp_path / "checkout")
    assert codes(tmp_path / "checkout", name="a-skill") == []
    (tmp_path / "a-skill").symlink_to(tmp_path / "checkout")
    assert codes(tmp_path / "a-skill") == []


def test_pipes_devices_and_odd_names_are_found_without_waiting(tmp_path: Path) -> None:
    root = bundles.write(tmp_path, {"a\u202eb.md": "x", "A.txt": "x", "a.txt": "x"})
    os.mkfifo(root / "pipe.md")
    found = codes(root, "error")
    assert {"bundle.kind", "bundle.name", "bundle.name_collision"} <= set(found)


def test_a_folder_is_left_out_by_what_it_is_and_that_is_said(tmp_path: Path) -> None:
    root = bundles.write(tmp_path, {".git/x.md": bundles.ORDER, "v/pyvenv.cfg": "home = x\n", "v/x.md": bundles.ORDER})
    bundle = Bundle(str(root))
    assert lint.check(bundle) == []
    assert bundle.left_out == {".git": "version control", "v": "a virtual environment"}
    assert "link.left_out" in errors_of(tmp_path / "2", bundles.body("[x](.git/x.md)") | {".git/x.md": "x"})
    asked = Bundle(str(bundles.write(tmp_path / "3", {"old/x.md": bundles.ORDER})), leave_out=("old",))
    assert lint.check(asked) == [] and asked.left_out == {"old": "left out by the caller"}


def test_what_is_too_large_or_too_deep_is_an_error_and_never_a_pass(tmp_path: Path) -> None:
    assert "bundle.too_large" in errors_of(tmp_path, {"references/x.md": "x" * (MAX_FILE_BYTES + 1)})
    deep = "/".join(["d"] * 40) + "/x.md"
    assert "bundle.depth" in errors_of(tmp_path / "2", {deep: bundles.ORDER})


def test_too_many_files_are_could_not_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("_skill.skills.bundle.MAX_ENTRIES", 20)
    root = bundles.write(tmp_path, {f"x/{number}.md": "x" for number in range(30)})
    with pytest.raises(Refusal) as refusal:
        Bundle(str(root))
    assert refusal.value.exit_status == 2 and refusal.value.findings[0].code == "bundle.entries"


def test_a_check_that_takes_too_long_is_could_not_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = Bundle(str(bundles.write(tmp_path, {})))
    monkeypatch.setattr(bundle, "_deadline", 0.0)
    with pytest.raises(Refusal) as refusal:
        lint.check(bundle)
    assert refusal.value.exit_status == 2


HOSTILE = {
    "brackets": "[" * 100_000,
    "links": "[a](" * 25_000,
    "images in links": "[![" * 30_000,
    "comments": "<!--" * 50_000,
    "backticks": "".join("`" * (n % 9 + 1) + " " for n in range(20_000)),
    "tags": "<a" * 50_000,
    "styles": '<a style="' * 15_000,
    "quotes": "> " * 50_000,
    "letters": "a" * 200_000,
    "base64": "QUFB" * 50_000,
    "hexadecimal": "41" * 100_000,
    "pairs": "ab " * 65_000 + "g",
    "numbers": "99 " * 65_000 + "x",
    "entities": "&#65;" * 40_000,
    "verbs": "ignore " * 30_000,
    "fillers": "ignore " + "all the your system " * 10_000,
    "scripts": "scripts/" * 25_000,
    "blank lines": "\n" * 200_000,
    "pipes": "curl | " * 25_000,
    "sends": "send all the " * 15_000,
    "definitions": "[a]: b\n" * 25_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_text_makes_the_check_slow(tmp_path: Path, kind: str) -> None:
    files: bundles.Files = {"references/x.md": HOSTILE[kind], "scripts/x.sh": HOSTILE[kind]}
    root = bundles.write(tmp_path, files | bundles.body(HOSTILE[kind]))
    started = time.process_time()
    lint.check(Bundle(str(root)))
    assert time.process_time() - started < 4.0


def test_hostile_front_matter_ends_quickly(tmp_path: Path) -> None:
    for number, lines in enumerate(
        ["a: b\n" * 400, 'description: "' + "\\" * 100_001, "x:\n" + " " * 100_000 + "y: z"]
    ):
        root = bundles.write(tmp_path / str(number), bundles.head("name: a-skill\n" + lines))
        started = time.process_time()
        assert codes(root, "error")
        assert time.process_time() - started < 3.0


# The tool

Run = Callable[..., subprocess.CompletedProcess[str]]
TOOL = Path(__file__).resolve().parents[2] / "scripts" / "lint_skill.py"


@pytest.fixture
def lint_skill(tmp_path: Path, run: Run) -> Callable[..., dict[str, Any]]:
    def ask(*words: str | Path) -> dict[str, Any]:
        result = run([sys.executable, TOOL, *words, "--json"], cwd=tmp_path)
        assert "Traceback" not in result.stderr, result.stderr
        report: dict[str, Any] = json.loads(result.stdout)
        assert report["exit_status"] == result.returncode
        return report

    return ask


def test_strict_makes_warnings_count(lint_skill, tmp_path: Path) -> None:
    root = bundles.write(tmp_path, bundles.WARNINGS["a folded section"][0])
    assert lint_skill(root)["exit_status"] == 0
    assert lint_skill(root, "--strict")["exit_status"] == 1
    assert lint_skill(bundles.write(tmp_path / "2", {}), "--strict")["exit_status"] == 0


def test_what_was_not_looked_into_is_in_the_report(lint_skill, tmp_path: Path) -> None:
    report = lint_skill(bundles.write(tmp_path, {".git/HEAD": "x", "old/x.md": "x"}), "--leave-out", "old")
    assert report["left_out"] == [
        {"path": ".git", "why": "version control"},
        {"path": "old", "why": "left out by the caller"},
    ]


def test_a_folder_that_is_not_there_is_could_not_check(lint_skill) -> None:
    assert lint_skill("gone")["exit_status"] == 2
    assert lint_skill(TOOL)["exit_status"] == 2
    assert lint_skill("--allow", "nonsense")["findings"][0]["code"] == "use.wrong"


def test_a_long_list_of_findings_is_cut_and_errors_come_first(lint_skill, tmp_path: Path) -> None:
    files: bundles.Files = {f"references/{n}.md": "<details>\nx\n" for n in range(70)}
    report = lint_skill(bundles.write(tmp_path, files | {"references/z.md": bundles.ORDER}))
    assert report["findings"][0]["severity"] == "error" and len(report["findings"]) == 50
    assert report["findings_left_out"] == report["warnings"] + report["errors"] - 50


def test_scripts_run_only_on_request_and_are_bounded(
    lint_skill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    touch = f"open({str(mark)!r}, 'w').write('x')\n"
    root = bundles.write(
        tmp_path,
        {
            "scripts/good.py": "import argparse\nargparse.ArgumentParser().parse_args()\n",
            "scripts/mute.py": "",
            "scripts/fails.py": "raise SystemExit(3)\n",
            "scripts/asks.py": "input('name? ')\n",
            "scripts/writes.py": touch + "print('help')\n",
        },
    )
    assert lint_skill(root)["errors"] == 0 and not mark.exists()
    report = lint_skill(root, "--run-help")
    codes = {finding["pointer"]: finding["code"] for finding in report["findings"] if finding["severity"] == "error"}
    bad = {"scripts/mute.py", "scripts/fails.py", "scripts/asks.py"}
    assert bad <= set(codes) and all(codes[name] == "script.no_help" for name in bad)
    if not report["not_bounded"]:
        assert not mark.exists() and "scripts/writes.py" in codes, "a script that writes elsewhere fails"
    assert "scripts/good.py" not in codes
    monkeypatch.setattr(answers, "SECONDS", 0.5)
    slow = bundles.write(tmp_path / "2", {"scripts/slow.py": "import time\ntime.sleep(60)\n"})
    started = time.monotonic()
    assert [finding.code for finding in answers.check(Bundle(str(slow)))] == ["script.hangs"]
    assert time.monotonic() - started < 20


def test_many_equal_headings_take_no_longer_each() -> None:
    started = time.process_time()
    assert len(markdown.anchors("\n# Title\n-" * 30000)) == 30000
    assert time.process_time() - started < 2

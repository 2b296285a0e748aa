"""FC-F03 · Arguments reach a shell.

Commands are lists of words, no value stands where an option could, and names are strict. What is odd is refused, or is
kept as one quoted word; nothing in it is ever executed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from ..scripts.gate_bundle import ROOT, Bundle, build_bundle

SHELL = [
    "a; touch {marker}",
    "$(touch {marker})",
    "`touch {marker}`",
    "a && touch {marker}",
    "a | touch {marker}",
    "a\ntouch {marker}",
    "a\r\ntouch {marker}",
    "a > {marker}",
    "${{IFS}}touch${{IFS}}{marker}",
    "a'; touch {marker}; '",
    'a"; touch {marker}; "',
    "a\\\ntouch {marker}",
    "python -c \"open('{marker}','w')\"",
    "*",
    "~",
]
OPTIONS = ["--config=x", "-c", "-", "--", "-e open('{marker}','w')", "--opt-in", "--help=1", "-m", "@{marker}"]
TEXT = [
    "a\u202eb",
    "a\u200bb",
    "\u0430bc",
    "a\x00b",
    "a\x1b[31mb",
    "\uff0d\uff0dopt",
    "a\u2028b",
    "x" * 300,
    "",
    " ",
    ".",
    "..",
]


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return build_bundle(tmp_path / "bundle")


def filled(word: str, bundle: Bundle) -> str:
    return word.format(marker=bundle.work / "marker") if "{" in word else word


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """One bundle for all refusals: none of them leaves anything."""
    return build_bundle(tmp_path_factory.mktemp("odd") / "bundle")


@pytest.mark.parametrize(("number", "word"), list(enumerate([*SHELL, *OPTIONS, *TEXT])))
def test_an_odd_name_is_refused_everywhere_and_never_executed(shared: Bundle, number: int, word: str) -> None:
    bundle, value = shared, filled(word, shared)
    if "\x00" in value:
        # No system passes such a word; in a file it can stand.
        bundle.plan()
        document = json.loads((bundle.work / "plan.json").read_text())
        (bundle.work / "plan.json").write_text(json.dumps({**document, "run": value}))
        assert bundle.run("launch", "run", "--plan", "plan.json", "--opt-in").returncode == 1
        return
    others = (f"--env={value}", f"--set={value}", f"--set=environment.name={value}")
    for words in (f"--run={value}", others[number % 3]):
        result = bundle.run("launch", "quickstart", "--env", "fake", "--opt-in", words)
        assert result.returncode in (1, 2), (words, result.stdout[-300:])
        assert "Traceback" not in result.stderr
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202e\u2028]", result.stdout + result.stderr)
    assert not (bundle.work / "marker").exists() and not (bundle.work / "runs").exists()


@pytest.mark.parametrize("word", ["--config=x", "-rf", "; touch marker", "$(touch marker)"])
def test_a_value_never_stands_where_an_option_could(bundle: Bundle, word: str) -> None:
    # As the value of an option, and as a word of its own.
    for words in (("launch", "resume", word), ("audit", "verify", word), ("approve", word, "--by", "x")):
        result = bundle.run(words[0], *words[1:])
        assert result.returncode in (1, 2)
    assert bundle.run("approve", "plan.json", "--by", word).returncode in (1, 2)
    assert not (bundle.work / "marker").exists()


def test_a_folder_with_an_odd_name_is_one_word_to_the_child_and_quoted_for_people(bundle: Bundle) -> None:
    folder = bundle.root.parent / "odd; touch marker $(touch marker) 'x' --resume" / "fake"
    folder.mkdir(parents=True)
    (folder / "fake.h").write_bytes((bundle.root / "native_profile/pufferlib/ocean/fake/fake.h").read_bytes())
    shown = bundle.json("launch", "quickstart", "--env", "fake", "--env-path", str(folder))
    planning = shown["next"][0]
    assert str(folder) in shlex.split(planning)
    words = ["--env-path", str(folder), "--set=environment.settings.mode=11", "--run", "r", "--out", "plan.json"]
    assert bundle.run("make_plan", "fake", *words).returncode == 0
    bundle.approve()
    report = bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")
    assert report["result"] == "complete"
    seen = json.loads((bundle.work / "runs/r/seen.json").read_text())
    assert "--resume" not in seen["arguments"] and not list(bundle.root.parent.rglob("marker"))
    for command in report["next"]:
        assert all("touch" not in word or word == str(folder) for word in shlex.split(command))


def test_a_working_folder_with_an_odd_name_works_and_is_quoted(bundle: Bundle) -> None:
    bundle.work = bundle.root.parent / "work; touch marker `touch marker` \u202e"
    bundle.work.mkdir()
    report = bundle.launch(mode="shows")
    assert report["result"] == "complete"
    shown = bundle.run("launch", "quickstart", "--env", "fake").stdout
    assert "\u202e" not in shown
    started = json.loads((bundle.work / "runs/r/audit.jsonl").read_text().splitlines()[2])["data"]
    # The record keeps each word apart, and escapes what does not print.
    assert started["command"][3:5] == ["pufferlib", "train"] and "\\u202e" in started["command"][6]
    assert not list(bundle.root.parent.rglob("marker"))


def test_a_reason_and_a_name_may_say_anything_printable_and_are_data(bundle: Bundle) -> None:
    bundle.plan()
    reason = "$(touch marker); `touch marker` --opt-in"
    assert bundle.run("approve", "plan.json", "--by", "--opt-in").returncode in (1, 2)
    assert bundle.run("approve", "plan.json", "--by", "a; touch marker", f"--reason={reason}").returncode == 0
    assert bundle.run("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json").returncode == 0
    assert not (bundle.work / "marker").exists()
    assert reason in json.loads((bundle.work / "runs/r/approval.json").read_text())["reason"]


def test_variables_with_odd_values_reach_no_shell(bundle: Bundle) -> None:
    marker = bundle.work / "marker"
    odd = f"$(touch {marker}); `touch {marker}`"
    # Loader and interpreter variables that run code, and values that a shell would run.
    bundle.variables.update(BASH_ENV=odd, ENV=odd, LD_PRELOAD="", PYTHONINSPECT="", CXX=odd, TERM=odd, CI=odd)
    result = bundle.run("launch", "quickstart", "--env", "fake", "--run", "r", "--opt-in")
    assert result.returncode in (0, 1, 2) and not marker.exists()


def test_no_script_of_the_gate_can_reach_a_shell() -> None:
    found = []
    for path in sorted((ROOT / "scripts").rglob("*.py")):
        source = path.read_text()
        for word in ("shell=True", "os.system(", "os.popen(", "getoutput(", "pty.spawn(", "eval(", "exec("):
            for match in re.finditer(rf"(?<![\w.\"'`]){re.escape(word)}", source):
                line = source[: match.start()].count("\n") + 1
                text = source.splitlines()[line - 1].strip()
                found.append(f"{os.path.relpath(path, ROOT)}:{line}: {text}")
    gate = [line for line in found if "/gate/" in line or "/process/" in line or line.count("/") == 1]
    assert gate == []

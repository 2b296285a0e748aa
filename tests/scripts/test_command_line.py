"""Every tool: instant one-screen help, JSON on demand, honest exit statuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

import pytest

from .gate_bundle import ROOT, Bundle

TOOLS = sorted(path.stem for path in (ROOT / "scripts").glob("*.py"))
COMMANDS = [[tool] for tool in TOOLS]
COMMANDS += [["launch", name] for name in ("quickstart", "run", "resume")]
COMMANDS += [["audit", name] for name in ("verify", "show")]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_fits_on_one_screen_with_exit_statuses_and_an_example(bundle: Bundle, command: list[str]) -> None:
    result = bundle.run(*command, "--help")
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) <= 30
    assert "exit status: 0" in result.stdout
    assert "example: python3 scripts/" in result.stdout


@pytest.mark.parametrize("tool", TOOLS)
def test_help_is_there_within_a_tenth_of_a_second(tool: str) -> None:
    # The interpreter's own start is measured beside it: a machine that is busy is slow at both.
    def fastest(arguments: list[str]) -> float:
        seconds = []
        for _ in range(7):
            started = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - started)
        return min(seconds)

    start = fastest(["-c", "pass"])
    assert fastest([str(ROOT / "scripts" / f"{tool}.py"), "--help"]) < 0.1 + max(0.0, start - 0.03)


@pytest.mark.parametrize("tool", TOOLS)
def test_runs_alone_without_dependencies(tool: str) -> None:
    text = (ROOT / "scripts" / f"{tool}.py").read_text()
    assert '# requires-python = ">=3.10"\n# dependencies = []\n' in text
    assert os.access(ROOT / "scripts" / f"{tool}.py", os.X_OK)


@pytest.mark.parametrize("path", sorted((ROOT / "scripts").rglob("*.py")), ids=lambda path: path.name)
def test_imports_the_standard_library_only_and_never_the_engine(path) -> None:
    for module in re.findall(r"^\s*(?:from|import) ([A-Za-z_][\w]*)", path.read_text(), re.MULTILINE):
        assert module in {*sys.stdlib_module_names, "_skill"}, module


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["launch", "quikstart"], "quickstart"),
        (["launch", "quickstart", "--opt-inn"], "--opt-in"),
        (["launch", "quickstart", "--opt"], "--opt-in"),
        (["launch", "run", "--plan", "x", "--aproval", "y"], "--approval"),
        (["audit", "verfy", "x"], "verify"),
        (["approve", "plan.json", "--expire-in", "1h"], "--expires-in"),
    ],
)
def test_a_wrong_command_or_flag_names_the_nearest(bundle: Bundle, arguments: list[str], near: str) -> None:
    report = bundle.json(*arguments)
    assert report["exit_status"] == 2
    assert report["findings"][0]["fix"] == f"did you mean {near}?"


@pytest.mark.parametrize(
    "arguments", [["launch"], ["audit"], ["launch", "run"], ["approve"], ["approve", "x"], ["audit", "show"]]
)
def test_wrong_use_is_exit_2(bundle: Bundle, arguments: list[str]) -> None:
    assert bundle.run(*arguments).returncode == 2


def test_json_may_stand_before_the_command(bundle: Bundle) -> None:
    result = bundle.run("launch", "--json", "quickstart", "--env", "fake")
    assert (json.loads(result.stdout)["exit_status"], result.returncode) == (1, 1)


def test_a_closed_pipe_changes_neither_status_nor_output(bundle: Bundle) -> None:
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run(
        bundle.command("make_plan", "fake"),
        cwd=bundle.work,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (result.returncode, result.stderr) == (0, "")


def test_an_error_in_the_tool_itself_is_never_exit_1(bundle: Bundle) -> None:
    (bundle.root / "schemas" / "plan.schema.json").write_text('{"anyOf": []}')
    result = bundle.run("make_plan", "fake", "--json")
    assert result.returncode == 2
    assert json.loads(result.stdout)["findings"][0]["code"] == "internal.error"
    assert "SchemaError" in result.stderr

"""C environments are run under sanitizers and held to the contract: each fault is found, honest ones pass."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from _skill import layout, machine
from _skill.contracts import c_build, c_environment
from _skill.contracts.contract import COULD_NOT_CHECK, PASSED, CheckOptions, Contract
from _skill.findings import Refusal
from _skill.plans import environment_folder

from .faults import HONEST, RUN, Fault, header

STEPS = 120


def check(folder: Path, written: str, seconds: int = 20, **kwargs: Any) -> Contract:
    folder.mkdir(exist_ok=True)
    (folder / "line.h").write_text(written, encoding="utf-8")
    options = CheckOptions("line", api="c", steps=STEPS, seconds=seconds, kwargs=dict(kwargs))
    return c_environment.check(options, "line", str(folder / "line.h"))


@pytest.mark.parametrize("name", environment_folder.built_in_names())
def test_every_shipped_environment_keeps_the_contract(name: str) -> None:
    folder = os.path.join(layout.ENVIRONMENTS, name)
    contract = c_environment.check(CheckOptions(name, api="c"), name, os.path.join(folder, f"{name}.h"))
    assert contract.findings == []
    assert contract.exit_status() == 0
    assert {check.status for check in contract.checks} <= {PASSED, "not_applicable"}
    assert contract.measured["steps"] == 2500
    assert contract.spec is not None
    loaded = environment_folder.load(name, None).header
    assert contract.spec.agents == loaded.agents
    assert contract.spec.observation[0].shape == loaded.observation_shape
    assert contract.spec.action[0].sizes == loaded.action_sizes


def test_the_honest_environment_passes_with_its_spec(tmp_path: Path) -> None:
    contract = check(tmp_path, HONEST, max_steps=20)
    assert contract.findings == []
    assert contract.spec is not None
    assert contract.spec.as_json() == {
        "api": "c",
        "agents": 2,
        "observation": [{"path": "", "dtype": "float32", "shape": [2, 2]}],
        "action": [{"path": "", "kind": "discrete", "dtype": "int32", "shape": [], "sizes": [3], "start": [0]}],
        "autoreset": "same_step",
    }


@pytest.mark.parametrize("fault", RUN, ids=lambda fault: fault.about)
def test_each_fault_is_found_at_its_place(tmp_path: Path, fault: Fault) -> None:
    try:
        contract = check(tmp_path, header(fault.changes), fault.seconds)
    except Refusal as refused:
        assert (refused.findings[0].code, refused.exit_status) == (fault.code, fault.status)
        return
    named = [finding for finding in contract.findings if finding.code in fault.code.split()]
    assert named, contract.findings
    assert any(fault.place in finding.pointer for finding in named), named
    assert contract.exit_status() == fault.status, contract.findings


def test_without_a_compiler_nothing_is_checked_and_the_command_that_helps_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("sys.path", [])
    with pytest.raises(Refusal) as caught:
        check(tmp_path, HONEST)
    assert caught.value.exit_status == 2
    assert caught.value.findings[0].code == "c_env.no_compiler"
    assert "apt-get install g++" in caught.value.findings[0].fix


def test_what_the_text_shows_is_found_without_a_compiler_and_the_rest_is_no_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "/nowhere/c++")
    contract = check(tmp_path, header({"STEP": "rand();"}))
    assert [finding.code for finding in contract.findings] == ["c_source.random"]
    assert contract.exit_status() == 1
    assert {check.status for check in contract.checks if check.name != "source"} == {COULD_NOT_CHECK}


def test_a_compiler_without_sanitizers_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(
        '#!/bin/sh\nfor word in "$@"; do\n'
        'case "$word" in -fsanitize*) echo "cannot find -lasan" >&2; exit 1;; esac\n'
        "done\n"
        'exec g++ "$@"\n'
    )
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(Refusal) as caught:
        check(tmp_path / "environment", HONEST)
    assert (caught.value.exit_status, caught.value.findings[0].code) == (2, "c_env.no_sanitizer")


def test_a_compiler_that_knows_no_strict_bounds_is_asked_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(
        '#!/bin/sh\nfor word in "$@"; do\n'
        'case "$word" in *bounds-strict)\n'
        "echo \"error: unsupported argument 'bounds-strict' to option '-fsanitize='\" >&2\n"
        'exit 1;; esac\ndone\nexec g++ "$@"\n'
    )
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", str(compiler))
    assert check(tmp_path / "environment", HONEST).exit_status() == 0


@pytest.mark.parametrize(
    "change", ["__attribute__((constructor)) static void early(void) { for (;;) {} }", '#include "/dev/zero"']
)
def test_what_could_harm_the_compiler_or_run_before_main_is_not_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(c_build, "build", None)
    contract = check(tmp_path, header({"GLOBAL": change}))
    assert contract.exit_status() == 1
    assert "not compiled and not run" in contract.notes[0]
    assert {one.status for one in contract.checks if one.name != "source"} == {COULD_NOT_CHECK}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("max_step", 5, "did you mean max_steps?"),
        ("max_steps", 0, ""),
        ("max_steps", 1001, ""),
        ("max_steps", 2.5, ""),
        ("max_steps", True, ""),
        ("pay", "1", ""),
        ("pay", float("nan"), ""),
    ],
)
def test_a_setting_that_cannot_be_is_refused(tmp_path: Path, name: str, value: Any, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        check(tmp_path, HONEST, **{name: value})
    assert caught.value.exit_status == 2
    assert words in caught.value.findings[0].fix


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    before = set(os.listdir("/proc")) if os.path.isdir("/proc") else set()
    check(tmp_path / "honest", HONEST)
    check(tmp_path / "loop", header({"RESET": "while (s->goal >= 0) s->steps ^= 1;"}), 3)
    assert list(scratch.iterdir()) == []
    mine = [pid for pid in set(os.listdir("/proc")) - before if pid.isdigit()] if before else []
    assert [pid for pid in mine if "driver" in _name(pid)] == []


def _name(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def test_a_header_with_windows_line_ends_and_without_settings_or_statistics_passes(tmp_path: Path) -> None:
    bare = HONEST.replace('"steps until an episode is truncated") \\\n', '"steps")\\\n').replace("\n", "\r\n")
    assert check(tmp_path, bare).findings == []
    settings = bare.index("#define ENV_SETTINGS")
    statistics = bare.index("#define ENV_STATISTICS")
    bare = (
        bare[:settings]
        + "#define ENV_SETTINGS(SETTING)\r\n#define ENV_STATISTICS(STATISTIC)\r\n"
        + bare[bare.index("#include", statistics) :]
    )
    bare = bare.replace("c->max_steps", "30").replace("c->pay", "1.0f").replace("(void)there", "")
    bare = bare.replace("out->reached = s->at[0] == s->goal ? 1.0f : 0.0f; //STATISTIC", "(void)s; (void)out;")
    bare = bare.replace("    int there = 0;", "    int there = 0; (void)c;")
    contract = check(tmp_path, bare)
    assert contract.findings == []
    assert {one.status for one in contract.checks} == {PASSED, "not_applicable"}


def test_a_compiler_that_compiles_nothing_is_no_fault_of_the_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "/bin/false -v")
    with pytest.raises(Refusal) as caught:
        check(tmp_path, HONEST)
    assert (caught.value.exit_status, caught.value.findings[0].code) == (2, "c_env.no_compiler")


def test_a_header_that_takes_the_compiler_for_ever_or_all_memory_is_ended(tmp_path: Path) -> None:
    doubling = "".join(f"#define T{i} T{i - 1} T{i - 1}\n" for i in range(1, 60))
    contract = check(tmp_path, header({"GLOBAL": f"#define T0 +1\n{doubling}", "STEP": "s->goal += 0 * (0 T40);"}), 3)
    assert [finding.code for finding in contract.findings] == ["c_env.compile"]


def test_a_check_that_runs_out_of_time_is_no_pass_and_no_fault(tmp_path: Path) -> None:
    slow = header({"STEP": "for (volatile int i = 0; i < 3000000; i++) {}"})
    contract = check(tmp_path, slow, 3)
    assert {finding.severity for finding in contract.findings} == {"warning"}
    assert contract.exit_status() == 2


def test_an_observation_range_that_is_none_does_not_compile(tmp_path: Path) -> None:
    contract = check(tmp_path, header({"ENV_OBSERVATION_RANGE -1.0f, 1.0f": "ENV_OBSERVATION_RANGE 1.0f"}))
    assert [finding.code for finding in contract.findings] == ["c_env.compile"]


def test_the_driver_has_no_warnings_for_any_environment() -> None:
    compiler = machine.find_compiler(os.environ)
    assert compiler
    for name in environment_folder.built_in_names():
        folder = os.path.join(layout.ENVIRONMENTS, name)
        for language in (["-x", "c", "-std=c11", "-D_GNU_SOURCE"], ["-x", "c++", "-std=c++17"]):
            words = [compiler, *language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", c_build.INCLUDE]
            words += ["-iquote", folder, f'-DENV_HEADER="{name}.h"', c_build.DRIVER]
            done = subprocess.run(words, capture_output=True, text=True, timeout=60)
            assert (done.returncode, done.stderr) == (0, "")

"""What the driver says becomes findings with places; what it cannot have said is a finding too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from _skill import layout
from _skill.contracts import c_child, c_environment, c_findings
from _skill.contracts.contract import CheckOptions, Contract, Place
from _skill.findings import Refusal
from _skill.plans import environment_folder

from .faults import HONEST, external, header

BOUNDS = c_child.Bounds(10, 512)
BREAKOUT = environment_folder.load("breakout", None).header
PYTHON = [sys.executable, "-I", "-c"]


def check(folder: Path, written: str, memory_mb: int = 4096) -> Contract:
    (folder / "line.h").write_text(written, encoding="utf-8")
    options = CheckOptions("line", api="c", steps=100, seconds=20, memory_mb=memory_mb)
    return c_environment.check(options, "line", str(folder / "line.h"))


def codes(contract: Contract) -> dict[str, str]:
    return {finding.code: finding.severity for finding in contract.findings}


def test_warnings_are_shown_and_do_not_refuse(tmp_path: Path) -> None:
    changes = {
        "#define ENV_OBSERVATION_RANGE -1.0f, 1.0f\n": "",
        "(float)s->seen[s->goal]; //LAST": "100.0f;",
        "RENDER": "for (int i = 0; i < 1100; i++) draw_circle(canvas, 0u, 0.0f, 0.0f, 1.0f);",
        "STEP": "int never_used = 5;",
    }
    contract = check(tmp_path, header(changes))
    assert codes(contract) == dict.fromkeys(
        ["c_env.warning", "c_env.observation_scale", "c_env.canvas_full"], "warning"
    )
    assert contract.exit_status() == 0


def test_a_state_that_knows_its_own_address_is_not_plain(tmp_path: Path) -> None:
    changes = {
        "MEMBER": "uint64_t self;",
        "RESET": "s->self = (uint64_t)(size_t)s;",
        "STEP": "if (s->self != (uint64_t)(size_t)s) out->reward[0] += 0.5f;",
    }
    contract = check(tmp_path, header(changes))
    assert codes(contract) == {"c_env.state_not_plain": "error"}


def test_memory_beyond_the_limit_ends_the_environment(tmp_path: Path) -> None:
    grow = "volatile char* p = (volatile char*)malloc(8 << 20); for (int i = 0; i < 8 << 20; i += 512) p[i] = 1;"
    contract = check(tmp_path, header({"GLOBAL": external("void* malloc(size_t)"), "STEP": grow}), 256)
    assert "c_env.memory_limit" in codes(contract)


def test_a_line_that_the_driver_does_not_write_is_a_finding_and_text_of_it_is_escaped() -> None:
    words = ["found", "c_env.\x1b[31m", "1", "2", "3", "x" * 50, "99", "-1", "-1", "0", "\x1b[2J" * 30, "\u202eabc"]
    finding = c_findings.of_line(words, BREAKOUT, "play")
    assert finding.code == "c_env.unknown"
    assert all(part.isprintable() and len(part) < 400 for part in finding)


def test_indices_are_those_of_the_declared_shape() -> None:
    squared = environment_folder.load("squared", None).header
    words = "found c_env.observation_not_finite 1 0 2 7 3 0 25 nan random -".split()
    assert (
        c_findings.of_line(words, squared, "play").pointer
        == "observe, episode 2, step 7, agent 0, leaf /, index [2, 3]"
    )


def test_what_the_engine_never_does_is_a_warning() -> None:
    words = "found c_env.reward_not_finite 1 0 2 7 2 0 -1 nan outside -".split()
    assert c_findings.of_line(words, BREAKOUT, "outside").severity == "warning"
    assert c_findings.of_line(words, BREAKOUT, "play").severity == "error"


def run_with(seeds: list[str], draws: float) -> c_environment._Run:
    ended = c_child.Ended(0, None, None, "", "", 0, "", 0.0, 0)
    numbered = {(str(index), "0"): digest for index, digest in enumerate(seeds)}
    return c_environment._Run(ended, {"draws": [draws]}, [], numbered, [])


@pytest.mark.parametrize(
    ("seeds", "draws", "code"),
    [
        (["a", "b", "c"], 1, None),
        (["a", "a", "b"], 1, "c_env.seed_collision"),
        (["a", "a", "a"], 1, "c_env.seed_ignored"),
        (["a", "a", "a"], 0, "c_env.seed_unused"),
    ],
)
def test_traces_of_different_seeds_differ(seeds: list[str], draws: float, code: str | None) -> None:
    found = c_environment._seeds(run_with(seeds, draws))
    assert [finding.code for finding in found] == ([code] if code else [])


def end(log: str = "", **changes: Any) -> str | None:
    ended = c_child.Ended(0, None, None, "", "", 0, "done play\n", 0.0, 0)._replace(**changes)
    finding = c_findings.of_end(ended, log, Place(call="step"), "seed 1", "play", {"line.h"})
    return finding.code if finding else None


def test_every_way_to_end_has_its_code() -> None:
    assert end() is None
    assert end(report="") == "c_env.exit"
    assert end(exit_status=3) == "c_env.exit"
    assert end(signal="SIGSEGV", exit_status=None) == "c_env.crash"
    assert end(limit="hang") == "c_env.hang"
    assert end(limit="time") == "c_env.slow"
    assert end(limit="memory") == "c_env.memory_limit"
    assert end(limit="output") == "c_env.output"
    assert end("==7==ERROR: AddressSanitizer: heap-buffer-overflow on address", exit_status=99) == "c_env.memory"
    assert end("line.h:7:3: runtime error: index 9 out of bounds", exit_status=1) == "c_env.undefined"
    leak = "==7==ERROR: LeakSanitizer: detected memory leaks\n    #1 0x55 in driver_step line.h:9"
    assert end(leak, exit_status=99) == "c_env.leak"


def test_a_child_is_ended_at_each_bound_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    work = str(tmp_path)
    started = time.monotonic()
    assert c_child.run([*PYTHON, "while True: pass"], work, c_child.Bounds(0.5, 512)).limit == "time"
    assert c_child.run([*PYTHON, "x = bytearray(1 << 30)"], work, c_child.Bounds(10, 64)).limit == "memory"
    assert c_child.run([*PYTHON, "while True: print('x' * 9999)"], work, BOUNDS).limit == "output"
    quiet = c_child.Bounds(10, 512, quiet_seconds=0.3)
    assert c_child.run([*PYTHON, "import time; time.sleep(60)"], work, quiet, moved=lambda: b"").limit == "hang"
    fork = "import os, time\nif os.fork() == 0:\n os.setsid()\n time.sleep(60)\nprint('parent', flush=True)"
    assert c_child.run([*PYTHON, fork], work, BOUNDS).stdout == "parent\n"
    assert time.monotonic() - started < 20


def test_a_child_has_no_network_no_credential_and_writes_in_its_folder_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "a-secret")
    held = {one.name: one.held for one in c_child.isolation(BOUNDS)}
    work = tmp_path / "work"
    work.mkdir()
    look = "import os, sys; sys.stdout.write(repr(sorted(os.environ)))"
    assert "WANDB_API_KEY" not in c_child.run([*PYTHON, look], str(work), BOUNDS).stdout
    if held["files"]:
        writing = "open('inside', 'w')\ntry:\n open('../outside', 'w')\nexcept OSError: print('refused')"
        assert c_child.run([*PYTHON, writing], str(work), BOUNDS).stdout == "refused\n"
        assert not (tmp_path / "outside").exists()
    if held["network"]:
        names = "import socket; print([name for _, name in socket.if_nameindex()])"
        assert c_child.run([*PYTHON, names], str(work), BOUNDS).stdout == "['lo']\n"


def test_a_program_that_is_not_there_could_not_be_started(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        c_child.run([str(tmp_path / "nothing")], str(tmp_path), BOUNDS)
    assert (caught.value.exit_status, caught.value.findings[0].code) == (2, "c_env.start")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_check_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    folder, scratch = tmp_path / "line", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    (folder / "line.h").write_text(header({"STEP": "while (s->steps == 9) s->goal = (s->goal + s->steps) & 7;"}))
    words = [sys.executable, os.path.join(layout.SCRIPTS, "check_env.py"), str(folder)]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(scratch)}
    )
    deadline = time.monotonic() + 60
    while not list(scratch.glob("check-c-env-*/driver")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert list(scratch.iterdir()) == []


def test_the_tool_itself_checks_a_folder(run, tmp_path: Path) -> None:
    folder = tmp_path / "line"
    folder.mkdir()
    (folder / "line.h").write_text(HONEST)
    tool = os.path.join(layout.SCRIPTS, "check_env.py")
    passed = run([sys.executable, tool, folder, "--steps", "50", "--kwargs", '{"max_steps": 20}'])
    assert passed.returncode == 0, passed.stderr
    refused = run([sys.executable, tool, folder, "--kwargs", '{"max_step": 20}'])
    assert refused.returncode == 2
    assert "[c_env.setting]" in refused.stderr and "max_steps" in refused.stderr
    (folder / "line.h").write_text(header({"STEP": "if (s->steps == 3) out->reward[1] = 1e38f * 1e38f;"}))
    found = run([sys.executable, tool, folder, "--steps", "50"])
    assert found.returncode == 1
    assert "[c_env.reward_not_finite]" in found.stderr and "step 3, agent 1" in found.stderr

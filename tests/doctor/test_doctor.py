"""doctor.py says what is there, what is missing, what could not be found out, and the command that mends it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _skill import machine
from _skill.doctor import compiling, examination, packages, profiles, resources, system, trial
from _skill.doctor.row import COULD_NOT, LOW, MISSING, OK, Request, Row
from _skill.findings import Refusal
from _skill.json_schema import Schema

ROOT = Path(__file__).resolve().parents[2]
Doctor = Callable[..., dict[str, Any]]


@pytest.fixture
def doctor(tmp_path: Path, run: Callable[..., subprocess.CompletedProcess[str]]) -> Doctor:
    """``doctor("--profile", "3.0", env={...})``: the JSON report of the tool, run as a person does."""

    def ask(*arguments: str, env: dict[str, str] | None = None) -> dict[str, Any]:
        command = [sys.executable, ROOT / "scripts" / "doctor.py", *arguments, "--json"]
        result = run(command, cwd=tmp_path, env=env, timeout=60)
        assert "Traceback" not in result.stderr, result.stderr
        report: dict[str, Any] = json.loads(result.stdout)
        assert report["exit_status"] == result.returncode
        return report

    return ask


def row(report: dict[str, Any], name: str) -> dict[str, str]:
    found: dict[str, str] = next(check for check in report["checks"] if check["name"] == name)
    return found


def package(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    """A package as an installer leaves it."""
    (folder / f"{name}-{version}.dist-info").mkdir(parents=True)
    for path, content in files.items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_text(content)


def compiled(folder: Path, source: str, name: str) -> None:
    """A small shared library."""
    (folder / "x.c").write_text(source)
    command = ["cc", "-shared", "-fPIC", str(folder / "x.c"), "-o", str(folder / name)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    (folder / "x.c").unlink()


def request(**changes: Any) -> Request:
    return Request(machine.measure(programs=False)._replace(**changes), ".", False)


def test_here_the_default_profile_can_run_and_the_machine_is_a_document_of_its_own(doctor: Doctor) -> None:
    report = doctor()
    assert (report["status"], report["findings"]) == ("ok", [])
    assert Schema.shipped("machine").findings(report["machine"]) == []
    assert {check["state"] for check in report["checks"]} <= {OK, LOW, MISSING, COULD_NOT}
    assert row(report, "compiler")["state"] == OK
    assert [verdict["profile"] for verdict in report["profiles"]] == sorted(
        path.stem for path in (ROOT / "native_profile" / "pins").glob("*.json")
    )


def test_the_whole_examination_takes_seconds_at_most(doctor: Doctor) -> None:
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        doctor()
        seconds.append(time.perf_counter() - started)
    # 0.5 s where nothing else runs; the tests share their machine.
    assert min(seconds) < 4.0


def test_both_forms_of_the_machine_can_be_read_back(doctor: Doctor, tmp_path: Path) -> None:
    report = doctor("--machine-out", "machine.json")
    (tmp_path / "report.json").write_text(json.dumps(report))
    alone, inside = machine.read(str(tmp_path / "machine.json")), machine.read(str(tmp_path / "report.json"))
    assert alone == inside and alone.cores == report["machine"]["cores"]
    again = doctor("--machine-out", "machine.json")
    assert (again["exit_status"], again["findings"][-1]["code"]) == (1, "file.exists")


def test_no_compiler_is_a_problem_with_the_command_that_installs_one(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    report = doctor(env={"PATH": str(tmp_path / "empty")})
    assert report["exit_status"] == 1
    (finding,) = report["findings"]
    assert finding["code"] == "doctor.compiler"
    assert any(word in finding["fix"] for word in ("apt-get install g++", "ziglang", "dnf", "apk", "xcode"))
    assert report["profiles"][-1]["lacks"] == ["compiler"]


def test_a_compiler_that_is_named_and_missing_is_named(doctor: Doctor) -> None:
    report = doctor(env={"CXX": "gone++"})
    assert "CXX names" in row(report, "compiler")["found"] and report["exit_status"] == 1


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_compiler_that_fails_shows_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(program(tmp_path, "c++", "echo 'fatal error: cstdint is not there' >&2; exit 1")))
    (found,) = compiling.check(request())
    assert found.state == MISSING and "cstdint is not there" in found.found and found.fix


def test_a_program_that_does_not_run_is_told_from_one_that_does_not_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = 'while [ "$1" != -o ]; do shift; done; printf "#!/bin/sh\\nexit 3\\n" > "$2"; chmod +x "$2"'
    monkeypatch.setenv("CXX", str(program(tmp_path, "c++", script)))
    found = compiling.check(request())
    assert found[0].state == MISSING and "exit status 3" in found[0].found and "TMPDIR" in found[0].fix


def test_a_compiler_without_sanitizers_still_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which("c++") or "c++"
    script = f'case "$*" in *-fsanitize*) echo "cannot find -lasan" >&2; exit 1;; esac; exec {real} "$@"'
    monkeypatch.setenv("CXX", str(program(tmp_path, "c++", script)))
    compiler, sanitizers = compiling.check(request())
    assert (compiler.state, sanitizers.state) == (OK, LOW) and "-lasan" in sanitizers.found


def test_a_compiler_that_hangs_could_not_be_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "SECONDS", 0.3)
    monkeypatch.setenv("CXX", str(program(tmp_path, "c++", "sleep 60")))
    (found,) = compiling.check(request())
    assert found.state == COULD_NOT and "0.3 s" in found.found


def test_could_not_check_is_exit_2_and_never_a_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, doctor: Doctor
) -> None:
    rows = [row for row in examination.examine(request()) if row.name != "compiler"]
    verdict = profiles.judge(request(), [*rows, Row("compiler", COULD_NOT, "no answer")], "4.0")
    assert verdict.state == COULD_NOT and [lack.name for lack in verdict.lacks] == ["compiler"]
    (tmp_path / "no-room").write_text("a file where a folder was expected")
    report = doctor(env={"TMPDIR": str(tmp_path / "no-room")})
    # Python falls back to another temporary folder, so this machine is still judged.
    assert report["exit_status"] in (0, 2)


# The field's case: extension, torch and device are listed before a launch, with the loader's own words.


def test_a_package_whose_import_fails_shows_the_loader_s_own_message(doctor: Doctor, tmp_path: Path) -> None:
    site = tmp_path / "site"
    package(site, "pufferlib", "3.0.0", {"__init__.py": "from pufferlib import _C\n"})
    compiled(site / "pufferlib", "int missing_symbol(void); int f(void) { return missing_symbol(); }\n", "_C.so")
    quiet = row(doctor(env={"PYTHONPATH": str(site)}), "package pufferlib")
    assert (quiet["state"], quiet["found"]) == (OK, "3.0.0"), "nothing is imported unless it was asked for"
    loud = row(doctor("--try-imports", env={"PYTHONPATH": str(site), "LD_BIND_NOW": "1"}), "package pufferlib")
    assert loud["state"] == MISSING and loud["fix"]
    assert "ImportError" in loud["found"] and ("missing_symbol" in loud["found"] or "PyInit__C" in loud["found"])


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ImportError('libcudart.so.12: cannot open shared object file')", "libcudart.so.12"),
        ("import os\nos.abort()", "signal 6"),
        ("import time\ntime.sleep(60)", "no answer within"),
        ("raise RuntimeError('x' * 100000 + '\\x1b[2J')", "RuntimeError"),
        ("import sys\nsys.exit(3)", "import fails"),
    ],
    ids=["missing library", "abort", "hang", "long and hostile", "exit"],
)
def test_an_import_that_goes_wrong_is_bounded_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, words: str
) -> None:
    (tmp_path / "odd_package.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(packages, "IMPORT_SECONDS", 5.0 if "sleep" not in code else 0.5)
    found = packages.imported(Row("package odd", OK, "1.0"), "odd_package", "install it")
    assert found.state in (MISSING, COULD_NOT) and words in found.found
    assert len(found.found) < 600 and found.found.isprintable()


def test_an_extension_for_another_python_or_processor_is_named(doctor: Doctor, tmp_path: Path) -> None:
    site = tmp_path / "site"
    package(site, "pufferlib", "3.0.0", {"__init__.py": ""})
    (site / "pufferlib" / "_C.cpython-39-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
    (site / "pufferlib" / "_D.so").write_bytes(b"\x7fELF" + bytes(14) + (0x1234).to_bytes(2, "little"))
    (site / "pufferlib" / "_E.so").write_bytes(b"MZ")
    report = doctor(env={"PYTHONPATH": str(site)})
    found = {c["name"]: c["found"] for c in report["checks"] if c["name"].startswith("extension")}
    assert (
        "built for cpython-39-x86_64-linux-gnu, this is cpython-3"
        in found["extension pufferlib/_C.cpython-39-x86_64-linux-gnu.so"]
    )
    assert "another processor" in found["extension pufferlib/_D.so"]
    assert "not a library" in found["extension pufferlib/_E.so"]
    assert report["exit_status"] == 0, "the default profile needs no extension"


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("cuda: Optional[str] = None\nhip: Optional[str] = None\n", "built for the CPU only"),
        ("cuda: Optional[str] = '12.8'\n", "built for CUDA 12.8"),
        ("cuda = '11.8'\n", "built for CUDA 11.8"),
        ("cuda = None\nhip: Optional[str] = '6.2.4'\n", "built for ROCm 6.2.4"),
    ],
)
def test_torch_s_build_is_read_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, build: str
) -> None:
    package(tmp_path, "torch", "2.13.0", {"__init__.py": "raise SystemExit", "version.py": text})
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert packages.torch_build() == build
    assert "torch" not in sys.modules


def test_a_cuda_device_with_a_cpu_build_of_torch_is_said_with_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path, "torch", "2.13.0", {"version.py": "cuda: Optional[str] = None\n"})
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    card = machine.Device("cuda", "a card", 1 << 34)
    here = request(devices=(card,), packages={"torch": "2.13.0+cpu", "numpy": "2.0"})
    rows = examination.examine(here)
    assert next(r for r in rows if r.name == "torch cuda").fix.endswith("requirements/torch.txt")
    verdict = profiles.judge(here, rows, "3.0")
    assert verdict.devices["cpu"] == "ok" and "CPU only" in verdict.devices["cuda"]
    assert verdict.reason and verdict.state == MISSING, "the trainer itself is not there yet"


def test_a_device_that_is_not_there_is_said() -> None:
    here = request(devices=(), packages={"torch": "2", "numpy": "2"})
    assert profiles.judge(here, examination.examine(here), "3.0").devices["cuda"] == "no CUDA device"


def test_a_profile_that_lacks_a_package_says_which_and_how(doctor: Doctor) -> None:
    report = doctor("--profile", "3.0")
    assert report["exit_status"] == 1
    first = report["findings"][0]
    assert first["code"] == "doctor.package" and "pip install" in first["fix"]
    with pytest.raises(Refusal):
        profiles.judge(request(), examination.examine(request()), "9.9")
    unknown = doctor("--profile", "4.00")
    assert unknown["exit_status"] == 1 and unknown["findings"][0]["fix"] == 'use "4.0"'


def test_small_limits_are_said_with_the_command_that_raises_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def limits(number: int) -> tuple[int, int]:
        return (64, 64) if number == resource.RLIMIT_NOFILE else (-1, -1)

    monkeypatch.setattr(resource, "getrlimit", limits)
    rows = resources.check(request(memory_bytes=1 << 20, shared_memory_free_bytes=64 << 20, disk_free_bytes=1 << 20))
    states = {r.name: r.state for r in rows}
    assert states["memory"] == states["shared-memory"] == states["limit of open files"] == LOW
    assert states["disk"] == MISSING
    files = next(r for r in rows if r.name == "limit of open files")
    assert files.fix.startswith("ulimit -n") and "hard limit" in files.fix
    assert "--shm-size" in next(r for r in rows if r.name == "shared-memory").fix


def test_what_the_system_does_not_say_is_could_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {r.name: r for r in resources.check(request(memory_bytes=None, disk_free_bytes=None))}
    assert rows["memory"].state == rows["disk"].state == COULD_NOT


def test_another_system_and_an_old_python_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(system, "OLDEST_PYTHON", (9, 9))
    rows = {r.name: r for r in system.check(request())}
    assert rows["system"].state == rows["python"].state == MISSING
    assert rows["no-network"].state == rows["write-bounds"].state == LOW
    assert compiling.install() == "xcode-select --install"


def test_no_credential_s_value_is_shown(doctor: Doctor) -> None:
    report = doctor("--try-imports", env={"WANDB_API_KEY": "dummy-secret-123"})
    assert report["machine"]["variables"] == ["WANDB_API_KEY"]
    assert "dummy-secret-123" not in json.dumps(report)


def test_a_trial_ends_what_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    started = time.monotonic()
    outcome = trial.run(["sh", "-c", f"sleep 60 & echo $! > {mark}; wait"], 0.5)
    assert outcome.exit_status is None and time.monotonic() - started < 5
    pid = int(mark.read_text())
    deadline = time.monotonic() + 5
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            break
        time.sleep(0.01)
    assert time.monotonic() < deadline
    assert trial.run(["no-such-program-anywhere"], 1.0).exit_status is None
    assert len(trial.run([sys.executable, "-c", "print('x' * 10**7)"], 20.0).output) <= trial.MAX_OUTPUT

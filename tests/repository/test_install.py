"""requirements/install.py: what `make test` relies on. pip is replaced by a record of how it was called."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def install(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("install", repository / "requirements" / "install.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def commands(install: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Every command that would have run; the environment is taken to work once it was created."""
    ran: list[list[str]] = []

    def record(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        ran.append(command)
        if "venv" in command:
            Path(command[-1]).mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(install.subprocess, "run", record)
    monkeypatch.setattr(install, "works", lambda venv: venv.exists())
    return ran


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    file = tmp_path / "some.txt"
    file.write_text("a==1 --hash=sha256:00\n", encoding="ascii")
    return file


def installed(commands: list[list[str]]) -> int:
    return sum("pip" in command for command in commands)


def test_a_second_run_installs_nothing_until_the_file_changes(
    install: ModuleType, commands: list[list[str]], requirements: Path, tmp_path: Path
) -> None:
    arguments = [str(tmp_path / "venv"), str(requirements)]
    assert install.main(arguments) == 0
    assert installed(commands) == 1
    assert install.main(arguments) == 0
    assert installed(commands) == 1
    requirements.write_text("a==2 --hash=sha256:00\n", encoding="ascii")
    assert install.main(arguments) == 0
    assert installed(commands) == 2


def test_pip_checks_digests_and_asks_nothing(
    install: ModuleType, commands: list[list[str]], requirements: Path, tmp_path: Path
) -> None:
    install.main([str(tmp_path / "venv"), str(requirements)])
    assert {"--require-hashes", "--no-input"} <= set(commands[-1])


def test_what_pip_could_not_install_is_tried_again(
    install: ModuleType,
    commands: list[list[str]],
    requirements: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = [str(tmp_path / "venv"), str(requirements)]
    (tmp_path / "venv").mkdir()
    monkeypatch.setattr(install.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1))
    assert install.main(arguments) == 1
    assert list((tmp_path / "venv").iterdir()) == []


def test_a_python_without_venv_is_told_the_package_that_brings_it(
    install: ModuleType,
    requirements: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(install.importlib.util, "find_spec", lambda name: None)
    assert install.main([str(tmp_path / "venv"), str(requirements)]) == 2
    assert "apt-get install python3-venv" in capsys.readouterr().err
    assert not (tmp_path / "venv").exists()


def test_a_python_that_is_too_old_is_named(
    install: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(install, "OLDEST", (99, 0))
    assert install.main(["venv", "x.txt"]) == 2
    assert "need 99.0 or newer" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["venv"], ["venv", "missing.txt"], ["a", "b", "c"]])
def test_wrong_use_exits_2(install: ModuleType, arguments: list[str]) -> None:
    assert install.main(arguments) == 2


def test_an_environment_of_another_python_is_made_anew(
    install: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = install.interpreter(tmp_path)
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    said = sys.version
    answer = lambda command, **_: subprocess.CompletedProcess(command, 0, stdout=said)  # noqa: E731
    monkeypatch.setattr(install.subprocess, "run", answer)
    assert install.works(tmp_path)
    monkeypatch.setattr(sys, "version", "another")
    assert not install.works(tmp_path)
    assert not install.works(tmp_path / "missing")


def test_the_fingerprint_covers_the_interpreter(
    install: ModuleType, requirements: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = install.fingerprint(requirements)
    monkeypatch.setattr(sys, "version", "another")
    assert install.fingerprint(requirements) != before

"""The command line: what it answers, what it refuses, what it writes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from _skill import strict_json
from _skill.json_schema import Schema

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
Run = Callable[..., Any]


@pytest.fixture
def check_env(run: Run, tmp_path: Path) -> Run:
    """``check_env(...)``: (exit status, stdout, stderr) of the tool in a folder of its own."""

    def command(*arguments: str, **options: Any) -> tuple[int, str, str]:
        done = run([sys.executable, ROOT / "scripts" / "check_env.py", *arguments], cwd=tmp_path, **options)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    return command


def test_help_is_one_screen_and_comes_at_once(check_env: Run) -> None:
    started = time.monotonic()
    status, out, _ = check_env("--help")
    assert status == 0 and len(out.splitlines()) <= 30
    assert "exit status" in out and "example:" in out
    assert time.monotonic() - started < 5


def test_cartpole_keeps_its_contract_and_the_report_follows_its_schema(check_env: Run, tmp_path: Path) -> None:
    started = time.monotonic()
    status, out, err = check_env("CartPole-v1", "--out", "report.json", "--steps", "200")
    assert (status, err) == (0, "")
    assert time.monotonic() - started < 30
    assert "CartPole-v1: keeps its contract" in out and "autoreset  disabled" in out
    report = strict_json.loads((tmp_path / "report.json").read_bytes(), "report.json")
    assert Schema.shipped("environment_contract").findings(report) == []
    schema = json.loads((ROOT / "schemas" / "environment_contract.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(report)
    assert report["spec"] == {
        "api": "gymnasium",
        "agents": 1,
        "observation": [{"path": "", "dtype": "float32", "shape": [4]}],
        "action": [{"path": "", "kind": "discrete", "dtype": "int64", "shape": [], "sizes": [2], "start": [0]}],
        "autoreset": "disabled",
    }
    assert {row["status"] for row in report["checks"]} == {"passed", "not_applicable"}


def test_a_report_with_findings_follows_the_schema_too(check_env: Run, tmp_path: Path) -> None:
    status, out, _ = check_env(
        f"{HERE}/faulty_gymnasium.py:RaisesAtFive", "--out", "report.json", "--json", "--steps", "30"
    )
    report = strict_json.loads((tmp_path / "report.json").read_bytes(), "report.json")
    assert Schema.shipped("environment_contract").findings(report) == []
    assert report["exit_status"] == status == 1
    finding = next(f for f in report["findings"] if f["code"] == "environment.exception")
    assert finding["place"]["call"] == "step" and finding["place"]["step"] == 6
    assert finding["got"] == r"ValueError: five is \x1b[31mtoo many\u200b"
    assert "faulty_gymnasium.py:" in finding["fix"] and "in step" in finding["fix"]
    assert json.loads(out)["findings"][0]["code"] == report["findings"][0]["code"]


@pytest.mark.parametrize(
    "name",
    [
        "Acrobot-v1",
        "Blackjack-v1",
        "CliffWalking-v1",
        "FrozenLake-v1",
        "MountainCarContinuous-v0",
        "Pendulum-v1",
        "Taxi-v4",
    ],
)
def test_the_environments_that_come_with_gymnasium_have_no_finding(check_env: Run, name: str) -> None:
    status, out, err = check_env(name, "--steps", "60")
    assert (status, err) == (0, ""), out + err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nothing",), "target.unknown"),
        (("cartpoel",), "target.unknown"),
        (("missing.py:Env",), "target.file"),
        ((f"{HERE}/honest_gymnasium.py:Nestde",), "target.name"),
        ((f"{HERE}/honest_gymnasium.py",), "target.name"),
        (("CartPole-v1", "--steps", "0"), "use.wrong"),
        (("CartPol-v1",), "target.name"),
        (("CartPole-v99",), "target.name"),
        (("CartPole-v1", "--kwargs", "[1]"), "use.wrong"),
        (("CartPole-v1", "--kwargs", '{"a": NaN}'), "json.not_finite"),
        (("CartPole-v1", "--out", "nowhere/report.json"), "file.unwritable"),
        (("CartPole-v1", "--kwargs", "{"), "json.syntax"),
        (("CartPole-v1", "--api", "gymnasum"), "use.wrong"),
        (("CartPole-v1", "--python", "/nowhere/python3"), "python.missing"),
        (("CartPole-v1", "--static"), "source.none"),
        (("LunarLander-v3",), "environment.package"),
        (("phys2d/CartPole-v1",), "environment.package"),
        (("no_such_package.thing:Env",), "environment.package"),
    ],
)
def test_what_cannot_be_checked_is_never_a_pass(check_env: Run, arguments: tuple[str, ...], code: str) -> None:
    status, out, _ = check_env(*arguments, "--json")
    report = json.loads(out)
    assert status == 2
    assert [finding["code"] for finding in report["findings"]] == [code]


def test_a_name_that_is_nearly_right_is_named(check_env: Run) -> None:
    _, _, err = check_env(f"{HERE}/honest_gymnasium.py:ManyBitz")
    assert "did you mean ManyBits?" in err


def test_a_missing_package_names_the_command_that_installs_it(check_env: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import cv2\n\n\nclass Env:\n    pass\n")
    status, _, err = check_env("mine.py:Env")
    assert status == 2
    assert "pip install opencv-python" in err


def test_modules_of_the_environment_that_are_named_like_ours_do_not_disturb(check_env: Run, tmp_path: Path) -> None:
    for name in ("spaces", "values", "session", "subject", "channel", "checks", "apis", "loading", "rollout", "worker"):
        (tmp_path / f"{name}.py").write_text(f"NAME = {name!r}\n")
    (tmp_path / "mine.py").write_text(
        "import spaces, session, checks\nfrom honest import Honest\n"
        "assert spaces.NAME == 'spaces'\n\n\nclass Mine(Honest):\n    pass\n"
    )
    (tmp_path / "honest.py").write_text((HERE / "faulty_gymnasium.py").read_text())
    status, out, err = check_env("mine.py:Mine", "--steps", "30", "--json")
    assert status == 0, out + err


def test_a_module_below_the_working_folder_is_a_target(check_env: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("")
    (tmp_path / "mine" / "games.py").write_text((HERE / "faulty_gymnasium.py").read_text())
    assert check_env("mine.games:Honest", "--steps", "30", "--json")[0] == 0


def test_the_only_class_of_a_file_needs_no_name(check_env: Run, tmp_path: Path) -> None:
    text = (HERE / "faulty_gymnasium.py").read_text().split("@fault")[0]
    (tmp_path / "one.py").write_text(text)
    assert check_env("one.py", "--steps", "30")[0] == 0


def test_a_device_is_never_replaced_by_a_report(check_env: Run) -> None:
    status, _, err = check_env("CartPole-v1", "--out", "/dev/null")
    assert status == 1 and "file.kind" in err
    assert not Path("/dev/null").is_file()

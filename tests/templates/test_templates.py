"""Every template can be listed, shown, written under another name, and does what it says; nothing is ever replaced."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _skill import atomic_file
from _skill.findings import Refusal
from _skill.templates import catalogue, trying

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = catalogue.names("environments")
PROGRAMS = catalogue.names("training")
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(tmp_path: Path, run: Callable[..., subprocess.CompletedProcess[str]]) -> Ask:
    """``ask("env_template", "write", ...)`` in an empty folder: the JSON report."""

    def tool(name: str, *words: str | Path, timeout: float = 300) -> dict[str, Any]:
        command = [sys.executable, ROOT / "scripts" / f"{name}.py", *words, "--json"]
        result = run(command, cwd=tmp_path, timeout=timeout)
        assert "Traceback" not in result.stderr, result.stderr
        report: dict[str, Any] = json.loads(result.stdout)
        assert report["exit_status"] == result.returncode
        return report

    return tool


def test_the_lists_cover_what_is_asked_for() -> None:
    sources = "\n".join("\n".join(catalogue.load("environments", name).files.values()) for name in ENVIRONMENTS)
    for word in (
        "PufferEnv",
        "gymnasium.Env",
        "ParallelEnv",
        "ENV_NAME",
        "num_agents",
        "make_discrete([",
        "spaces.Dict",
        "np.uint8",
        "action_space = gymnasium.spaces.Box",
        "super().__init__(buf)\n        self.observation_space",
    ):
        assert word in sources, word
    assert {"grid_world", "cooperative_navigation"} <= set(ENVIRONMENTS)
    assert {"train_once", "sweep_seeds", "check_plans"} == set(PROGRAMS)


def test_lists_say_what_each_is_and_what_is_not_there(ask: Ask) -> None:
    report = ask("env_template", "list")
    assert [item["name"] for item in report["templates"]] == ENVIRONMENTS
    assert all(20 < len(item["about"]) < 140 and item["files"] for item in report["templates"])
    human = subprocess.run(
        [sys.executable, ROOT / "scripts" / "train_template.py", "list"], capture_output=True, text=True, timeout=60
    )
    assert human.returncode == 0 and "PyTorch" in human.stdout and "not part of this bundle yet" in human.stdout


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_environment_passes_its_own_test_and_the_check_under_another_name(
    ask: Ask, tmp_path: Path, name: str
) -> None:
    template = catalogue.load("environments", name)
    new = "my_env" if template.is_folder else "MyEnv"
    out = "my_env" if template.is_folder else "my.py"
    written = ask("env_template", "write", name, "--out", out, "--name", new)
    assert (written["exit_status"], written["path"]) == (0, out)
    tested = ask("env_template", "test", out)
    assert tested["exit_status"] == 0, tested["findings"]
    assert "keeps its contract" in json.dumps(tested) or tested["status"] == "ok"
    assert not [finding for finding in tested["findings"] if finding["severity"] == "error"]
    content = (tmp_path / out / "my_env.h" if template.is_folder else tmp_path / out).read_text()
    assert new in content and template.symbol not in content.replace("grid_world", "").replace("catch_image", "")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_training_program_answers_and_knows_the_bundle(ask: Ask, tmp_path: Path, name: str) -> None:
    assert ask("train_template", "write", name, "--out", "program.py")["exit_status"] == 0
    assert ask("train_template", "test", "program.py")["exit_status"] == 0
    content = (tmp_path / "program.py").read_text()
    assert str(ROOT) in content and catalogue.BUNDLE_MARK not in content
    # Placeholders apart, what is written is what is kept here.
    assert content == catalogue.load("training", name).files[f"{name}.py"].replace("@BUNDLE@", str(ROOT))
    imported = {
        alias.name for node in ast.walk(ast.parse(content)) if isinstance(node, ast.Import) for alias in node.names
    }
    assert imported <= sys.stdlib_module_names


def test_one_run_stops_for_consent_and_then_trains_through_the_gate(
    tmp_path: Path, run: Callable[..., subprocess.CompletedProcess[str]], ask: Ask
) -> None:
    ask("train_template", "write", "train_once", "--out", ".")
    command = [sys.executable, "train_once.py", "squared", "--set", "train.total_timesteps=16384"]
    command += ["--set", "train.target_return=null"]
    asked = run(command, cwd=tmp_path)
    assert asked.returncode == 1 and "--opt-in" in asked.stderr and not (tmp_path / "runs").exists()
    trained = run([*command, "--opt-in"], cwd=tmp_path, timeout=300)
    assert trained.returncode == 0, trained.stderr
    assert "the log verifies" in trained.stdout and (tmp_path / "runs" / "squared-1" / "report.html").exists()
    again = run([*command, "--opt-in"], cwd=tmp_path)
    assert again.returncode == 1 and "Traceback" not in again.stderr, "a run's name is never used twice"


def test_a_refused_plan_is_shown_with_its_fix(
    tmp_path: Path, run: Callable[..., subprocess.CompletedProcess[str]], ask: Ask
) -> None:
    ask("train_template", "write", "train_once", "--out", ".")
    refused = run([sys.executable, "train_once.py", "squared", "--set", "train.gamma=7"], cwd=tmp_path)
    assert refused.returncode == 1 and "fix" in refused.stderr and not (tmp_path / "squared-1.json").exists()


def test_a_sweep_gives_median_and_spread_and_a_check_covers_its_plans(
    tmp_path: Path, run: Callable[..., subprocess.CompletedProcess[str]], ask: Ask
) -> None:
    for name in ("sweep_seeds", "check_plans"):
        ask("train_template", "write", name, "--out", ".")
    command = [sys.executable, "sweep_seeds.py", "squared", "--seeds", "2", "--set", "train.total_timesteps=16384"]
    command += ["--set", "train.target_return=null"]
    shown = run(command, cwd=tmp_path)
    assert shown.returncode == 1 and "nothing was started" in shown.stdout and not list(tmp_path.glob("*.json"))
    done = run([*command, "--opt-in"], cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "median" in done.stdout and "of 2 runs" in done.stdout
    assert run([*command, "--opt-in"], cwd=tmp_path).stdout.splitlines()[1:] == done.stdout.splitlines()[1:]

    plans = tmp_path / "plans"
    plans.mkdir()
    for path in tmp_path.glob("sweep-*.json"):
        shutil.copy2(path, plans)
    checked = run([sys.executable, "check_plans.py", "plans"], cwd=tmp_path)
    assert checked.returncode == 0 and checked.stdout.count("ok ") == 2, checked.stdout
    bad = json.loads((plans / "sweep-squared-1.json").read_text())
    bad["train"]["gamma"] = 7
    (plans / "bad.json").write_text(json.dumps(bad))
    assert run([sys.executable, "check_plans.py", "plans"], cwd=tmp_path).returncode == 1
    (tmp_path / "empty").mkdir()
    assert run([sys.executable, "check_plans.py", "empty"], cwd=tmp_path).returncode == 2


def test_the_c_template_trains_through_the_gate_once_a_person_approves(ask: Ask, tmp_path: Path) -> None:
    ask("env_template", "write", "key_door", "--out", "mine", "--name", "mine")
    made = ask("make_plan", "mine", "--env-path", "mine", "--run", "first", "--out", "plan.json")
    assert made["exit_status"] == 0, made["findings"]
    assert ask("launch", "run", "--plan", "plan.json", "--opt-in")["findings"][0]["code"] == "tier.person"
    assert ask("approve", "plan.json", "--by", "Ada", "--expires-in", "1h")["exit_status"] == 0
    launched = ask("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")
    assert launched["exit_status"] == 0, launched["findings"]
    manifest = json.loads((tmp_path / "runs" / "first" / "manifest.json").read_text())
    assert manifest["goal_reached"] and manifest["evaluation"]["return_mean"] > 1.75


def test_nothing_is_replaced_and_nothing_is_left_half_written(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text("mine")
    (tmp_path / "key_door").mkdir()
    (tmp_path / "key_door" / "x").write_text("mine")
    for words in (("grid_world", "--out", "my.py"), ("key_door", "--out", ".")):
        report = ask("env_template", "write", *words)
        assert (report["exit_status"], report["findings"][0]["code"]) == (1, "file.exists")
    assert (tmp_path / "my.py").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "home") == ["key_door", "my.py"]
    os.symlink(tmp_path / "elsewhere.py", tmp_path / "link.py")
    assert ask("env_template", "write", "grid_world", "--out", "link.py")["exit_status"] == 1
    assert not (tmp_path / "elsewhere.py").exists()


def test_a_folder_that_cannot_be_finished_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = catalogue.named(catalogue.load("environments", "key_door"), None)

    def full(path: str, data: bytes, sync_name: bool = True) -> None:
        if path.endswith("train.json"):
            raise OSError(28, "No space left on device")
        Path(path).write_bytes(data)

    monkeypatch.setattr(atomic_file, "create", full)
    with pytest.raises(Refusal) as refusal:
        catalogue.write(template, str(tmp_path / "key_door"))
    assert refusal.value.exit_status == 2 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("grid_world", "my_env"),
        ("grid_world", "9Env"),
        ("grid_world", "A" * 41),
        ("grid_world", "PufferEnv"),
        ("grid_world", "Caf\u00e9"),
        ("grid_world", "A; import os"),
        ("grid_world", "None"),
        ("grid_world", "$(touch x)"),
        ("grid_world", ""),
        ("key_door", "MyEnv"),
        ("key_door", "../x"),
        ("key_door", "for"),
        ("key_door", "state"),
        ("key_door", "a__b"),
        ("key_door", "random"),
        ("key_door", "a-b"),
        ("key_door", "_x"),
    ],
)
def test_a_name_that_would_not_work_is_refused_before_anything_is_written(
    ask: Ask, tmp_path: Path, template: str, name: str
) -> None:
    report = ask("env_template", "write", template, "--out", "out.py", f"--name={name}")
    assert (report["exit_status"], report["findings"][0]["code"]) == (2, "template.name")
    assert not (tmp_path / "out.py").exists()


def test_an_unknown_template_and_a_wrong_place_are_named(ask: Ask) -> None:
    assert ask("env_template", "show", "gridworld")["findings"][0]["fix"] == "did you mean grid_world?"
    assert ask("env_template", "write", "grid_world", "--out", "x.txt")["findings"][0]["code"] == "template.file"
    assert ask("env_template", "write", "key_door", "--out", "other")["findings"][0]["code"] == "template.folder"
    assert ask("env_template", "write", "grid_world", "--out", "no/such/folder/x.py")["exit_status"] == 2
    assert ask("train_template", "write", "train_once", "--out", "x.py", "--name", "X")["exit_status"] == 2


def test_what_was_changed_for_the_worse_does_not_pass(ask: Ask, tmp_path: Path) -> None:
    ask("env_template", "write", "grid_world", "--out", ".")
    path = tmp_path / "grid_world.py"
    good = path.read_text()
    path.write_text(good.replace("planes[2][self.place] = 1", "planes[2][self.place] = 7"))
    assert ask("env_template", "test", "grid_world.py")["exit_status"] == 1
    path.write_text(
        good.replace("print(test())", "print('not tested')").replace(
            "self.begin()\n        self.rewards", "self.rewards"
        )
    )
    assert ask("env_template", "test", "grid_world.py")["exit_status"] == 1
    path.write_text("def (")
    assert ask("env_template", "test", "grid_world.py")["exit_status"] == 1
    path.write_text("import package_that_is_not_there\n")
    absent = ask("env_template", "test", "grid_world.py")
    assert absent["exit_status"] == 2 and "pip install package_that_is_not_there" in absent["findings"][0]["fix"]
    assert ask("env_template", "test", "gone.py")["exit_status"] == 2
    assert ask("train_template", "test", "gone.py")["exit_status"] == 2


def test_a_test_that_hangs_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "OWN_TEST_SECONDS", 0.5)
    (tmp_path / "x.py").write_text("import time\ntime.sleep(60)\n")
    found, _ = trying.environment(str(tmp_path / "x.py"))
    assert [finding.code for finding in found] == ["template.test_late"]


def test_a_program_that_lost_its_bundle_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text('BUNDLE = Path("/nowhere/at/all")\n')
    found, _ = trying.program(str(tmp_path / "x.py"))
    assert [finding.code for finding in found] == ["template.bundle"]


def test_adding_a_template_is_adding_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(catalogue.FOLDER, tmp_path / "t", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "t" / "environments" / "another.py.txt").write_text(
        '"""Another one.\n"""\n\n\nclass Another:\n    pass\n'
    )
    monkeypatch.setattr(catalogue, "FOLDER", str(tmp_path / "t"))
    template = catalogue.load("environments", "another")
    assert (template.about, template.symbol, list(template.files)) == ("Another one", "Another", ["another.py"])
    assert "another" in catalogue.names("environments")

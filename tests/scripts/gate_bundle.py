"""A copy of the bundle with a small stand-in for the engine, and a way to run its tools."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FAKE_ENGINE = Path(__file__).parent / "fake_engine"

HEADER = """\
#define ENV_NAME "{name}"
#define ENV_TITLE "Fake"
#define ENV_TASK "Does nothing, quickly."
#define ENV_AUTHOR "tests"
#define ENV_AGENTS {agents}
#define ENV_OBSERVATION F32(4)
#define ENV_ACTION DISCRETE(2)
#define ENV_SETTINGS(SETTING) \\
    SETTING(int, mode, 0, 0, 99, "how the stand-in behaves") \\
    SETTING(float, gravity, 9.8, 0.1, 100.0, "unused")
#define ENV_STATISTICS(STATISTIC)
"""


def modes() -> dict[str, int]:
    """The stand-in's modes by name, read from its source."""
    namespace: dict[str, Any] = {}
    text = (FAKE_ENGINE / "pufferlib" / "__main__.py").read_text()
    table = text[text.index("MODES = {") : text.index("NAMES = ")]
    for line in table.splitlines()[1:-1]:
        name, _, number = line.split("#")[0].strip().rstrip(",").partition(":")
        if number:
            namespace[name.strip('" ')] = int(number)
    return namespace


class Bundle:
    """One private copy of the bundle's gate, with a working folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root
        self.variables = {"PATH": os.environ["PATH"], "HOME": str(root / "home")}

    def command(self, script: str, *arguments: str) -> list[str]:
        return [sys.executable, str(self.root / "scripts" / f"{script}.py"), *arguments]

    def run(self, script: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(script, *arguments),
            cwd=options.pop("cwd", self.work),
            env={**self.variables, **options.pop("variables", {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **options,
        )

    def json(self, script: str, *arguments: str, **options: Any) -> dict[str, Any]:
        result = self.run(script, *arguments, "--json", **options)
        report: dict[str, Any] = json.loads(result.stdout)
        assert report["exit_status"] == result.returncode
        return report

    def plan(self, *choices: str, mode: str = "good", name: str = "plan.json", run: str = "r") -> Path:
        arguments = [f"--set=environment.settings.mode={modes()[mode]}", *(f"--set={choice}" for choice in choices)]
        result = self.run("make_plan", "fake", "--run", run, "--out", name, *arguments)
        assert result.returncode == 0, result.stderr
        return self.work / name

    def approve(self, plan: str = "plan.json", *arguments: str) -> Path:
        result = self.run("approve", plan, "--by", "Ada", *arguments)
        assert result.returncode == 0, result.stderr
        return self.work / plan.replace(".json", ".approval.json")

    def launch(self, *choices: str, mode: str, run: str = "r") -> dict[str, Any]:
        arguments = [f"--set=environment.settings.mode={modes()[mode]}", *(f"--set={choice}" for choice in choices)]
        return self.json("launch", "quickstart", "--env", "fake", "--run", run, "--opt-in", *arguments)

    def files(self) -> dict[str, bytes]:
        """Every file below the working folder with its content, but bytecode."""
        return {
            str(path.relative_to(self.work)): path.read_bytes()
            for path in sorted(self.work.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }


def build_bundle(root: Path) -> Bundle:
    """Copies the gate to `root` and puts the stand-in beside it."""
    for folder in ("scripts", "schemas"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "launch_policy.json", root)
    shutil.copytree(FAKE_ENGINE, root / "native_profile", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "native_profile" / "pins", root / "native_profile" / "pins")
    for environment, agents in (("fake", 1), ("other", 1), ("crowd", 8)):
        place = root / "native_profile" / "pufferlib" / "ocean" / environment
        place.mkdir(parents=True)
        (place / f"{environment}.h").write_text(HEADER.format(name=environment, agents=agents))
    training = {"train": {"total_timesteps": 1000000}, "goal": {"return": 475.0, "wall_seconds": 60}}
    (root / "native_profile/pufferlib/ocean/fake/train.json").write_text(json.dumps(training))
    (root / "home").mkdir()
    return Bundle(root)

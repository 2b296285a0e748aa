"""FC-A09: old five/four-value API mixed up.

The generation is named, and truncation is never guessed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Answer, Tool
from .environment_files import environment


def check(tool: Tool, folder: Path, old: str, new: str) -> Answer:
    target = environment(folder)
    program = (folder / "case.py").read_text()
    assert old in program
    (folder / "case.py").write_text(program.replace(old, new))
    return tool("check_env", target, "--steps", "20")


def test_four_values_name_the_generation_and_what_is_missing(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, "False, self.count >= 9, {}", "self.count >= 9, {}")
    finding = answer.finding("api.generation")
    assert answer.exit_status == 1
    assert "Gym before 0.26" in finding["message"] and "truncation is missing" in finding["message"]
    assert finding["got"].startswith("4 values")
    assert not any("truncated=False" in str(finding[key]) for key in ("fix", "message"))
    assert "static.four_values" in answer.codes


def test_a_bare_observation_from_reset_names_the_generation(tool: Tool, tmp_path: Path) -> None:
    answer = check(
        tool, tmp_path, "return numpy.zeros(3, numpy.float32), {}\n", "return numpy.zeros(3, numpy.float32)\n"
    )
    finding = answer.finding("api.generation")
    assert "reset" in finding["message"] and "Gym before 0.26" in finding["message"]


def test_a_tuple_observation_from_an_old_reset_is_not_taken_for_a_pair(tool: Tool, tmp_path: Path) -> None:
    target = environment(tmp_path, "spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2)))", rest="(0, 1)")
    program = (tmp_path / "case.py").read_text().replace("return (0, 1), {}\n", "return (0, 1)\n")
    (tmp_path / "case.py").write_text(program)
    assert "api.generation" in tool("check_env", target, "--steps", "20").codes


@pytest.mark.parametrize(
    ("new", "code"),
    [
        ("None", "api.step"),
        ("numpy.zeros(3), 1.0, False", "api.step"),
        ("numpy.zeros(3), 1.0, False, False, {}, 6", "api.step"),
        ("[numpy.zeros(3), 1.0, False, False, {}]", "api.step"),
    ],
)
def test_any_other_count_is_an_error_too(tool: Tool, tmp_path: Path, new: str, code: str) -> None:
    old = "return numpy.zeros(3, numpy.float32), 1.0, False, self.count >= 9, {}"
    answer = check(tool, tmp_path, old, f"return {new}")
    assert answer.exit_status == 1 and code in answer.codes


def test_a_reset_without_seed_is_of_an_old_generation_too(tool: Tool, tmp_path: Path) -> None:
    answer = check(
        tool,
        tmp_path,
        "def reset(self, *, seed=None, options=None):\n        super().reset(seed=seed)",
        "def reset(self):",
    )
    assert answer.finding("api.reset_seed")["got"] == "reset()"


def test_the_old_package_is_named(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, "import gymnasium\n", "import gym as gymnasium\n")
    assert answer.exit_status == 2
    assert "gymnasium" in answer.finding("environment.package")["fix"]

"""FC-A07: reward is None, an array, NaN or another type.

Gymnasium's own checker warns for most of them and ends as a pass; here each is an error.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Tool
from .environment_files import environment

BAD = {
    "None": "reward.type",
    "numpy.array([1.0])": "reward.type",
    "numpy.array(1.0)": "reward.type",
    "numpy.array([1.0, 2.0])": "reward.type",
    "True": "reward.type",
    "numpy.bool_(True)": "reward.type",
    "'1.0'": "reward.type",
    "[1.0]": "reward.type",
    "1j": "reward.type",
    "__import__('fractions').Fraction(1, 3)": "reward.type",
    "__import__('decimal').Decimal('0.1')": "reward.type",
    "float('nan')": "reward.not_finite",
    "numpy.float32('nan')": "reward.not_finite",
    "float('inf')": "reward.not_finite",
    "numpy.float64('-inf')": "reward.not_finite",
}
FINE = [
    "1",
    "1.0",
    "numpy.float32(1)",
    "numpy.float64(1)",
    "numpy.float16(1)",
    "numpy.int64(1)",
    "numpy.uint8(1)",
    "-0.0",
]


@pytest.mark.parametrize("reward", ["None", *(reward for reward, code in BAD.items() if code == "reward.not_finite")])
def test_it_is_an_error_with_the_step(tool: Tool, tmp_path: Path, reward: str) -> None:
    answer = tool("check_env", environment(tmp_path, reward=reward), "--steps", "20")
    assert answer.exit_status == 1
    assert "step 1" in answer.finding(BAD[reward])["pointer"]


def test_every_other_type_is_an_error(tool: Tool, tmp_path: Path) -> None:
    """One after the other, a step each; the steps between them are fine."""
    wrong = [reward for reward, code in BAD.items() if code == "reward.type"]
    values = f"({', '.join(f'1.0, {reward}' for reward in wrong)})"
    program = environment(tmp_path, reward=f"{values}[self.number % {2 * len(wrong)}]")
    text = (tmp_path / "case.py").read_text()
    text = text.replace("    def __init__", "    number = -1\n\n    def __init__")
    (tmp_path / "case.py").write_text(text.replace("self.count += 1\n", "self.count += 1\n        self.number += 1\n"))
    answer = tool("check_env", program, "--steps", str(2 * len(wrong)))
    rewards = next(row for row in answer.report["checks"] if row["name"] == "rewards")
    assert rewards["detail"].startswith(f"seen {len(wrong)} times")


def test_an_integer_beyond_every_float_is_not_finite(tool: Tool, tmp_path: Path) -> None:
    answer = tool("check_env", environment(tmp_path, reward="10**400"), "--steps", "20")
    assert answer.finding("reward.not_finite")["got"] == "an integer of 1329 bits"


def test_real_numbers_of_python_and_numpy_pass(tool: Tool, tmp_path: Path) -> None:
    """One after the other, a step each."""
    reward = f"({', '.join(FINE)})[self.count % {len(FINE)}]"
    answer = tool("check_env", environment(tmp_path, reward=reward), "--steps", "40")
    assert (answer.exit_status, answer.codes) == (0, [])


def test_a_reward_that_is_missing_only_sometimes_is_found(tool: Tool, tmp_path: Path) -> None:
    reward = "(1.0 if self.count != 6 else None)"
    answer = tool("check_env", environment(tmp_path, reward=reward), "--steps", "20")
    assert "step 6" in answer.finding("reward.type")["pointer"]
    assert "without a return" in answer.finding("reward.type")["fix"]

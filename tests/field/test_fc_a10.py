"""FC-A10: action mask with no legal action.

An empty mask ends in an unreadable sampling error; a mask of another length or of floats in a silent wrong choice.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from _skill.contracts.masked_softmax import masked_softmax

from .conftest import Tool
from .environment_files import environment, place_of

BAD = {
    "numpy.zeros(3, numpy.int8)": "mask.empty",
    "numpy.zeros(3, bool)": "mask.empty",
    "numpy.ones(2, numpy.int8)": "mask.shape",
    "numpy.ones(4, numpy.int8)": "mask.shape",
    "numpy.array([0.5, 1.0, 1.0])": "mask.dtype",
    "numpy.ones(3)": "mask.dtype",
    "numpy.array([2, 1, 0])": "mask.value",
    "numpy.array([-1, 1, 0])": "mask.value",
    "[1, 1, 1]": "mask.type",
}


@pytest.mark.parametrize("mask", ["numpy.zeros(3, numpy.int8)", "numpy.ones(2, numpy.int8)", "[1, 1, 1]"])
def test_a_bad_mask_in_the_info_is_an_error(tool: Tool, tmp_path: Path, mask: str) -> None:
    target = environment(tmp_path, action="spaces.Discrete(3)", info=f"{{'action_mask': {mask}}}")
    answer = tool("check_env", target, "--steps", "20")
    assert answer.exit_status == 1
    assert place_of(answer.finding(BAD[mask]))["leaf"] == "info/action_mask"


def test_each_part_of_an_action_has_a_mask_of_its_own(tool: Tool, tmp_path: Path) -> None:
    """One part for each bad mask, and one that is fine."""
    masks = [*BAD, "numpy.array([0, 1, 1], bool)"]
    action = ", ".join(f"'{i}': spaces.Discrete(3)" for i in range(len(masks)))
    info = ", ".join(f"'{i}': {mask}" for i, mask in enumerate(masks))
    target = environment(tmp_path, action=f"spaces.Dict({{{action}}})", info=f"{{'action_mask': {{{info}}}}}")
    answer = tool("check_env", target, "--steps", "20")
    found = {(f["code"], place_of(f)["leaf"]) for f in answer.report["findings"]}
    assert answer.exit_status == 1
    assert {(code, f"info/action_mask/{i}") for i, code in enumerate(BAD.values())} <= found
    assert not any(leaf == f"info/action_mask/{len(BAD)}" for _, leaf in found)


MASK = "numpy.zeros(3, bool)"
NESTED = "spaces.Dict({'s': spaces.Dict({'action_mask': spaces.MultiBinary(3)})})"


@pytest.mark.parametrize(
    ("parts", "leaf"),
    [
        (
            {"space": NESTED, "rest": f"{{'s': {{'action_mask': {MASK}.view(numpy.int8)}}}}"},
            "observation/s/action_mask",
        ),
        ({"info": f"{{'valid_actions': {MASK}}}"}, "info/valid_actions"),
        ({}, "action_masks()"),
    ],
)
def test_a_mask_is_looked_for_where_policies_look(tool: Tool, tmp_path: Path, parts: dict[str, str], leaf: str) -> None:
    target = environment(tmp_path, **{"action": "spaces.Discrete(3)", **parts})
    if not parts:
        method = f"\n    def action_masks(self):\n        return {MASK}\n"
        (tmp_path / "case.py").write_text((tmp_path / "case.py").read_text() + method)
    answer = tool("check_env", target, "--steps", "20")
    assert place_of(answer.finding("mask.empty"))["leaf"] == leaf


def test_numbers_of_legal_actions_are_no_mask_and_a_mask_without_choices_is_a_warning(
    tool: Tool, tmp_path: Path
) -> None:
    numbers = "{'valid_actions': numpy.array([0, 2]), 'invalid_action_mask': numpy.zeros(2, bool)}"
    answer = tool("check_env", environment(tmp_path, info=numbers), "--steps", "20")
    assert (answer.exit_status, answer.codes) == (0, [])
    target = environment(tmp_path, action="spaces.Box(-1, 1, (2,))", info=f"{{'action_mask': {MASK}}}")
    answer = tool("check_env", target, "--steps", "20")
    assert answer.exit_status == 0 and answer.finding("mask.space")["severity"] == "warning"


def test_a_bad_mask_in_the_observation_is_an_error(tool: Tool, tmp_path: Path) -> None:
    space = "spaces.Dict({'observation': spaces.Box(0, 1, (2,)), 'action_mask': spaces.Box(0, 1, (3,), numpy.int8)})"
    value = (
        "{'observation': numpy.zeros(2, numpy.float32), 'action_mask': numpy.array([0, 0, self.count < 4], numpy.int8)}"
    )
    answer = tool("check_env", environment(tmp_path, space, action="spaces.Discrete(3)", rest=value), "--steps", "20")
    finding = answer.finding("mask.empty")
    assert place_of(finding)["step"] == 4 and place_of(finding)["leaf"] == "observation/action_mask"


def test_each_number_of_an_action_needs_a_legal_choice(tool: Tool, tmp_path: Path) -> None:
    info = "{'action_mask': (numpy.ones(2, numpy.int8), numpy.zeros(3, numpy.int8))}"
    answer = tool("check_env", environment(tmp_path, action="spaces.MultiDiscrete([2, 3])", info=info), "--steps", "20")
    assert "number 1" in answer.finding("mask.empty")["message"]


def test_only_legal_actions_are_taken_and_an_ended_agent_needs_none(tool: Tool, tmp_path: Path) -> None:
    info = "{'action_mask': numpy.array([0, 1, 0], numpy.int8) if self.count < 9 else numpy.zeros(3, numpy.int8)}"
    target = environment(
        tmp_path, action="spaces.Discrete(3, start=5)", info=info, reward="(1.0 if action == 6 else 1 / 0)"
    )
    answer = tool("check_env", target, "--steps", "40")
    assert [code for code in answer.codes if code != "space.start"] == []


@pytest.mark.parametrize(
    ("logits", "mask"),
    [
        ([0.0, 0.0, 0.0], [1, 0, 1]),
        ([1e30, -1e30, 0.0], [0, 1, 1]),
        ([700.0, 710.0, -800.0, 3.0], [1, 1, 0, 0]),
        ([-1e308, 1e308], [1, 0]),
        ([5.0], [1]),
    ],
)
def test_the_reference_gives_illegal_actions_zero_exactly(logits: list[float], mask: list[int]) -> None:
    probabilities = masked_softmax(logits, mask)
    assert all(p == 0.0 for p, legal in zip(probabilities, mask, strict=True) if not legal)
    assert math.isclose(sum(probabilities), 1.0, abs_tol=1e-12)
    assert all(math.isfinite(p) for p in probabilities)


def test_the_reference_refuses_a_mask_without_a_legal_action() -> None:
    with pytest.raises(ValueError, match="no action is legal"):
        masked_softmax([1.0, 2.0], [0, 0])
    with pytest.raises(ValueError, match="3 logits"):
        masked_softmax([1.0, 2.0, 3.0], [1, 1])

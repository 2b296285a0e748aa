"""Agents that die, stay, come back or are forgotten, in both APIs of PettingZoo."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from .conftest import Checked, codes

FILE = "faulty_pettingzoo.py"
TREE = ast.parse((Path(__file__).parent / FILE).read_text(encoding="utf-8"))
FAULTS = [
    (node.name, str(ast.literal_eval(decorator.args[0])))
    for node in TREE.body
    if isinstance(node, ast.ClassDef)
    for decorator in node.decorator_list
    if isinstance(decorator, ast.Call)
]
HONEST = {
    "Walkers": "pettingzoo-parallel",
    "Turns": "pettingzoo-aec",
    "turns_as_parallel": "pettingzoo-parallel",
    "walkers_as_turns": "pettingzoo-aec",
}


@pytest.mark.parametrize(("name", "code"), FAULTS, ids=lambda value: value)
def test_a_seeded_fault_is_found(check: Checked, name: str, code: str) -> None:
    contract = check(f"{FILE}:{name}")
    assert code in codes(contract), contract.findings


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_environment_has_no_finding(check: Checked, name: str) -> None:
    contract = check(f"{FILE}:{name}")
    # PettingZoo's own conversions warn that they are deprecated.
    assert set(codes(contract)) <= {"environment.warning"}, contract.findings
    assert contract.spec is not None and contract.spec.autoreset == "disabled"
    assert contract.api == HONEST[name]


def test_agents_may_respawn_where_the_user_says_so_and_each_revival_is_reported(check: Checked) -> None:
    name = f"{FILE}:RespawnsAtOnce"
    assert "agents.still_listed" in codes(check(name))
    contract = check(name, respawn=True)
    assert codes(contract) == [], contract.findings
    assert any("agent b came back: ended at step 4" in note for note in contract.notes)


def test_in_turns_an_agent_that_comes_back_begins_with_no_rewards(check: Checked) -> None:
    name = f"{FILE}:ComesBack"
    assert "agents.revived" in codes(check(name))
    contract = check(name, respawn=True)
    assert codes(contract) == [], contract.findings
    assert any("came back" in note for note in contract.notes)


def test_a_dead_agent_that_stays_is_a_finding_even_with_respawn(check: Checked) -> None:
    assert "agents.still_listed" in codes(check(f"{FILE}:KeepsTheDead", respawn=True))

"""PufferEnv, native and short: buffers are written in place, and what breaks that is found."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from .conftest import Checked, codes

FILE = "faulty_puffer.py"
TREE = ast.parse((Path(__file__).parent / FILE).read_text(encoding="utf-8"))
FAULTS = [
    (node.name, str(ast.literal_eval(decorator.args[0])))
    for node in TREE.body
    if isinstance(node, ast.ClassDef)
    for decorator in node.decorator_list
    if isinstance(decorator, ast.Call)
]


@pytest.mark.parametrize(("name", "code"), FAULTS, ids=lambda value: value)
def test_a_seeded_fault_is_found(check: Checked, name: str, code: str) -> None:
    contract = check(f"{FILE}:{name}")
    assert code in codes(contract), contract.findings


def test_writing_in_place_is_the_contract_and_the_caller_is_told_to_copy(check: Checked) -> None:
    contract = check(f"{FILE}:Counters")
    assert codes(contract) == [], contract.findings
    assert (contract.api, contract.form) == ("pufferenv", "")
    assert contract.spec is not None
    assert (contract.spec.agents, contract.spec.autoreset) == (3, "same_step")
    assert any("writes in place" in note and "copy" in note for note in contract.notes)


def test_the_short_form_is_known(check: Checked) -> None:
    contract = check(f"{FILE}:Short")
    assert codes(contract) == [], contract.findings
    assert (contract.api, contract.form) == ("pufferenv", "simple")
    assert any("no truncation to report" in note for note in contract.notes)


def test_arguments_of_the_constructor_reach_it(check: Checked) -> None:
    contract = check(f"{FILE}:Counters", kwargs={"agents": 5})
    assert contract.spec is not None and contract.spec.agents == 5


def test_the_place_of_a_bad_value_names_the_agent_and_the_index(check: Checked) -> None:
    finding = next(f for f in check(f"{FILE}:OneNan").findings if f.code == "observation.not_finite")
    assert "step 7" in finding.pointer and "agent 2" in finding.pointer and "index [1]" in finding.pointer

"""Each seeded fault is found by its code, and honest environments have no finding."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from .conftest import Checked, codes

HERE = Path(__file__).parent


def decorated(file: str, name: str) -> list[tuple[str, str]]:
    """(class, argument) of every class with that decorator; the file itself is only run in the child."""
    found = []
    for node in ast.parse((HERE / file).read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == name:
                found.append((node.name, str(ast.literal_eval(decorator.args[0]))))
            elif ast.unparse(decorator) == name:
                found.append((node.name, ""))
    return found


OPTIONS: dict[str, dict[str, int]] = {
    "Slow": {"seconds": 10, "steps": 500},
    "Hangs": {"seconds": 2},
    "TakesMemory": {"memory_mb": 300},
    "NeverEnds": {"seconds": 20},
}
FAULTS = decorated("faulty_gymnasium.py", "fault")
HONEST = ["Honest", *(name for name, _ in decorated("honest_gymnasium.py", "honest"))]


@pytest.mark.parametrize(("name", "code"), FAULTS, ids=lambda value: value)
def test_a_seeded_fault_is_found(check: Checked, name: str, code: str) -> None:
    contract = check(f"faulty_gymnasium.py:{name}", **OPTIONS.get(name, {}))
    assert code in codes(contract), contract.findings
    warning_only = {finding.code for finding in contract.findings if finding.severity == "error"} == set()
    assert contract.exit_status() == (0 if warning_only else 1)
    assert not (HERE / "escaped.txt").exists()


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_environment_has_no_finding(check: Checked, name: str) -> None:
    contract = check(f"honest_gymnasium.py:{name}", **OPTIONS.get(name, {}))
    assert codes(contract) == [], contract.findings
    assert contract.exit_status() == 0
    assert contract.spec is not None


def test_there_are_many_faults() -> None:
    assert len(FAULTS) >= 40

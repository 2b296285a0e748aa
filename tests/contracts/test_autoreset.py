"""The autoreset mode is told by what an environment does; unknown is a failure and never a default."""

from __future__ import annotations

import pytest

from .conftest import Checked, codes

FILE = "vector_counters.py"


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("next_step", "next_step"),
        ("same_step", "same_step"),
        ("disabled", "disabled"),
        ("OwnNextStep", "next_step"),
        ("OwnSameStep", "same_step"),
        ("Old", "same_step"),
        ("Counter", "disabled"),
        ("SelfResetting", "next_step"),
        ("AtOnce", "same_step"),
        ("DiceAtOnce", "disabled"),
        ("processes", "next_step"),
    ],
)
def test_the_mode_is_told(check: Checked, name: str, mode: str) -> None:
    contract = check(f"{FILE}:{name}")
    assert codes(contract) == [], contract.findings
    assert contract.spec is not None and contract.spec.autoreset == mode
    row = next(row for row in contract.checks if row.name == "autoreset")
    assert row.detail.startswith(f"{mode}: ")


def test_a_mode_that_cannot_be_told_is_a_failure(check: Checked) -> None:
    contract = check(f"{FILE}:Untold")
    assert "autoreset.unknown" in codes(contract)
    assert contract.spec is not None and contract.spec.autoreset is None
    assert contract.exit_status() == 1


def test_metadata_that_says_something_else_is_found(check: Checked) -> None:
    assert "autoreset.metadata" in codes(check(f"{FILE}:Liar"))


def test_a_mode_that_the_caller_does_not_expect_is_found(check: Checked) -> None:
    finding = next(f for f in check(f"{FILE}:next_step", autoreset="same_step").findings if f.code == "autoreset.other")
    assert finding.got.startswith("next_step") and finding.want == "same_step"
    assert codes(check(f"{FILE}:next_step", autoreset="next_step")) == []


def test_a_batch_that_reuses_its_memory_is_found(check: Checked) -> None:
    assert "aliasing.observation" in codes(check(f"{FILE}:SameBuffer"))


def test_environments_of_a_batch_that_were_seeded_alike_are_found(check: Checked) -> None:
    finding = next(f for f in check(f"{FILE}:SeededAlike").findings if f.code == "seeding.batch_alike")
    assert finding.got == "[1, 2] of 3 do the same in 3 runs with equal actions"

"""The rules of plans: every module of this folder has `findings(case)`, which yields what is wrong.

Modules are found by listing the folder, so that adding a rule is adding a file.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import NamedTuple

from ...findings import Finding
from ...machine import Machine
from ..plan import Plan
from ..plan_environment import PlanEnvironment
from ..plan_numbers import PlanNumbers
from ..profile import Profile


class Case(NamedTuple):
    """What a rule looks at."""

    plan: Plan
    profile: Profile
    environment: PlanEnvironment
    numbers: PlanNumbers
    machine: Machine
    resuming: bool = False
    """Whether the plan's own run goes on from its checkpoint."""


@functools.cache
def modules() -> tuple[str, ...]:
    """The names of the modules of this folder."""
    return tuple(
        sorted(name[:-3] for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py") and name[0] != "_")
    )


def findings(case: Case) -> list[Finding]:
    """What every rule finds, in the order of the modules' names."""
    found: list[Finding] = []
    for name in modules():
        rule: Callable[[Case], Iterator[Finding]] = import_module(f"{__name__}.{name}").findings
        found.extend(rule(case))
    return found

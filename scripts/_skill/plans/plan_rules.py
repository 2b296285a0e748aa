"""Rules between a plan's fields, its environment, its profile and a machine.

Every rule that fails is one finding with the nearest value that would pass. The rules stand in `rules/`, one subject a
file; a new file there is a new rule.
"""

from __future__ import annotations

from .. import machine as machines
from ..findings import Finding
from ..machine import Machine
from . import plan_environment, plan_numbers, rules
from .environment_header import EnvironmentHeader
from .plan import Plan
from .plan_environment import PlanEnvironment
from .profile import Profile


def findings(
    plan: Plan,
    profile: Profile,
    environment: PlanEnvironment | EnvironmentHeader,
    machine: Machine | None = None,
    resuming: bool = False,
) -> list[Finding]:
    """Everything that is wrong with a plan whose form is right, on a machine (this one where none is given).

    `resuming`: the plan's own run goes on from its checkpoint, so where it once started from is not looked at.
    """
    if isinstance(environment, EnvironmentHeader):
        environment = plan_environment.of_header(environment)
    if machine is None:
        # Programs are asked only where an accelerator or a compiler matters: a check stays a matter of milliseconds.
        asks = plan.device != "cpu" or bool(plan.document.get("compile"))
        machine = machines.measure(programs=asks)
    numbers = plan_numbers.derive(plan, profile, environment)
    return rules.findings(rules.Case(plan, profile, environment, numbers, machine, resuming))

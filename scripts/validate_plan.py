#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Checks a plan file: strict JSON, schema, and every rule between its fields, its environment and a machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from _skill.findings import Report


def main(arguments: Sequence[str], report: Report) -> int:
    """Checks one plan; exit 1 where it breaks a rule."""
    parser = command_line.Parser("validate_plan.py", str(__doc__), "python3 scripts/validate_plan.py plan.json")
    parser.add_argument("plan", metavar="FILE", help="the plan")
    parser.add_argument("--machine", metavar="FILE", help="check for that machine (doctor.py --json), not for this one")
    options = parser.parse(arguments)
    from _skill import machine, text
    from _skill.findings import OK, PROBLEM, errors_in
    from _skill.gate import tier
    from _skill.plans import plan, plan_environment, plan_numbers, plan_rules, profile

    place = machine.read(options.machine) if options.machine else None
    read = plan.read(options.plan)
    engine = profile.load(read.profile)
    environment = plan_environment.load(read)
    report.findings.extend(plan_rules.findings(read, engine, environment, place))
    numbers = plan_numbers.derive(read, engine, environment)
    level, reasons = tier.of(read)
    report.results.update(plan_sha256=read.sha256, numbers=numbers._asdict(), tier=level, tier_reasons=reasons)
    errors = errors_in(report.findings)
    if errors:
        count = f"{len(errors)} problems" if len(errors) > 1 else "1 problem"
        return report.finish(PROBLEM, f"{text.escaped(options.plan)}: {count}")
    report.say(*(f"{name:<26} {value}" for name, value in numbers._asdict().items() if value is not None))
    report.say(f"{'tier':<26} {level}", *(f"{'':<26} because {reason}" for reason in reasons))
    return report.finish(OK, f"{text.escaped(options.plan)}: a valid plan")


if __name__ == "__main__":
    command_line.run("validate_plan", main)

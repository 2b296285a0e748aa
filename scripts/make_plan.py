#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Makes a complete training plan for an environment from a few choices, checks it, and prints or writes it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from _skill.findings import Report


def main(arguments: Sequence[str], report: Report) -> int:
    """Makes one plan; exit 1 where the choices break a rule."""
    parser = command_line.Parser(
        "make_plan.py", str(__doc__), "python3 scripts/make_plan.py cartpole --steps 5000000 --out plan.json"
    )
    parser.add_argument("environment", metavar="ENV", nargs="?", help="name of the environment, for example cartpole")
    parser.add_argument("--profile", default="4.0", metavar="NAME", help="engine to plan for (default 4.0)")
    parser.add_argument("--goal", metavar="RETURN", help="mean return that ends training early")
    parser.add_argument("--steps", metavar="N", help="most agent steps")
    parser.add_argument("--device", metavar="NAME", help="cpu or cuda")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="change one field; may be repeated"
    )
    parser.add_argument("--run", metavar="NAME", help="name of the run (default: environment, time, random part)")
    parser.add_argument("--env-path", metavar="PATH", help="folder outside the bundle with ENV.h, or the Python file")
    parser.add_argument("--contract", metavar="FILE", help="report of check_env.py: fills in spaces, agents, autoreset")
    parser.add_argument("--machine", metavar="FILE", help="plan for that machine (doctor.py --json), not for this one")
    parser.add_argument("--out", metavar="FILE", help="write the plan to a new file; without it the plan is printed")
    parser.add_argument("--explain", metavar="FIELD", help="what a field means, its default and why; needs no ENV")
    options = parser.parse(arguments)
    if options.environment is None and options.explain is None:
        parser.error("the following arguments are required: ENV")
    if options.run is not None and not options.run:
        # Nothing is not "choose a name for me".
        raise parser.wrong_use("--run needs a name", None, [])
    from _skill import atomic_file, machine
    from _skill.findings import OK, PROBLEM, errors_in
    from _skill.gate import tier
    from _skill.plans import (
        contract_report,
        plan,
        plan_answers,
        plan_environment,
        plan_making,
        plan_numbers,
        plan_rules,
        profile,
    )

    place = machine.read(options.machine) if options.machine else None
    contract = contract_report.read(options.contract) if options.contract else None
    made = None
    if options.environment is not None:
        made = plan_making.with_reasons(
            options.environment, options.env_path, _choices(options), options.run, options.profile, contract, place
        )
    if options.explain is not None:
        return plan_answers.explain(options.explain, options.profile, made, report)
    assert made is not None
    parsed = plan.parse(plan.written(made.document), "plan")
    engine = profile.load(parsed.profile)
    environment = plan_environment.load(parsed)
    numbers = plan_numbers.derive(parsed, engine, environment)
    report.findings.extend(plan_rules.findings(parsed, engine, environment, place))
    level, reasons = tier.of(parsed)
    report.results.update(plan=made.document, plan_sha256=parsed.sha256, numbers=numbers._asdict())
    report.results.update(reasons=made.reasons, tier=level, tier_reasons=reasons)
    if errors_in(report.findings):
        return report.finish(PROBLEM, "no plan was written: the choices do not fit together")
    if options.out is None:
        report.say(parsed.data.decode("ascii").rstrip("\n"))
        return report.finish(OK, "") if report.as_json else OK
    atomic_file.create(options.out, parsed.data)
    report.results["file"] = options.out
    report.say(*plan_answers.summary(parsed, environment, numbers, made, level, reasons))
    return report.finish(OK, f"wrote {options.out} for the run {parsed.run}")


def _choices(options: Namespace) -> list[str]:
    """The named options as fields; --set comes later and counts."""
    named = (
        ("train.target_return", options.goal),
        ("train.total_timesteps", options.steps),
        ("device", options.device),
    )
    return [*(f"{name}={value}" for name, value in named if value is not None), *options.set]


if __name__ == "__main__":
    command_line.run("make_plan", main)

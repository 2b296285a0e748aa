#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Makes a complete training plan for an environment from a few choices, checks it, and prints or writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from _skill.findings import Report


def main(arguments: Sequence[str], report: Report) -> int:
    """Makes one plan; exit 1 where the choices break a rule."""
    parser = command_line.Parser(
        "make_plan.py", str(__doc__), "python3 scripts/make_plan.py cartpole --set train.seed=2 --out plan.json"
    )
    parser.add_argument("environment", metavar="ENV", help="name of the environment, for example cartpole")
    parser.add_argument("--env-path", metavar="FOLDER", help="folder outside the bundle that holds ENV.h")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="change one field; may be repeated"
    )
    parser.add_argument("--run", metavar="NAME", help="name of the run (default: environment, time, random part)")
    parser.add_argument("--profile", default="4.0", metavar="NAME", help="engine to plan for (default 4.0)")
    parser.add_argument("--out", metavar="FILE", help="write the plan to a new file; without it the plan is printed")
    options = parser.parse(arguments)
    from _skill import atomic_file, text
    from _skill.findings import OK, PROBLEM, errors_in
    from _skill.gate import tier
    from _skill.plans import environment_folder, plan, plan_making, plan_numbers, plan_rules, profile

    document = plan_making.make(options.environment, options.env_path, options.set, options.run, options.profile)
    made = plan.parse(plan.written(document), "plan")
    engine = profile.load(made.profile)
    header = environment_folder.load(made.environment, made.environment_path).header
    numbers = plan_numbers.derive(made, engine, header)
    report.findings.extend(plan_rules.findings(made, engine, header))
    level, reasons = tier.of(made)
    report.results.update(
        plan=document, plan_sha256=made.sha256, numbers=numbers._asdict(), tier=level, tier_reasons=reasons
    )
    if errors_in(report.findings):
        return report.finish(PROBLEM, "no plan was written: the choices do not fit together")
    if options.out is None:
        report.say(made.data.decode("ascii").rstrip("\n"))
        return report.finish(OK, "") if report.as_json else OK
    atomic_file.create(options.out, made.data)
    report.results["file"] = options.out
    report.say(
        f"environment {text.escaped(header.title)}: {text.escaped(header.task)}",
        f"batch       {numbers.agents} agents x {made.train['horizon']} steps = {numbers.batch}",
        f"minibatches {numbers.minibatches} of {made.train['minibatch_size']}, {made.train['update_epochs']} epochs",
        f"budget      {made.train['total_timesteps']} steps = {numbers.iterations} iterations",
        f"storage     {text.byte_count(numbers.rollout_bytes)} a batch, "
        f"{text.byte_count(numbers.observation_bytes)} of them observations",
        f"tier        {level}" + "".join(f"\n            because {reason}" for reason in reasons),
    )
    return report.finish(OK, f"wrote {options.out} for the run {made.run}")


if __name__ == "__main__":
    command_line.run("make_plan", main)

#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Launches an approved plan: checks everything again, runs one bounded child process, records what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from argparse import Namespace

    from _skill.findings import Report
    from _skill.gate.launch_request import LaunchRequest

COMMANDS = """commands (each has its own --help):
  quickstart   plan, check, approve, train, evaluate and report in one go
  run          launch a plan file with its approval
  resume       go on from a run's last verified checkpoint
Without --opt-in or --approval a command shows what would run, starts nothing and exits 1."""


def _parsers() -> tuple[command_line.Parser, dict[str, command_line.Parser]]:
    example = "python3 scripts/launch.py quickstart --opt-in"
    overview = command_line.Parser("launch.py", f"{__doc__}\n\n{COMMANDS}", example)
    opt_in = "approve this launch oneself; only a low-tier plan allows it"
    quickstart = command_line.Parser("launch.py quickstart", "Trains one policy through the whole gate.", example)
    quickstart.add_argument(
        "--env", default="cartpole", metavar="NAME", help="a built-in environment (default cartpole)"
    )
    quickstart.add_argument("--env-path", metavar="FOLDER", help="folder outside the bundle that holds NAME.h")
    quickstart.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="change one field of the plan"
    )
    quickstart.add_argument("--run", metavar="NAME", help="name of the run (default: environment, time, random part)")
    quickstart.add_argument("--opt-in", action="store_true", help=opt_in)
    run = command_line.Parser(
        "launch.py run",
        "Launches a plan file.",
        "python3 scripts/launch.py run --plan plan.json --approval plan.approval.json",
    )
    run.add_argument("--plan", required=True, metavar="FILE", help="plan written by make_plan.py")
    run.add_argument("--approval", metavar="FILE", help="approval written by approve.py")
    run.add_argument("--opt-in", action="store_true", help=opt_in)
    resume = command_line.Parser(
        "launch.py resume",
        "Goes on from the last verified checkpoint.",
        "python3 scripts/launch.py resume runs/NAME --opt-in",
    )
    resume.add_argument("run", metavar="RUN", help="the run's folder")
    resume.add_argument("--approval", metavar="FILE", help="approval written by approve.py RUN")
    resume.add_argument("--opt-in", action="store_true", help=opt_in)
    return overview, {"quickstart": quickstart, "run": run, "resume": resume}


def main(arguments: Sequence[str], report: Report) -> int:
    """Runs one command and returns the exit status."""
    if arguments and not {"-h", "--help"} & set(arguments):
        import os

        from _skill.gate import credential_variables

        credential_variables.refuse_in_arguments(arguments, os.environ)
    overview, parsers = _parsers()
    name, options = command_line.choose_command(parsers, overview, arguments)
    from _skill import layout
    from _skill.gate import launch_request
    from _skill.plans import plan, plan_making

    launch_script, plan_file = layout.script("launch.py"), "plan.json"
    plan_first: list[str] = []
    if name == "quickstart" and options.run is not None and not options.run:
        # Nothing is not "choose a name for me".
        raise parsers[name].wrong_use("--run needs a name", None, [])
    if name == "quickstart":
        document = plan_making.make(options.env, options.env_path, options.set, options.run)
        request = launch_request.build(plan.parse(plan.written(document), "plan"))
        choices = [word for choice in options.set for word in ("--set", choice)]
        choices += ["--env-path", options.env_path] if options.env_path is not None else []
        own = _words(launch_script, "quickstart", "--env", options.env, *choices, "--opt-in")
        plan_first = [_words(layout.script("make_plan.py"), options.env, *choices, "--out", plan_file)]
    elif name == "run":
        plan_file = options.plan
        request = launch_request.build(plan.read(plan_file))
        own = _words(launch_script, "run", "--plan", plan_file, "--opt-in")
    else:
        request = launch_request.build_resume(options.run)
        own = _words(launch_script, "resume", options.run, "--opt-in")
    launch_request.show(request, report)
    if name == "resume":
        by_person = _by_person(options.run.rstrip("/"), _words("resume", options.run))
    else:
        by_person = plan_first + _by_person(plan_file, _words("run", "--plan", plan_file))
    return _decide(request, options, own, by_person, report)


def _by_person(subject: str, launching: str) -> list[str]:
    """The commands that have a person approve `subject` and then launch it."""
    from _skill import layout

    approval_file = subject.removesuffix(".json") + ".approval.json"
    return [
        _words(layout.script("approve.py"), subject, "--by", "NAME", "--expires-in", "1h"),
        f"{layout.script('launch.py')} {launching} {_words('--approval', approval_file)}",
    ]


def _decide(request: LaunchRequest, options: Namespace, own: str, by_person: list[str], report: Report) -> int:
    """Launches where there is consent; otherwise says how to give it (exit 1)."""
    from _skill.findings import PROBLEM, Finding
    from _skill.gate import approval

    given, signatures = None, []
    if getattr(options, "approval", None) is not None:
        from _skill.gate import consent

        given, signatures = approval.read(options.approval), consent.read(options.approval)
    elif options.opt_in and request.opt_in_is_enough:
        reason, seconds = "approved by its own --opt-in", min(300, request.decision.longest_expiry)
        given = approval.create(
            request.plan, request.items, request.purpose, request.tier, approval.OPT_IN, reason, seconds
        )
    if given is not None:
        from _skill.gate import launch

        return launch.launch(request, given, report, signatures)
    if options.opt_in:
        message = f"--opt-in is not enough for this plan: {request.decision.in_words()}"
        report.findings.append(Finding("tier.person", message, fix=by_person[0]))
    report.results["next"] = [own] if request.opt_in_is_enough else by_person
    report.say("next", *(f"  {command}" for command in report.results["next"]))
    return report.finish(PROBLEM, "nothing was written and nothing was started")


def _words(script: str, *words: str) -> str:
    """A command to copy: the script as it is, every other word quoted where a shell needs it."""
    import shlex

    from _skill import text

    return " ".join([script, *(text.escaped(shlex.quote(word), 4096) for word in words)])


if __name__ == "__main__":
    command_line.run("launch", main)

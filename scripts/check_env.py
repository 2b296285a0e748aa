#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Checks an environment against its contract, in a child process with limits and no network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from _skill import command_line

if TYPE_CHECKING:
    from _skill.contracts.contract import CheckOptions
    from _skill.contracts.target import Target
    from _skill.findings import Report

APIS = ("auto", "gymnasium", "pettingzoo-parallel", "pettingzoo-aec", "pufferenv", "c")
AUTORESETS = ("same_step", "next_step", "disabled")


def main(arguments: Sequence[str], report: Report) -> int:
    """Checks one environment; exit 1 where it breaks its contract, 2 where it could not be run."""
    parser = command_line.Parser("check_env.py", str(__doc__), "python3 scripts/check_env.py my_env.py:MyEnv")
    parser.add_argument("target", metavar="TARGET", help="FILE.py:NAME, package.module:NAME, an id, a C environment")
    parser.add_argument("--api", default="auto", metavar="API", help=", ".join(APIS))
    parser.add_argument("--steps", type=int, default=500, metavar="N", help="steps of the long rollout (500)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the runs (1)")
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="time in all; one call may take half (60)")
    parser.add_argument("--memory-mb", type=int, default=4096, metavar="N", help="memory of the child (4096)")
    parser.add_argument("--kwargs", default="{}", metavar="JSON", help="the constructor's arguments, a JSON object")
    parser.add_argument("--static", action="store_true", help="only read the source, run nothing")
    parser.add_argument("--respawn", action="store_true", help="agents may come back; each revival is reported")
    parser.add_argument(
        "--autoreset", default="", metavar="MODE", help=f"the mode you rely on: {', '.join(AUTORESETS)}"
    )
    parser.add_argument("--python", default="", metavar="PATH", help="the interpreter that has the packages")
    parser.add_argument("--out", metavar="FILE", help="also write the report to a file")
    options = parser.parse(arguments)
    for flag, value, known in (("--api", options.api, APIS), ("--autoreset", options.autoreset, ("", *AUTORESETS))):
        if value not in known:
            from _skill import text

            near = text.nearest(value, [name for name in known if name])
            raise parser.wrong_use(f"{flag} {text.shown(value)} is unknown", near, [name for name in known if name])
    from _skill.contracts import environment_check, target

    asked = _asked(options)
    environment_check.refuse_options(asked)
    named = target.read(options.target, options.api)
    if options.static:
        return _static(named, options.target, report)
    return _check(named, asked, options.out, report)


def _asked(options: Any) -> CheckOptions:
    """The options as the check takes them."""
    from _skill import strict_json
    from _skill.contracts.contract import CheckOptions
    from _skill.findings import COULD_NOT, Refusal, could_not

    try:
        kwargs = strict_json.loads(options.kwargs.encode("utf-8", "surrogateescape"), "--kwargs")
    except Refusal as refusal:
        # A mistake on the command line is wrong use; nothing was checked.
        raise Refusal(*refusal.findings, exit_status=COULD_NOT) from None
    if not isinstance(kwargs, dict):
        raise could_not("use.wrong", "--kwargs is no object", want='a JSON object such as {"size": 5}')
    return CheckOptions(
        options.target,
        options.api,
        options.steps,
        options.seed,
        options.seconds,
        options.memory_mb,
        kwargs,
        options.respawn,
        options.autoreset,
        options.python,
    )


def _static(named: Target, words: str, report: Report) -> int:
    """Reads the source only; warnings do not change the exit status, a source that cannot be read does."""
    from _skill import text
    from _skill.contracts import pipeline
    from _skill.findings import OK, PROBLEM, errors_in

    report.findings.extend(pipeline.static_findings(named, required=True))
    errors = errors_in(report.findings)
    count = len(report.findings)
    report.results["warnings"] = count - len(errors)
    summary = f"{text.escaped(words)}: {count} finding{'' if count == 1 else 's'} in the source; nothing was run"
    return report.finish(PROBLEM if errors else OK, summary)


def _check(named: Target, asked: CheckOptions, out: str | None, report: Report) -> int:
    """The whole check."""
    from _skill import atomic_file, strict_json, text
    from _skill.contracts import pipeline
    from _skill.contracts import report as contract_report
    from _skill.findings import errors_in

    if out is not None:
        atomic_file.check_replaceable(out)
    contract = pipeline.check(named, asked)
    document = contract_report.as_json(asked.target, contract)
    report.results.update({key: value for key, value in document.items() if key not in ("findings", "exit_status")})
    report.findings.extend(contract.findings)
    if out is not None:
        atomic_file.replace(out, (strict_json.pretty(document) + "\n").encode())
    report.say(*contract_report.lines(contract))
    errors, status = len(errors_in(contract.findings)), contract.exit_status()
    words = {
        0: "keeps its contract",
        1: f"{errors} finding{'' if errors == 1 else 's'}",
        2: "could not be checked wholly",
    }[status]
    warnings = len(contract.findings) - errors
    return report.finish(
        status,
        f"{text.escaped(asked.target)}: {words}"
        + (f", {warnings} warning{'' if warnings == 1 else 's'}" if warnings else ""),
    )


if __name__ == "__main__":
    command_line.run("check_env", main)

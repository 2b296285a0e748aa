#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Says what this machine has for training, what each profile can do here, and the command that mends what it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from _skill.doctor.profiles import Verdict
    from _skill.findings import Finding, Report


def main(arguments: Sequence[str], report: Report) -> int:
    """Looks at the machine; exit 1 where the profile cannot run here, 2 where that could not be found out."""
    parser = command_line.Parser("doctor.py", str(__doc__), "python3 scripts/doctor.py --machine-out machine.json")
    parser.add_argument("--profile", default="4.0", metavar="NAME", help="engine that has to run here (default 4.0)")
    parser.add_argument("--folder", default=".", metavar="FOLDER", help="folder of the runs (default: this one)")
    parser.add_argument(
        "--try-imports", action="store_true", help="also import each package, in a child; shows the loader's message"
    )
    parser.add_argument(
        "--machine-out", metavar="FILE", help="write what plans are checked against to a new file (machine/1)"
    )
    options = parser.parse(arguments)
    from _skill import atomic_file, machine, strict_json
    from _skill.doctor import examination, profiles
    from _skill.doctor.row import OK as WELL
    from _skill.doctor.row import Request
    from _skill.findings import COULD_NOT, OK, PROBLEM
    from _skill.plans import profile

    profile.load(options.profile)
    request = Request(machine.measure(options.folder), options.folder, options.try_imports)
    rows = examination.examine(request)
    verdicts = [profiles.judge(request, rows, name) for name in profile.names()]
    chosen = next(verdict for verdict in verdicts if verdict.profile == options.profile)
    report.findings.extend(_findings(chosen))
    report.results.update(
        machine=request.machine.as_json(),
        checks=[row._asdict() for row in rows],
        profiles=[verdict.as_json() for verdict in verdicts],
    )
    width = max(len(row.name) for row in rows)
    for row in rows:
        report.say(f"{row.state:<10}{row.name:<{width}}  {row.found}")
        if row.fix and row.state != WELL:
            report.say(f"{'':<10}{'':<{width}}  fix: {row.fix}")
    for verdict in verdicts:
        devices = ", ".join(f"{device}: {state}" for device, state in verdict.devices.items())
        lacks = ", ".join(row.name for row in verdict.lacks)
        parts = [verdict.reason, f"lacks {lacks}" if lacks else "", devices]
        report.say(
            f"{verdict.state:<10}{'profile ' + verdict.profile:<{width}}  {'; '.join(part for part in parts if part)}"
        )
    if options.machine_out is not None:
        content = strict_json.pretty(request.machine.as_json()) + "\n"
        atomic_file.create(options.machine_out, content.encode())
        report.results["file"] = options.machine_out
        report.say(
            f"wrote {options.machine_out}; check a plan for this machine with validate_plan.py PLAN --machine FILE"
        )
    status = {"ok": OK, "could not": COULD_NOT}.get(chosen.state, PROBLEM)
    words = {OK: "can run here", PROBLEM: "cannot run here", COULD_NOT: "could not be judged"}[status]
    return report.finish(status, f"profile {options.profile} {words}")


def _findings(verdict: Verdict) -> list[Finding]:
    """What keeps a profile from running, with the command that mends it."""
    from _skill.findings import Finding

    found = [Finding(row.code, f"{row.name}: {row.state}", "", row.found, "", row.fix) for row in verdict.lacks]
    if verdict.reason:
        found.append(Finding("doctor.profile", verdict.reason, "", verdict.profile, fix="use --profile 4.0"))
    return found


if __name__ == "__main__":
    command_line.run("doctor", main)

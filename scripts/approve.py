#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Approves one launch of a plan, or one resume of a run: shows exactly what would run and writes an approval.

The approval holds the digest of everything that will run on this machine and in this folder. It expires, and it is
used once. Run it where, and as whom, the plan will be launched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from _skill.findings import Report


def main(arguments: Sequence[str], report: Report) -> int:
    """Writes one approval; exit 1 where the plan may not be approved this way."""
    parser = command_line.Parser(
        "approve.py", str(__doc__), 'python3 scripts/approve.py plan.json --by "Ada Lovelace" --expires-in 1h'
    )
    parser.add_argument("subject", metavar="PLAN", help="a plan file, or the folder of a run to resume")
    parser.add_argument("--by", metavar="NAME", help="who approves; a person")
    parser.add_argument(
        "--opt-in", action="store_true", help="approve without a person; only a low-tier plan allows it"
    )
    parser.add_argument(
        "--expires-in", default="1h", metavar="TIME", help="90s, 30m, 1h or 7d (default 1h, at most 30d)"
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; kept in the approval")
    parser.add_argument("--out", metavar="FILE", help="a new file (default: PLAN without .json, plus .approval.json)")
    options = parser.parse(arguments)
    if (options.by is None) == (not options.opt_in):
        raise parser.wrong_use("give exactly one of --by NAME and --opt-in", None, [])
    import os

    from _skill import atomic_file, clock, layout, text
    from _skill.findings import OK, PROBLEM, Finding
    from _skill.gate import approval, launch_request, tier
    from _skill.plans import plan

    seconds = clock.duration(options.expires_in)
    subject = options.subject
    if os.path.isdir(subject):
        request = launch_request.build_resume(subject)
    else:
        request = launch_request.build(plan.read(subject))
    launch_request.show(request, report)
    if options.opt_in and request.tier != tier.SELF:
        report.findings.append(
            Finding(
                "tier.person",
                "--opt-in is not enough for this plan: a person must approve it",
                fix=f"{layout.script('approve.py')} {text.escaped(subject)} --by NAME --expires-in 1h",
            )
        )
        return report.finish(PROBLEM, "nothing was approved")
    by = options.by if options.by is not None else "--opt-in"
    given = approval.create(request.plan, request.items, request.purpose, request.tier, by, options.reason, seconds)
    base = subject.rstrip("/")
    out = options.out or f"{base[:-5] if base.endswith('.json') else base}.approval.json"
    atomic_file.create(out, given.data)
    report.results.update(file=out, approved_by=by, expires=given.document["expires"])
    launching = f"resume {subject}" if request.purpose == approval.RESUME else f"run --plan {subject}"
    report.say("next", f"  {layout.script('launch.py')} {launching} --approval {out}")
    return report.finish(OK, f"wrote {out}: {approval.summary(given)}")


if __name__ == "__main__":
    command_line.run("approve", main)

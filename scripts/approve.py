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
    from argparse import Namespace

    from _skill.findings import Report
    from _skill.gate.launch_request import LaunchRequest


def _options(arguments: Sequence[str]) -> tuple[command_line.Parser, Namespace]:
    parser = command_line.Parser(
        "approve.py", str(__doc__), 'python3 scripts/approve.py plan.json --by "Ada Lovelace" --expires-in 1h'
    )
    parser.add_argument("subject", metavar="PLAN", help="a plan file, or the folder of a run to resume")
    parser.add_argument("--by", metavar="NAME", help="who approves; a person")
    parser.add_argument("--opt-in", action="store_true", help="approve without a person, where the tier allows it")
    parser.add_argument("--expires-in", default="1h", metavar="TIME", help="90s, 30m, 1h or 7d (default 1h)")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; kept in the approval")
    parser.add_argument("--requested-by", metavar="NAME", help="who asked (default: the owner of the plan's file)")
    parser.add_argument("--sign", metavar="KEY", help="sign with this ssh key, or a .pub whose key an agent holds")
    parser.add_argument("--add-to", metavar="FILE", help="add a signature of another person to this approval")
    parser.add_argument("--out", metavar="FILE", help="a new file (default: PLAN without .json, plus .approval.json)")
    return parser, parser.parse(arguments)


def main(arguments: Sequence[str], report: Report) -> int:
    """Writes one approval, or one more signature of it; exit 1 where the plan may not be approved this way."""
    if "--help" not in arguments and "-h" not in arguments:
        import os

        from _skill.gate import credential_variables

        credential_variables.refuse_in_arguments(arguments, os.environ)
    parser, options = _options(arguments)
    if options.add_to is not None and (options.by or options.opt_in or not options.sign):
        raise parser.wrong_use("--add-to needs --sign, and neither --by nor --opt-in", None, [])
    if options.add_to is None and (options.by is None) == (not options.opt_in):
        raise parser.wrong_use("give exactly one of --by NAME and --opt-in", None, [])
    import os

    from _skill import layout, text
    from _skill.findings import PROBLEM, Finding
    from _skill.gate import approval, launch_request
    from _skill.plans import plan

    subject = options.subject
    if os.path.isdir(subject):
        request = launch_request.build_resume(subject)
    else:
        request = launch_request.build(plan.read(subject))
    launch_request.show(request, report)
    if options.opt_in and not request.opt_in_is_enough:
        report.findings.append(
            Finding(
                "tier.person",
                f"--opt-in is not enough for this plan: {request.decision.in_words()}",
                fix=f"{layout.script('approve.py')} {text.escaped(subject)} --by NAME --expires-in 1h",
            )
        )
        return report.finish(PROBLEM, "nothing was approved")
    launching = f"resume {subject}" if request.purpose == approval.RESUME else f"run --plan {subject}"
    return _add(request, options, launching, report) if options.add_to else _write(request, options, launching, report)


def _write(request: LaunchRequest, options: Namespace, launching: str, report: Report) -> int:
    """Writes a new approval and, where a key is given, its signature; the approval only where it could be signed."""
    import os

    from _skill import atomic_file, clock, layout
    from _skill.findings import OK, Finding, Refusal
    from _skill.gate import approval, consent, ssh_signature

    by = options.by if options.by is not None else approval.OPT_IN
    if by == approval.OPT_IN and options.by is not None:
        raise Refusal(Finding("approval.name", "this is not the name of a person", "--by", approval.OPT_IN))
    if options.sign and not ssh_signature.PRINCIPAL.match(by):
        want = "letters, digits, . _ @ + and -, as in the allowed signers file"
        raise Refusal(Finding("approval.name", "a signed approval needs the signer's name", "--by", want=want))
    seconds = clock.duration(options.expires_in)
    longest = request.decision.longest_expiry
    if seconds > longest:
        want = f"at most {longest} s"
        raise Refusal(Finding("approval.too_long", "longer than the launch policy allows", "--expires-in", want=want))
    requested_by = options.requested_by or _owner(options.subject)
    given = approval.create(
        request.plan, request.items, request.purpose, request.tier, by, options.reason, seconds, requested_by
    )
    base = options.subject.rstrip("/")
    out = options.out or f"{base[:-5] if base.endswith('.json') else base}.approval.json"
    written = [out]
    if options.sign:
        signature = ssh_signature.sign(options.sign, ssh_signature.APPROVAL, given.data)
        # First the signature: an approval without one would look unsigned on purpose.
        atomic_file.create(consent.paths(out)[0], signature)
        written.insert(0, consent.paths(out)[0])
    try:
        atomic_file.create(out, given.data)
    except Refusal:
        for path in written[:-1]:
            os.unlink(path)
        raise
    report.results.update(file=out, approved_by=by, expires=given.document["expires"], written=written)
    report.say("next", f"  {layout.script('launch.py')} {launching} --approval {out}")
    return report.finish(OK, f"wrote {' and '.join(written)}: {approval.summary(given)}")


def _add(request: LaunchRequest, options: Namespace, launching: str, report: Report) -> int:
    """Adds one more signature to an approval that holds for what is there now."""
    from _skill import layout
    from _skill.findings import OK, Refusal
    from _skill.gate import approval, consent

    given = approval.read(options.add_to)
    longest = request.decision.longest_expiry
    found = approval.findings(given, request.plan, request.items, request.purpose, request.tier, longest)
    if found:
        raise Refusal(*found)
    path = consent.add(options.add_to, given, options.sign)
    report.results.update(file=options.add_to, written=[path])
    report.say("next", f"  {layout.script('launch.py')} {launching} --approval {options.add_to}")
    return report.finish(OK, f"wrote {path}: one more signature of {options.add_to}")


def _owner(path: str) -> str:
    """The account that owns a file."""
    import os
    import pwd

    owner = os.stat(path).st_uid
    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return str(owner)


if __name__ == "__main__":
    command_line.run("approve", main)

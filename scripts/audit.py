#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Verifies, anchors or shows the audit log of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from argparse import Namespace

    from _skill.findings import Report
    from _skill.gate.audit_log import Verified

COMMANDS = """commands (each has its own --help):
  verify   find any edit, removal, reorder or duplicate of records, and files that changed after the run ended
  anchor   write how far the log is to a file for a place of your own, signed if you like
  show     print the records"""
NOT_COVERED = (
    "Whoever can write both the log and its anchor can forge both: the log is not signed. Keep an anchor elsewhere."
)
MOST_SHOWN = 1000


def _parsers() -> tuple[command_line.Parser, dict[str, command_line.Parser]]:
    example = "python3 scripts/audit.py verify runs/NAME"
    anchoring = "python3 scripts/audit.py anchor runs/NAME --out /elsewhere/NAME.anchor --sign KEY"
    overview = command_line.Parser("audit.py", f"{__doc__}\n\n{COMMANDS}", example)
    verify = command_line.Parser(
        "audit.py verify", f"Verifies the chain, the anchor and the run's files.\n{NOT_COVERED}", example
    )
    verify.add_argument("--anchor", metavar="FILE", help="an anchor that was taken earlier and kept elsewhere")
    verify.add_argument(
        "--allowed-signers", metavar="FILE", help="check the signatures of the anchor and of the run's approvals"
    )
    anchor = command_line.Parser("audit.py anchor", "Writes an anchor of a log that verifies.", anchoring)
    anchor.add_argument("--out", required=True, metavar="FILE", help="a new file, where the run cannot write")
    anchor.add_argument("--sign", metavar="KEY", help="sign with this ssh key, or a .pub whose key an agent holds")
    show = command_line.Parser("audit.py show", "Prints the records.", "python3 scripts/audit.py show runs/NAME")
    parsers = {"verify": verify, "anchor": anchor, "show": show}
    for parser in parsers.values():
        parser.add_argument("log", metavar="FILE", help="audit.jsonl, or the run's folder")
    return overview, parsers


def main(arguments: Sequence[str], report: Report) -> int:
    """Runs one command and returns the exit status."""
    if arguments and not {"-h", "--help"} & set(arguments):
        import os

        from _skill.gate import credential_variables

        credential_variables.refuse_in_arguments(arguments, os.environ)
    overview, parsers = _parsers()
    name, options = command_line.choose_command(parsers, overview, arguments)
    import os

    from _skill import text
    from _skill.findings import OK, PROBLEM, errors_in
    from _skill.gate import audit_log, run_files

    path = os.path.join(options.log, audit_log.LOG) if os.path.isdir(options.log) else options.log
    verified = audit_log.verify(path)
    folder = os.path.dirname(path)
    report.findings.extend(verified.findings or run_files.changed(folder, verified.records))
    report.results["records"] = len(verified.records)
    if verified.records:
        report.results["result"] = verified.records[-1]["data"].get("result")
    if name == "verify" and not verified.findings:
        _verify_more(path, verified, options, report)
    if not verified.findings:
        report.findings.extend(run_files.open_end(verified.records))
    wrong = bool(errors_in(report.findings))
    if name == "show":
        _show(verified, report)
    elif name == "anchor" and not wrong:
        return _anchor(path, verified, options, report)
    elif not verified.findings:
        report.say(f"{len(verified.records)} records, whole chain and anchor agree. {NOT_COVERED}")
    summary = f"{text.escaped(path)}: {'does not verify' if wrong else 'verified'}"
    return report.finish(PROBLEM if wrong else OK, summary)


def _verify_more(path: str, verified: Verified, options: Namespace, report: Report) -> None:
    """Checks an anchor that was kept elsewhere, and signatures."""
    import os

    from _skill import strict_json
    from _skill.gate import audit_anchor, launch_policy, signed_approvals

    signers = launch_policy.signers(options.allowed_signers) if options.allowed_signers else None
    if options.anchor is not None:
        data = strict_json.read_file(options.anchor, audit_anchor.MAX_BYTES)
        anchor = audit_anchor.parse(data, options.anchor)
        run = verified.records[0]["data"].get("run", "") if verified.records else ""
        report.findings.extend(audit_anchor.findings(anchor, audit_anchor.log_bytes(path), run, options.anchor))
        if signers is not None:
            report.results["anchor_signer"] = audit_anchor.signer(options.anchor, data, signers)._asdict()
    if signers is not None:
        folder = os.path.dirname(path) or os.curdir
        found, names = signed_approvals.check(folder, verified.records, signers)
        report.findings.extend(found)
        report.results["approval_signers"] = names


def _anchor(path: str, verified: Verified, options: Namespace, report: Report) -> int:
    """Writes the anchor; with a key first its signature."""
    from _skill import atomic_file, text
    from _skill.findings import OK
    from _skill.gate import audit_anchor

    data = audit_anchor.take(verified.records[0]["data"].get("run", ""), audit_anchor.log_bytes(path))
    written = [options.out]
    if options.sign is not None:
        name, signature = audit_anchor.sign(options.out, data, options.sign)
        atomic_file.create(name, signature)
        written.insert(0, name)
    atomic_file.create(options.out, data)
    report.results.update(written=written, anchor=audit_anchor.parse(data, options.out))
    return report.finish(OK, f"wrote {text.listed(written)}: {len(verified.records)} records of {text.escaped(path)}")


def _show(verified: Verified, report: Report) -> None:
    shown = verified.records[-MOST_SHOWN:]
    report.results["log"] = shown
    report.results["left_out"] = len(verified.records) - len(shown)
    if report.results["left_out"]:
        report.say(f"... {report.results['left_out']} records before these")
    for record in shown:
        facts = ", ".join(f"{key} {_fact(value)}" for key, value in record["data"].items())
        report.say(f"{record['sequence']:>4}  {record['time']}  {record['event']:<9}  {facts}")


def _fact(value: object) -> str:
    """A fact in one piece: texts escaped and cut, everything else as JSON, which is ASCII."""
    from _skill import strict_json, text

    return text.shown(value) if isinstance(value, str) else text.escaped(strict_json.canonical(value).decode(), 1200)


if __name__ == "__main__":
    command_line.run("audit", main)

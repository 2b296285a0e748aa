#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Verifies or shows the audit log of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from _skill.findings import Report

COMMANDS = """commands (each has its own --help):
  verify   find any edit, removal, reorder or duplicate of records, and files that changed after the run ended
  show     print the records"""
NOT_COVERED = "Whoever can write both the log and its anchor can forge both: the log is not signed."


def main(arguments: Sequence[str], report: Report) -> int:
    """Runs one command and returns the exit status."""
    example = "python3 scripts/audit.py verify runs/NAME"
    overview = command_line.Parser("audit.py", f"{__doc__}\n\n{COMMANDS}", example)
    parsers = {
        "verify": command_line.Parser(
            "audit.py verify", f"Verifies the chain, the anchor and the run's files.\n{NOT_COVERED}", example
        ),
        "show": command_line.Parser("audit.py show", "Prints the records.", "python3 scripts/audit.py show runs/NAME"),
    }
    for parser in parsers.values():
        parser.add_argument("log", metavar="FILE", help="audit.jsonl, or the run's folder")
    name, options = command_line.choose_command(parsers, overview, arguments)
    import os

    from _skill import text
    from _skill.findings import OK, PROBLEM
    from _skill.gate import audit_log, run_files

    path = os.path.join(options.log, audit_log.LOG) if os.path.isdir(options.log) else options.log
    verified = audit_log.verify(path)
    report.findings.extend(verified.findings or run_files.changed(os.path.dirname(path), verified.records))
    report.results["records"] = len(verified.records)
    if name == "show":
        report.results["log"] = verified.records[-1000:]
        for record in verified.records[-1000:]:
            facts = ", ".join(f"{key} {_shown(value)}" for key, value in record["data"].items())
            report.say(f"{record['sequence']:>4}  {record['time']}  {record['event']:<9}  {facts}")
    elif not verified.findings:
        report.say(f"{len(verified.records)} records, whole chain and anchor agree. {NOT_COVERED}")
    return report.finish(
        PROBLEM if report.findings else OK,
        f"{text.escaped(path)}: {'does not verify' if report.findings else 'verified'}",
    )


def _shown(value: object) -> str:
    """A fact in one piece: texts escaped and cut, everything else as JSON, which is ASCII."""
    from _skill import strict_json, text

    return text.shown(value) if isinstance(value, str) else text.escaped(strict_json.canonical(value).decode(), 1200)


if __name__ == "__main__":
    command_line.run("audit", main)

#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Checks a skill bundle against the Agent Skills rules: front matter, budgets, links, hidden instructions, programs
that reach a shell. Reads only; --run-help also runs the scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from _skill.findings import Report

MADE_HERE = ("build", "dist", "runs")
"""What work in a checkout of this bundle leaves behind; git ignores it, and it is not part of the bundle."""


def main(arguments: Sequence[str], report: Report) -> int:
    """Checks one bundle; exit 1 where an error is found."""
    parser = command_line.Parser("lint_skill.py", str(__doc__), "python3 scripts/lint_skill.py path/to/skill")
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="folder that holds SKILL.md (default: this bundle)")
    parser.add_argument("--as", dest="name", metavar="NAME", help="check as if the folder were called NAME")
    parser.add_argument(
        "--leave-out", action="append", default=[], metavar="PATH", help="do not look into this file or folder of it"
    )
    parser.add_argument(
        "--allow", action="append", default=[], metavar="CODE:FILE", help="make this finding in this file a warning"
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 for warnings too")
    parser.add_argument("--run-help", action="store_true", help="run each script with --help, bounded; runs their code")
    options = parser.parse(arguments)
    from _skill import layout, text
    from _skill.findings import OK, PROBLEM, errors_in
    from _skill.skills import lint
    from _skill.skills.bundle import Bundle

    folder = layout.ROOT if options.folder is None else options.folder
    made = MADE_HERE if options.folder is None else ()
    bundle = Bundle(folder, options.name, (*made, *options.leave_out))
    report.findings.extend(lint.check(bundle, options.allow))
    if options.run_help:
        from _skill.skills import answers

        report.findings[:0] = answers.check(bundle)
        report.results["not_bounded"] = answers.bounds()
    errors = len(errors_in(report.findings))
    warnings = len(report.findings) - errors
    report.results.update(
        files=len(bundle.files),
        left_out=[{"path": text.escaped(path), "why": reason} for path, reason in sorted(bundle.left_out.items())],
        not_text=len(bundle.not_text),
        errors=errors,
        warnings=warnings,
    )
    reasons: dict[str, list[str]] = {}
    for path, reason in sorted(bundle.left_out.items()):
        reasons.setdefault(reason, []).append(path)
    for reason, paths in reasons.items():
        report.say(f"not looked into: {text.listed(paths, 8)} ({reason})")
    summary = f"{text.escaped(bundle.name)}: {len(bundle.files)} files, {errors} errors, {warnings} warnings"
    return report.finish(PROBLEM if errors or (options.strict and warnings) else OK, summary)


if __name__ == "__main__":
    command_line.run("lint_skill", main)

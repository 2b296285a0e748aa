"""Findings and the report that every tool ends with: a table for people, JSON for machines.

A finding says what was found, where, what was expected and what to do. Codes are words and are never reused.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TextIO

from . import VERSION, text

OK = 0
PROBLEM = 1
COULD_NOT = 2
INTERRUPTED = 130
TERMINATED = 143

SHOWN_FINDINGS = 50
"""How many findings a report shows; the rest is counted."""


class Finding(NamedTuple):
    """One fact that a check found."""

    code: str
    message: str
    pointer: str = ""
    """JSON pointer into the document, or a file name."""
    got: str = ""
    want: str = ""
    fix: str = ""
    severity: str = "error"
    """`error` refuses; `warning` is shown and does not change the exit status."""

    def as_json(self) -> dict[str, str]:
        """The finding as one flat JSON object."""
        return dict(self._asdict())


class Refusal(Exception):
    """Stops a tool with findings and an exit status."""

    def __init__(self, *findings: Finding, exit_status: int = PROBLEM) -> None:
        super().__init__("; ".join(finding.message for finding in findings))
        self.findings = list(findings)
        self.exit_status = exit_status


def could_not(code: str, message: str, *, where: str = "", want: str = "", fix: str = "") -> Refusal:
    """A refusal because the check could not be made (exit 2): never to be read as a pass."""
    return Refusal(Finding(code, message, where, want=want, fix=fix), exit_status=COULD_NOT)


def errors_in(findings: list[Finding]) -> list[Finding]:
    """The findings that refuse."""
    return [finding for finding in findings if finding.severity == "error"]


class Report:
    """What a tool answers: status, findings, named results."""

    def __init__(self, tool: str, as_json: bool) -> None:
        self.tool = tool
        self.as_json = as_json
        self.findings: list[Finding] = []
        self.results: dict[str, Any] = {}
        self.lines: list[str] = []
        self.hide: Callable[[str], str] = str
        """Hides secrets in whatever is printed; `command_line.run` sets it."""

    def say(self, *lines: str) -> None:
        """Adds lines for people; they are printed at once, and left out of the JSON form."""
        self.lines.extend(lines)
        if not self.as_json:
            self.flush()

    def flush(self) -> None:
        """Prints the lines collected so far."""
        if self.lines:
            _print(self.hide("\n".join(self.lines)), sys.stdout)
        self.lines.clear()

    def finish(self, exit_status: int, summary: str) -> int:
        """Prints findings, errors first, and summary; returns `exit_status`."""
        # What refuses stands first: people read the first lines, and only so many findings are shown.
        self.findings.sort(key=lambda finding: finding.severity != "error")
        status = {OK: "ok", PROBLEM: "problem", COULD_NOT: "could not"}.get(exit_status, "interrupted")
        if self.as_json:
            from . import strict_json

            document: dict[str, Any] = {
                "tool": self.tool,
                "version": VERSION,
                "status": status,
                "exit_status": exit_status,
                "summary": summary,
                "findings": [finding.as_json() for finding in self.findings[:SHOWN_FINDINGS]],
                "findings_left_out": max(0, len(self.findings) - SHOWN_FINDINGS),
                **self.results,
            }
            _print(strict_json.pretty(_hidden(document, self.hide)), sys.stdout)
        else:
            self.flush()
            stream = sys.stdout if exit_status == OK else sys.stderr
            _print(self.hide("\n".join([*finding_lines(self.findings), summary])), stream)
        return exit_status


def _hidden(value: Any, hide: Callable[[str], str]) -> Any:
    """A document with the secrets in its texts hidden; numbers stay, so that it is still JSON of the same form."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {hide(str(key)): _hidden(item, hide) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_hidden(item, hide) for item in value]
    return value


def _print(words: str, stream: TextIO) -> None:
    """Prints at once; where the reader has gone away the rest goes nowhere and the tool goes on to its end."""
    try:
        print(words, file=stream, flush=True)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def finding_lines(findings: list[Finding]) -> list[str]:
    """The findings as lines for people."""
    lines = []
    for finding in findings[:SHOWN_FINDINGS]:
        place = f" at {text.escaped(finding.pointer)}" if finding.pointer else ""
        lines.append(f"{finding.severity}: {finding.message}{place} [{finding.code}]")
        lines.extend(
            f"  {label:<4} {value}"
            for label, value in (("got", finding.got), ("want", finding.want), ("fix", finding.fix))
            if value
        )
    if len(findings) > SHOWN_FINDINGS:
        lines.append(f"... and {len(findings) - SHOWN_FINDINGS} more findings")
    return lines

"""Where the report goes: checked before anything is measured, written whole at the end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .. import atomic_file, strict_json
from ..findings import Finding, Refusal
from . import report as report_form

if TYPE_CHECKING:
    from ..findings import Report


def check(path: str | None) -> None:
    """Refuses a name that exists (exit 1) or a folder that cannot be written (exit 2), before minutes are spent."""
    if path is None:
        return
    if os.path.lexists(path):
        raise Refusal(
            Finding(
                "file.exists", "the file exists and is never replaced", path, fix="choose another name or remove it"
            )
        )
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise atomic_file.unwritable(path, OSError("no such folder, or it may not be written"))


def write(path: str | None, result: dict[str, Any], report: Report) -> None:
    """Adds the result to the tool's report, prints the table and keeps the file."""
    if path is not None:
        atomic_file.create(path, strict_json.pretty(result).encode() + b"\n")
    report.findings.extend(report_form.warnings(result))
    report.results["benchmark"] = result
    report.say(*report_form.table(result))

"""What the inspector says about a file, in this process: exit status, verdict and codes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from _skill.checkpoints import inspection, inspection_report
from _skill.findings import Refusal


class Judgement(NamedTuple):
    """What the tool would answer."""

    status: int
    verdict: str
    kind: str
    codes: tuple[str, ...]


def judge(path: Path, expect: str | None = None) -> Judgement:
    """Inspects one file as `inspect_checkpoint.py` does."""
    try:
        with inspection.opened(str(path), expect) as inspected:
            content = inspected.content
            status = inspection_report.exit_status(inspected)
            return Judgement(status, content.verdict, content.kind, tuple(finding.code for finding in content.findings))
    except Refusal as refusal:
        return Judgement(refusal.exit_status, "refused", "", tuple(finding.code for finding in refusal.findings))

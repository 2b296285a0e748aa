"""Whether a run's files are still those that its audit log names."""

from __future__ import annotations

import os
from typing import Any

from .. import text
from ..findings import Finding
from . import evidence
from .digest import same


def changed(folder: str, records: list[dict[str, Any]]) -> list[Finding]:
    """One finding for each file that is not as the last record says; empty while a run is not at its end."""
    if not records or records[-1]["event"] != "ended" or not isinstance(records[-1]["data"].get("files"), dict):
        return []
    recorded = records[-1]["data"]["files"]
    found = evidence.file_digests(folder or os.curdir)
    findings = []
    for name in sorted(recorded.keys() | found.keys()):
        before, after = recorded.get(name), found.get(name)
        if not isinstance(before, str) or after is None or not same(before, after):
            what = "is not in the log" if before is None else "is gone" if after is None else "has been changed"
            findings.append(
                Finding(
                    "run.file",
                    f"{text.escaped(name)} {what}",
                    os.path.join(folder, name),
                    after or "",
                    str(before or ""),
                )
            )
    return findings

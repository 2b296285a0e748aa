"""Whether a run's files are still those that its audit log names."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any

from .. import text
from ..findings import Finding
from ..plans import credentials
from . import credential_variables, evidence
from .digest import same

_MOST_CHARACTERS = 64 << 20


def changed(folder: str, records: list[dict[str, Any]]) -> list[Finding]:
    """One finding for each file that is not as the log says.

    What the run was started with counts from its start on, everything else from its end on.
    """
    recorded: dict[str, Any] = dict(inputs(records))
    ended = bool(records) and records[-1]["event"] == "ended" and isinstance(records[-1]["data"].get("files"), dict)
    found = evidence.file_digests(folder or os.curdir)
    if ended:
        # The start of the log is older than its end: a plan that changed in between is named as well.
        recorded = {**records[-1]["data"]["files"], **recorded}
    # Where a run made more files than its record names, new ones cannot be told from those that were left out.
    every = ended and not records[-1]["data"].get("files_left_out")
    names = recorded.keys() | found.keys() if every else recorded.keys()
    findings = []
    for name in sorted(names):
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


def open_end(records: list[dict[str, Any]]) -> list[Finding]:
    """A warning where a log has no end: it verifies, and says nothing about how the run went."""
    if records and records[-1]["event"] == "ended":
        return []
    message = "the log has no end: the run is still alive, or its gate was killed; nothing says that it finished"
    return [Finding("audit.open", message, severity="warning")]


def inputs(records: list[dict[str, Any]]) -> dict[str, str]:
    """The files that a run was started with, and their SHA-256, as its log says: plan, approvals, signatures."""
    found: dict[str, str] = {}
    for record in records:
        data = record["data"]
        if record["event"] == "planned" and isinstance(data.get("plan_sha256"), str):
            found["plan.json"] = data["plan_sha256"]
        if record["event"] == "approved" and isinstance(data.get("file"), str) and isinstance(data.get("sha256"), str):
            found[data["file"]] = data["sha256"]
            signatures = data.get("signatures")
            if isinstance(signatures, dict):
                found.update({name: sha256 for name, sha256 in signatures.items() if isinstance(sha256, str)})
    return found


def secrets_in(folder: str, hide: Callable[[str], str]) -> list[Finding]:
    """One finding for each text file of a run that holds the value of a secret variable; the value is in none."""
    if hide is credential_variables.nothing:
        return []
    findings = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.endswith(".safetensors") or not stat.S_ISREG(os.lstat(path).st_mode):
            continue
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            words = stream.read(_MOST_CHARACTERS)
        if hide(words) != words:
            message = f"{text.escaped(name)} holds the value of a secret variable: the run has written it there"
            fix = "remove the file before you show it to anybody, and revoke the credential"
            findings.append(Finding("secret.written", message, path, credentials.HIDDEN, "", fix))
    return findings

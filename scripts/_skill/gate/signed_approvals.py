"""The signatures of a finished run's approvals, checked again as of the time when they were used."""

from __future__ import annotations

import os
from typing import Any

from .. import strict_json
from ..findings import COULD_NOT, Finding, Refusal
from . import approval, consent, ssh_signature


def check(folder: str, records: list[dict[str, Any]], signers: bytes) -> tuple[list[Finding], dict[str, list[str]]]:
    """What is wrong with the signatures of a run's approvals, and who signed which.

    Keys must have been valid when the approval was used: that a key has expired since undoes no approval.
    """
    findings: list[Finding] = []
    names: dict[str, list[str]] = {}
    for record in records:
        name = record["data"].get("file")
        if record["event"] != "approved" or not isinstance(name, str) or os.path.basename(name) != name:
            continue
        path = os.path.join(folder, name)
        signatures = consent.read(path)
        names[name] = []
        if not signatures:
            findings.append(Finding("signature.missing", f"{name} is not signed", path))
            continue
        data = strict_json.read_file(path, approval.MAX_BYTES)
        for number, signature in enumerate(signatures):
            principal = approval.parse(data, path).document["approved_by"] if number == 0 else None
            at = ssh_signature.stamp(record["time"])
            try:
                signer = ssh_signature.verify(data, signature.data, ssh_signature.APPROVAL, signers, principal, at)
            except Refusal as refusal:
                if refusal.exit_status == COULD_NOT:
                    raise
                findings.extend(found._replace(pointer=f"{path}{signature.name}") for found in refusal.findings)
            else:
                names[name].append(f"{signer.principal} {signer.key}")
    return findings, names

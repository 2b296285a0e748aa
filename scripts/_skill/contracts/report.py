"""A contract as JSON by `schemas/environment_contract.schema.json`, and as tables for people."""

from __future__ import annotations

from typing import Any

from ..findings import Finding
from .contract import SCHEMA, Contract, ContractFinding

MARKS = {"passed": "passed", "finding": "FINDING", "not_applicable": "-", "could_not": "COULD NOT"}
SHOWN_LEAVES = 40
SHOWN_FINDINGS = 500


def as_json(target: str, contract: Contract) -> dict[str, Any]:
    """The report as it is written to a file."""
    return {
        "schema": SCHEMA,
        "target": target,
        "exit_status": contract.exit_status(),
        "api": contract.api,
        "form": contract.form,
        "spec": contract.spec.as_json() if contract.spec is not None else None,
        "checks": [check._asdict() for check in contract.checks],
        "findings": [finding_json(finding) for finding in contract.findings[:SHOWN_FINDINGS]],
        "leaves": [{**row._asdict(), "shape": list(row.shape)} for row in contract.leaves],
        "notes": contract.notes,
        "isolation": [fact._asdict() for fact in contract.isolation],
        "measured": contract.measured,
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding with its place; null where it has none."""
    place = finding.place.as_json() if isinstance(finding, ContractFinding) else None
    return {**finding._asdict(), "place": place}


def lines(contract: Contract) -> list[str]:
    """The tables for people: checks, leaves, notes, what held."""
    out = [f"api        {contract.api}{f' ({contract.form})' if contract.form else ''}"]
    if contract.spec is not None:
        out.append(f"agents     {contract.spec.agents}")
        out.append(f"autoreset  {contract.spec.autoreset or 'UNKNOWN'}")
    out += ["", f"{'check':<15} {'result':<10} detail"]
    out += [f"{check.name:<15} {MARKS[check.status]:<10} {check.detail or check.title}" for check in contract.checks]
    if contract.leaves:
        out += ["", f"{'leaf':<34} {'dtype':<8} {'shape':<16} {'bytes':>8}  bounds"]
    for row in contract.leaves[:SHOWN_LEAVES]:
        name = f"{row.agent + ' ' if row.agent else ''}{row.role}{row.path}"
        bounds = f"{row.low} to {row.high}" if row.low else row.space
        out.append(f"{name:<34} {row.dtype:<8} {row.shape!s:<16} {row.bytes:>8}  {bounds}")
        if row.actual:
            out.append(f"{'':<34} came as {row.actual}")
    if len(contract.leaves) > SHOWN_LEAVES:
        out.append(f"... and {len(contract.leaves) - SHOWN_LEAVES} more leaves")
    out += ["", *(f"note: {note}" for note in contract.notes[:40])] if contract.notes else []
    out += ["", *(f"{fact.name:<11} {fact.words}" for fact in contract.isolation), ""]
    return out

"""A plan: the one document that says what a run does, read strictly.

Reading is in two steps that share nothing: this module checks the form (strict JSON, schema), `plan_rules` what
no schema can say.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import strict_json
from ..findings import Refusal
from ..json_schema import Schema


class Limits(NamedTuple):
    """Bounds on the child process."""

    wall_seconds: int
    memory_mb: int
    disk_mb: int


class Plan(NamedTuple):
    """A plan whose form is right."""

    data: bytes
    """The exact bytes; digests are taken of these and the child gets these."""
    document: dict[str, Any]
    run: str
    profile: str
    environment: str
    environment_path: str | None
    settings: dict[str, int | float]
    train: dict[str, Any]
    device: str
    network: list[str]
    limits: Limits

    @property
    def sha256(self) -> str:
        """SHA-256 of the plan's bytes."""
        import hashlib

        return hashlib.sha256(self.data).hexdigest()


def parse(data: bytes, source: str) -> Plan:
    """The plan in `data`; a Refusal carries every mistake of form."""
    document = strict_json.loads(data, source)
    findings = Schema.shipped("plan").findings(document)
    if findings:
        raise Refusal(*findings)
    return Plan(
        data=data,
        document=document,
        run=document["run"],
        profile=document["profile"],
        environment=document["environment"]["name"],
        environment_path=document["environment"].get("path"),
        settings=document["environment"]["settings"],
        train=document["train"],
        device=document["device"],
        network=document["network"],
        limits=Limits(**document["limits"]),
    )


def read(path: str) -> Plan:
    """The plan in a file."""
    return parse(strict_json.read_file(path), path)


def written(document: dict[str, Any]) -> bytes:
    """The bytes of a plan as `make_plan.py` writes them."""
    return strict_json.pretty(document).encode("ascii") + b"\n"

"""Approvals: consent of one named person to one launch of exactly what a digest covers.

An approval is bound to the digest, expires, and is used once: launching leaves a marker, named by the approval,
that cannot be made twice. The digest is always computed from what will run; a digest that anybody supplies is
only ever compared with it. Without a signature (see `consent`) an approval proves consent only where its file is
out of the requester's reach.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from .. import atomic_file, clock, layout, strict_json, text
from ..findings import Finding, Refusal
from ..json_schema import Schema
from ..plans.plan import Plan
from . import digest

RUN = "run"
RESUME = "resume"
OPT_IN = "--opt-in"
"""Who approves where nobody does by name."""
MAX_BYTES = 8 << 20
_KEYS = (
    "schema",
    "run",
    "purpose",
    "digest",
    "tier",
    "approved_by",
    "requested_by",
    "reason",
    "created",
    "expires",
    "nonce",
)
CLOCK_SLACK = 60
"""Seconds by which two clocks, or a file system's, may differ."""


class Approval(NamedTuple):
    """An approval whose form is right and whose own checksum holds."""

    data: bytes
    document: dict[str, Any]

    @property
    def sha256(self) -> str:
        """The SHA-256 of the approval's file."""
        return hashlib.sha256(self.data).hexdigest()


def create(
    plan: Plan,
    items: Mapping[str, str],
    purpose: str,
    tier: str,
    approved_by: str,
    reason: str,
    seconds: int,
    requested_by: str = "unknown",
) -> Approval:
    """A new approval of `items`, valid for `seconds` from now."""
    created = clock.now()
    document: dict[str, Any] = {
        "schema": "approval/2",
        "run": plan.run,
        "purpose": purpose,
        "digest": digest.of(items),
        "tier": tier,
        "approved_by": approved_by,
        "requested_by": requested_by,
        "reason": reason,
        "created": clock.instant(created),
        "expires": clock.instant(created + seconds),
        "nonce": os.urandom(16).hex(),
        "items": dict(items),
    }
    document["sha256"] = _checksum(document)
    findings = Schema.shipped("approval").findings(document)
    if findings:
        raise Refusal(*findings)
    return Approval(_written(document), document)


def parse(data: bytes, source: str) -> Approval:
    """The approval in a file's bytes; any changed bit is refused."""
    document = strict_json.loads(data, source, MAX_BYTES)
    findings = Schema.shipped("approval").findings(document)
    if findings:
        raise Refusal(*findings)
    whole = digest.same(document["sha256"], _checksum(document)) and data == _written(document)
    if not whole or not digest.same(document["digest"], digest.of(document["items"])):
        raise Refusal(
            Finding(
                "approval.damaged",
                "the approval has been changed since it was written",
                source,
                fix=_again(),
            )
        )
    return Approval(data, document)


def read(path: str) -> Approval:
    """The approval in a file."""
    return parse(strict_json.read_file(path, MAX_BYTES), path)


def findings(
    given: Approval,
    plan: Plan,
    items: Mapping[str, str],
    purpose: str,
    tier: str,
    longest_expiry: int = clock.LONGEST_SECONDS,
) -> list[Finding]:
    """Why this approval does not allow launching `items` now; empty where it does."""
    document = given.document
    found = []
    again = _again()
    if document["run"] != plan.run or document["purpose"] != purpose:
        got = f"{document['purpose']} of {document['run']}"
        found.append(
            Finding("approval.other", "the approval is for something else", "", got, f"{purpose} of {plan.run}")
        )
    if document["tier"] != tier:
        found.append(Finding("approval.tier", "approved in another tier", "", document["tier"], tier, again))
    found.extend(_time_findings(document, longest_expiry))
    if os.path.lexists(marker(given)):
        found.append(
            Finding("approval.used", "the approval has been used: each allows one launch", marker(given), fix=again)
        )
    if not digest.same(document["digest"], digest.of(items)):
        found.extend(digest.changes(document["items"], items))
    return found


def marker(given: Approval) -> str:
    """The file whose existence says that this approval has been used."""
    # By what the digest, the checksum and a signature cover: one more way to write the same approval is no new one.
    return os.path.join(layout.runs_folder(), ".gate", "used", str(given.document["sha256"]))


def use(given: Approval) -> None:
    """Marks the approval as used; of two launches at the same moment one is refused."""
    try:
        os.close(os.open(marker(given), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        raise Refusal(Finding("approval.used", "another launch has just used the approval", marker(given))) from None
    atomic_file.sync_folder(os.path.dirname(marker(given)))


def _latest_use() -> int:
    """When an approval was last used here; 0 where none was. A clock that shows less has gone backwards."""
    latest = 0.0
    try:
        with os.scandir(os.path.join(layout.runs_folder(), ".gate", "used")) as entries:
            for entry in entries:
                latest = max(latest, entry.stat(follow_symlinks=False).st_mtime)
    except OSError:
        return 0
    return int(latest)


def _time_findings(document: Mapping[str, Any], longest: int) -> list[Finding]:
    created, expires = clock.seconds_of(document["created"]), clock.seconds_of(document["expires"])
    now = clock.now()
    used = _latest_use()
    if used > now + CLOCK_SLACK:
        # Otherwise turning the clock back would bring an expired approval to life again.
        message = "the clock has gone backwards since the last launch, so no approval's time can be checked"
        return [Finding("clock.backwards", message, "", clock.instant(now), f"after {clock.instant(used)}")]
    if created is None or expires is None or not created < expires <= created + clock.LONGEST_SECONDS:
        return [Finding("approval.time", "the times of the approval make no sense", "/expires", document["expires"])]
    if expires - created > longest:
        got, want = f"{expires - created} s", f"at most {longest} s"
        message = "the approval lives longer than the launch policy allows"
        return [Finding("approval.too_long", message, "/expires", got, want, _again())]
    if created > now + CLOCK_SLACK:
        return [
            Finding(
                "approval.time",
                "the approval comes from the future",
                "/created",
                document["created"],
                clock.instant(now),
            )
        ]
    if now >= expires:
        late = f"{now - expires} seconds ago"
        return [
            Finding("approval.expired", f"the approval expired {late}", "/expires", document["expires"], fix=_again())
        ]
    return []


def _again() -> str:
    return f"have it approved again: {layout.script('approve.py')} PLAN --by NAME --expires-in 1h"


def _checksum(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(
        strict_json.canonical({key: value for key, value in document.items() if key != "sha256"})
    ).hexdigest()


def _written(document: dict[str, Any]) -> bytes:
    """The one way in which an approval is written: keys in one order, whatever order they were read in."""
    ordered = {key: document[key] for key in (*_KEYS, "items", "sha256")}
    ordered["items"] = dict(sorted(document["items"].items()))
    return strict_json.pretty(ordered).encode("ascii") + b"\n"


def summary(given: Approval) -> str:
    """One line about an approval for people."""
    document = given.document
    return f"{document['tier']} tier, by {text.escaped(document['approved_by'], 100)}, until {document['expires']}"

"""Anchors: how far a run's log was at one moment, in a small file that is kept where the run cannot write.

A log that was forged, cut or begun anew since then does not start with the bytes that the anchor knows. Signed
(`ssh-keygen -Y`, namespace `pufferlib-anchor`), an anchor also says who vouches for it.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

from .. import clock, strict_json
from ..findings import Finding, Refusal
from ..json_schema import Schema
from . import audit_log, ssh_signature
from .digest import same
from .ssh_signature import Signer

MAX_BYTES = 4096


def take(run: str, log: bytes) -> bytes:
    """The anchor of a log that verifies."""
    document: dict[str, Any] = {
        "schema": "audit_anchor/1",
        "run": run,
        "records": log.count(b"\n"),
        "bytes": len(log),
        "log_sha256": hashlib.sha256(log).hexdigest(),
        "created": clock.instant(clock.now()),
    }
    document["sha256"] = _checksum(document)
    found = Schema.shipped("audit_anchor").findings(document)
    if found:
        raise Refusal(*found)
    return _written(document)


def parse(data: bytes, source: str) -> dict[str, Any]:
    """The anchor in a file's bytes; any changed bit is refused."""
    document = strict_json.loads(data, source, MAX_BYTES)
    found = Schema.shipped("audit_anchor").findings(document)
    if found:
        raise Refusal(*found)
    if not same(document["sha256"], _checksum(document)) or data != _written(document):
        raise Refusal(Finding("anchor.damaged", "the anchor has been changed since it was written", source))
    anchor: dict[str, Any] = document
    return anchor


def findings(anchor: dict[str, Any], log: bytes, run: str, path: str) -> list[Finding]:
    """Why a log is not the one that the anchor was taken of, or a later state of it."""
    if anchor["run"] != run:
        return [Finding("anchor.other", "the anchor is of another run", path, anchor["run"], run)]
    known = log[: anchor["bytes"]]
    if len(known) < anchor["bytes"]:
        got, want = f"{log.count(chr(10).encode())} records", f"at least {anchor['records']} records"
        return [Finding("anchor.removed", "records are missing that the anchor knows", path, got, want)]
    if not same(hashlib.sha256(known).hexdigest(), anchor["log_sha256"]) or known.count(b"\n") != anchor["records"]:
        return [
            Finding(
                "anchor.changed",
                "the log is not the one that the anchor was taken of",
                path,
                hashlib.sha256(known).hexdigest(),
                anchor["log_sha256"],
            )
        ]
    return []


def sign(path: str, data: bytes, key: str) -> tuple[str, bytes]:
    """Name and bytes of an anchor's signature."""
    return f"{path}.sig", ssh_signature.sign(key, ssh_signature.ANCHOR, data)


def signer(path: str, data: bytes, signers: bytes) -> Signer:
    """Who signed an anchor; a Refusal where it is not signed, or not by an allowed signer."""
    place = f"{path}.sig"
    if not os.path.lexists(place):
        raise Refusal(Finding("signature.missing", "the anchor is not signed", place))
    signature = strict_json.read_file(place, ssh_signature.MAX_BYTES)
    at = ssh_signature.stamp(parse(data, path)["created"])
    return ssh_signature.verify(data, signature, ssh_signature.ANCHOR, signers, at=at)


def log_bytes(path: str) -> bytes:
    """The bytes of a log."""
    return strict_json.read_file(path, audit_log.MAX_BYTES)


def _checksum(document: dict[str, Any]) -> str:
    body = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(strict_json.canonical(body)).hexdigest()


def _written(document: dict[str, Any]) -> bytes:
    return strict_json.canonical(document) + b"\n"

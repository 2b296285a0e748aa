"""The audit log of a run: JSON lines, each bound to the one before by SHA-256, and an anchor file.

`audit.jsonl` holds the records, `audit.head` the number of records, their bytes and the last digest; it is
replaced after every append, so that a removed tail shows. Whoever can write both files can forge both:
the chain shows damage and careless edits; against a determined forger there are anchors in another place (see
`audit_anchor`). While a run lives its log is locked, so that no second process writes to the same run.

An append is crash-safe: the bytes are synced before the anchor moves. What stands after the anchor was never
acknowledged, so a cut-off or garbled tail is cut back to whole records; what the anchor knows is never mended.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from typing import Any, NamedTuple

from .. import atomic_file, clock, strict_json
from ..findings import Finding, Refusal
from ..json_schema import Schema

LOG = "audit.jsonl"
HEAD = "audit.head"
MAX_BYTES = 64 << 20
_START = hashlib.sha256(b"audit/1").hexdigest()


class Verified(NamedTuple):
    """What verification read: the records up to the first bad one, and the findings."""

    records: list[dict[str, Any]]
    findings: list[Finding]
    good_bytes: int
    """Bytes of the log that the good records fill."""


class AuditLog:
    """An open, locked log."""

    def __init__(self, folder: str, handle: int, lock: int, data: bytes, records: list[dict[str, Any]]) -> None:
        self.folder = folder
        self.handle = handle
        self.lock = lock
        """Carries the lock, which a child that inherits it also holds; nothing can be written through it."""
        self.data = data
        """The whole log as it was written."""
        self.records = records

    @classmethod
    def create(cls, folder: str) -> AuditLog:
        """A new, empty log in a run's folder."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        path = os.path.join(folder, LOG)
        handle = os.open(path, flags, 0o644)
        return cls(folder, handle, _locked(path, folder), b"", [])

    @classmethod
    def reopen(cls, folder: str) -> AuditLog:
        """An existing log, verified; what a crash in the middle of an append left is mended and recorded."""
        path = os.path.join(folder, LOG)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise atomic_file.unwritable(path, error) from None
        try:
            lock = _locked(path, folder)
        except Refusal:
            os.close(handle)
            raise
        verified, recovery = _recoverable(folder, verify(path))
        if verified.findings:
            os.close(handle)
            os.close(lock)
            raise Refusal(*verified.findings)
        data = b"".join(strict_json.canonical(record) + b"\n" for record in verified.records)
        log = cls(folder, handle, lock, data, verified.records)
        if recovery:
            os.ftruncate(handle, verified.good_bytes)
            log.append(("recovered", {"reason": recovery}))
        return log

    def append(self, *events: tuple[str, dict[str, Any]]) -> None:
        """Writes records for events, syncs them, then moves the anchor."""
        lines = []
        for event, data in events:
            record: dict[str, Any] = {
                "schema": "audit/1",
                "sequence": len(self.records),
                "time": clock.instant(clock.now()),
                "event": event,
                "data": data,
                "previous": self.records[-1]["sha256"] if self.records else _START,
            }
            record["sha256"] = _checksum(record)
            self.records.append(record)
            lines.append(strict_json.canonical(record) + b"\n")
        written = b"".join(lines)
        atomic_file.write_all(self.handle, written)
        os.fsync(self.handle)
        self.data += written
        atomic_file.replace(os.path.join(self.folder, HEAD), _head(self.records, len(self.data)))

    def mend(self) -> list[Finding]:
        """Undoes what somebody else has done to the log while this gate had it open, and names it."""
        found = []
        for name, whole in ((LOG, self.data), (HEAD, _head(self.records, len(self.data)))):
            path = os.path.join(self.folder, name)
            if not _holds(path, whole):
                found.append(Finding("run.tampered", f"{name} was changed while the run was alive", path))
                _make_way(path)
                atomic_file.replace(path, whole)
        if found:
            os.close(self.handle)
            path = os.path.join(self.folder, LOG)
            self.handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        return found

    def close(self) -> None:
        """Closes the log and releases the lock."""
        os.close(self.handle)
        os.close(self.lock)


def _locked(path: str, folder: str) -> int:
    """A handle for reading that holds the log's lock."""
    lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise Refusal(
            Finding("run.in_use", "the run is still alive in another process", folder, fix="wait for it, or stop it")
        ) from None
    return lock


def _holds(path: str, whole: bytes) -> bool:
    """Whether a plain file holds exactly these bytes."""
    try:
        return strict_json.read_file(path, MAX_BYTES) == whole
    except Refusal:
        return False


def _make_way(path: str) -> None:
    """A folder that was put in the place of a file goes aside, since no file can replace it."""
    if os.path.isdir(path) and not os.path.islink(path):
        os.rename(path, f"{path}.{os.urandom(4).hex()}.aside")


def verify(path: str) -> Verified:
    """Reads a log and its anchor; the first finding names the first bad record."""
    data = strict_json.read_file(path, MAX_BYTES)
    schema = Schema.shipped("audit_record")
    records: list[dict[str, Any]] = []
    position = 0
    while position < len(data):
        end = data.find(b"\n", position)
        line = data[position : end if end >= 0 else len(data)]
        mistake = _mistake(line, records, schema) if end >= 0 else _bad("torn", "the record has no end", records)
        if isinstance(mistake, Finding):
            return Verified(records, [mistake._replace(pointer=f"{path}:{len(records) + 1}")], position)
        records.append(mistake)
        position = end + 1
    findings = _anchor_findings(os.path.join(os.path.dirname(path), HEAD), records, position)
    return Verified(records, findings, position)


def _mistake(line: bytes, records: list[dict[str, Any]], schema: Schema) -> Finding | dict[str, Any]:
    """The record in a line, or what is wrong with it."""
    try:
        record = strict_json.loads(line, f"record {len(records)}")
    except Refusal as refusal:
        return _bad("unreadable", refusal.findings[0].message, records)
    found = schema.findings(record)
    if found:
        return _bad("form", f"{found[0].message} at {found[0].pointer}", records)
    previous = records[-1]["sha256"] if records else _START
    if record["sequence"] != len(records):
        return _bad("order", f"record {record['sequence']} stands here: one is missing, moved or doubled", records)
    if record["sha256"] != _checksum(record) or line != strict_json.canonical(record):
        return _bad("changed", "the record has been changed", records)
    if record["previous"] != previous:
        return _bad("chain", "the record does not follow the one before it", records)
    return dict(record)


def _anchor_findings(path: str, records: list[dict[str, Any]], size: int) -> list[Finding]:
    if not os.path.lexists(path):
        return [Finding("audit.anchor", "the anchor is missing: records could have been removed at the end", path)]
    data = strict_json.read_file(path, 4096)
    if data == _head(records, size):
        return []
    count = _anchored(data)
    if count is None:
        return [Finding("audit.anchor", "the anchor has been changed", path)]
    if count > len(records):
        got = f"{len(records)} records"
        return [_bad("removed", "records are missing at the end", records)._replace(got=got, want=f"{count} records")]
    if count < len(records):
        reason = "records stand after the anchor: an append that was cut off, or a forged one"
        return [_bad("after_anchor", reason, records[:count])._replace(pointer=path)]
    return [Finding("audit.anchor", "the anchor belongs to another log", path)]


def _recoverable(folder: str, verified: Verified) -> tuple[Verified, str]:
    """Where all that is wrong is what a crash in an append leaves, the state to go on from and the reason."""
    records, found, size = verified
    if not found or found[0].code in ("audit.removed", "audit.anchor"):
        return verified, ""
    head = os.path.join(folder, HEAD)
    anchor = strict_json.read_file(head, 4096) if os.path.lexists(head) else b""
    count = _anchored(anchor)
    if count is None or not 0 < count <= len(records):
        return verified, ""
    # Every record that the anchor knows must be there unchanged. Whole ones after it were written by a live gate; a
    # power cut can leave anything behind them: a part, zeros, or blocks that were written out of order.
    known = sum(len(strict_json.canonical(record)) + 1 for record in records[:count])
    if anchor != _head(records[:count], known):
        return verified, ""
    return Verified(records, [], size), f"the last append was cut off ({found[0].code})"


def _anchored(data: bytes) -> int | None:
    """How many records a well-formed anchor counts."""
    try:
        document = strict_json.loads(data, HEAD)
    except Refusal:
        return None
    count = document.get("records") if isinstance(document, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) else None


def _bad(code: str, message: str, records: list[dict[str, Any]]) -> Finding:
    return Finding(f"audit.{code}", f"record {len(records)}: {message}")


def _checksum(record: dict[str, Any]) -> str:
    body = {key: value for key, value in record.items() if key != "sha256"}
    return hashlib.sha256(strict_json.canonical(body)).hexdigest()


def _head(records: list[dict[str, Any]], size: int) -> bytes:
    last = records[-1]["sha256"] if records else _START
    document = {"schema": "audit_head/1", "records": len(records), "bytes": size, "sha256": last}
    return strict_json.canonical(document) + b"\n"

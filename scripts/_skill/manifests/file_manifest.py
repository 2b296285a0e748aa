"""The manifest of a file or a folder: how it is made, written and read.

One JSON document, one line a file, sorted by code points, with a checksum of its own, and exactly the bytes that
`written` gives: any changed bit is found. The checksum finds damage; it does not say who wrote the manifest.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .. import layout, regular_file, strict_json, text
from ..findings import Finding, Refusal, could_not, errors_in
from ..json_schema import Schema
from . import file_digests, folder_walk, names
from .file_digests import FileDigest

SCHEMA = "file_manifest/1"
MAX_BYTES = 64 << 20
FOLDER = "folder"
FILE = "file"


class FileManifest(NamedTuple):
    """A manifest whose form, names and own checksum are right."""

    kind: str
    """`folder`: every plain file below it is listed; `file`: one file."""
    root: str
    """Name of the folder, or of the file: where to look beside the manifest when nobody says."""
    excluded: str | None
    """Name of the manifest itself where it lies inside the folder that it lists; the only file left out."""
    files: list[FileDigest]
    sha256: str
    """SHA-256 of the manifest's bytes: what a person can keep elsewhere."""
    identity: tuple[int, int] | None = None
    """Device and number of the file that it was read from."""


class Created(NamedTuple):
    """A new manifest's bytes, and what there is to say about it."""

    data: bytes
    manifest: FileManifest
    findings: list[Finding]
    """Warnings: hard links, left-over files."""
    left_overs: list[str]


def create(path: str, out: str, threads: int | None = None) -> Created:
    """The manifest of the file or folder `path`, to be written to `out`; a Refusal has every reason against it."""
    path = path.rstrip("/") or "/"
    if os.path.lexists(out):
        raise Refusal(
            Finding("file.exists", "the file exists and is never replaced", out, fix="choose another name or remove it")
        )
    if os.path.isdir(path) and not os.path.islink(path):
        root = folder_walk.open_root(path)
        try:
            return _of_folder(root, path, _place_inside(root, out), threads)
        finally:
            os.close(root)
    return _of_file(path)


def read(path: str) -> FileManifest:
    """The manifest in a file; a Refusal has every mistake of its form, its names and its checksum."""
    handle, status = regular_file.open_for_reading(path)
    with os.fdopen(handle, "rb") as stream:
        if status.st_size > MAX_BYTES:
            raise Refusal(
                Finding("json.size", "too large for a manifest", path, f"{status.st_size} bytes", f"{MAX_BYTES} bytes")
            )
        data = stream.read(MAX_BYTES + 1)
    return parse(data, path)._replace(identity=(status.st_dev, status.st_ino))


def parse(data: bytes, source: str) -> FileManifest:
    """The manifest in `data`; nothing that it names is opened. Any changed bit is refused."""
    document = strict_json.loads(data, source, MAX_BYTES)
    found = _findings(document)
    if found:
        raise Refusal(*found)
    if not hmac.compare_digest(document["sha256"], _checksum(document)) or data != written(document):
        raise Refusal(
            Finding(
                "manifest.damaged",
                "the manifest has been changed since it was written",
                source,
                fix="take the manifest from where it was made; make a new one only of files that you trust",
            )
        )
    return _manifest(document, data)


def written(document: Mapping[str, Any]) -> bytes:
    """The one byte form of a manifest: ASCII, its fields in order, one line a file."""
    head = [f"  {json.dumps(key)}: {json.dumps(document[key])}" for key in _HEAD]
    rows = [f"    {json.dumps({key: entry[key] for key in _ENTRY})}" for entry in document["files"]]
    listed = "[\n" + ",\n".join(rows) + "\n  ]" if rows else "[]"
    return ("{\n" + ",\n".join([*head, f'  "files": {listed}']) + "\n}\n").encode("ascii")


_HEAD = ("schema", "kind", "root", "excluded", "total_files", "total_bytes", "sha256")
_ENTRY = ("path", "bytes", "sha256")


def _of_folder(root: int, path: str, excluded: str | None, threads: int | None) -> Created:
    before = folder_walk.walk(root)
    refused = list(before.findings)
    refused.extend(found for name in before.files if (found := names.finding(name, text.escaped(name))))
    refused.extend(names.collisions([*before.files, *([excluded] if excluded else [])]))
    refused.extend(_unfinished(name) for name in before.files if folder_walk.is_unfinished(name))
    if refused:
        raise Refusal(*refused)
    sizes = file_digests.sizes(root, before.files)
    digests = file_digests.of_files(root, [(name, size or 0) for name, size in sizes.items()], threads)
    after = folder_walk.walk(root)
    if digests.findings:
        raise Refusal(*digests.findings, exit_status=_status(digests.findings))
    if after.files != before.files or after.findings:
        changed = sorted(set(after.files) ^ set(before.files)) or [finding.pointer for finding in after.findings]
        raise Refusal(
            Finding(
                "manifest.changing",
                "files came or went while the folder was read",
                text.escaped(changed[0]),
                f"{len(changed)} names",
                "a folder that nobody writes to",
                "wait until the writer has ended, then try again",
            )
        )
    warnings = [*(_hard_link(file) for file in digests.files if file.links > 1), *map(left_over, before.left_overs)]
    return _created(FOLDER, _own_name(path), excluded, digests.files, warnings, before.left_overs)


def _of_file(path: str) -> Created:
    name = os.path.basename(path)
    refused = names.finding(name, text.escaped(path))
    if refused:
        raise Refusal(refused)
    found = file_digests.of_file(path)._replace(path=name)
    return _created(FILE, name, None, [found], [_hard_link(found)] if found.links > 1 else [], [])


def _created(
    kind: str,
    root: str,
    excluded: str | None,
    files: list[FileDigest],
    warnings: list[Finding],
    left_overs: list[str],
) -> Created:
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": kind,
        "root": root,
        "excluded": excluded,
        "total_files": len(files),
        "total_bytes": sum(file.bytes for file in files),
        "files": [{"path": file.path, "bytes": file.bytes, "sha256": file.sha256} for file in files],
    }
    document["sha256"] = _checksum(document)
    data = written(document)
    if len(data) > MAX_BYTES:
        raise Refusal(
            Finding(
                "manifest.limit",
                "the manifest would be too large",
                "",
                f"{len(data)} bytes",
                f"{MAX_BYTES} bytes",
                "make one manifest for each folder",
            )
        )
    wrong = _findings(document)
    if wrong:
        raise Refusal(*wrong)
    return Created(data, _manifest(document, data), warnings, left_overs)


def _manifest(document: Mapping[str, Any], data: bytes) -> FileManifest:
    files = [FileDigest(entry["path"], entry["bytes"], entry["sha256"], 1) for entry in document["files"]]
    return FileManifest(
        document["kind"], document["root"], document["excluded"], files, hashlib.sha256(data).hexdigest()
    )


def _findings(document: Any) -> list[Finding]:
    """Every mistake of a document's form and names."""
    found = Schema.shipped("file_manifest").findings(document)
    entries = document.get("files") if isinstance(document, dict) else None
    if not isinstance(entries, list) or any(not isinstance(entry, dict) for entry in entries):
        return found
    # Upper-case digits would be another text for the same digest: say so in words, not as a pattern.
    found = [_upper_case(finding) if _is_upper_case(finding) else finding for finding in found]
    paths = [entry["path"] for entry in entries if isinstance(entry.get("path"), str)]
    for index, entry in enumerate(entries):
        if isinstance(entry.get("path"), str):
            wrong = names.finding(entry["path"], text.pointer(("files", index, "path")))
            found.extend([wrong] if wrong else [])
    for key in ("root", "excluded"):
        if isinstance(document.get(key), str):
            wrong = names.finding(document[key], f"/{key}")
            found.extend([wrong] if wrong else [])
    if errors_in(found):
        return found
    excluded = document["excluded"]
    found.extend(names.collisions([*paths, *([excluded] if excluded else [])]))
    if "/" in document["root"]:
        found.append(Finding("name.form", "the root is one name", "/root", text.shown(document["root"])))
    for index in range(1, len(paths)):
        if paths[index - 1] >= paths[index]:
            place = text.pointer(("files", index, "path"))
            found.append(
                Finding("manifest.order", "the names are not sorted by code points", place, text.shown(paths[index]))
            )
            break
    if document["kind"] == FILE and (len(paths) != 1 or paths[0] != document["root"] or excluded is not None):
        found.append(
            Finding("manifest.kind", "the manifest of one file lists that file and nothing else", "/files", "", "1")
        )
    for key, value in (("total_files", len(paths)), ("total_bytes", sum(entry["bytes"] for entry in entries))):
        if document[key] != value:
            found.append(Finding("manifest.total", "the total is not that of the files", f"/{key}", "", str(value)))
    return found


def _is_upper_case(finding: Finding) -> bool:
    return (
        finding.code == "schema.pattern"
        and finding.pointer.endswith("/sha256")
        and len(finding.got) == 66
        and all(digit in "0123456789abcdefABCDEF" for digit in finding.got[1:-1])
    )


def _upper_case(finding: Finding) -> Finding:
    return finding._replace(
        code="manifest.digest_form",
        message="a digest is written in lower-case digits",
        want=finding.got.lower(),
        fix="take the manifest from where it was made",
    )


def _checksum(document: Mapping[str, Any]) -> str:
    body = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(strict_json.canonical(body)).hexdigest()


def _place_inside(root: int, out: str) -> str | None:
    """The name below the folder `root` at which `out` would lie; None where it lies elsewhere.

    Folders are compared by identity, so that neither a link nor a text prefix decides.
    """
    wanted = os.fstat(root)
    folder = os.path.realpath(os.path.dirname(out) or ".")
    parts = [os.path.basename(out)]
    while True:
        try:
            status = os.stat(folder)
        except OSError as error:
            raise could_not("file.unwritable", f"no such folder: {error.strerror}", where=out) from None
        if (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino):
            return "/".join(reversed(parts))
        above, last = os.path.split(folder)
        if above == folder:
            return None
        parts.append(last)
        folder = above


def _own_name(path: str) -> str:
    """The folder's own name, also of `.`; a name that another system could not hold is replaced."""
    name = os.path.basename(os.path.realpath(path))
    return name if name and names.finding(name, "") is None else "folder"


def _status(findings: Iterable[Finding]) -> int:
    """Exit 2 where nothing but reading failed."""
    return 2 if all(finding.code == "file.unreadable" for finding in findings) else 1


def left_over(name: str) -> Finding:
    """The warning for a temporary file that a killed write left."""
    return Finding(
        "manifest.left_over",
        "left over from a write that never ended; not taken",
        text.escaped(name),
        fix="remove it once its writer has ended",
        severity="warning",
    )


def _unfinished(name: str) -> Finding:
    return Finding(
        "manifest.unfinished",
        "the name says that this download or write has not ended",
        text.escaped(name),
        fix="finish it, or take it out of the folder",
    )


def _hard_link(file: FileDigest) -> Finding:
    return Finding(
        "manifest.hard_link",
        "the file has other names too, through which it can be changed",
        text.escaped(file.path),
        f"{file.links} names",
        "1",
        f"copy it, if others may write to those; then {layout.script('manifest.py')} verify",
        severity="warning",
    )

"""The way in: opens a file once, finds out what it is, has it read, and draws the verdict."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from .. import regular_file
from . import (
    file_kind,
    gguf_file,
    npy_file,
    npz_file,
    plain_pickle,
    safetensors_file,
    sparse_indices,
    state_names,
    torch_legacy,
    torch_tar,
    torch_zip,
    zip_archive,
)
from .content import AMBIGUOUS, COULD_NOT_CHECK, DAMAGED, INCONSISTENT, SAFE, Content
from .source import Source, Truncated, sha256


class Inspection(NamedTuple):
    """What one file is and holds."""

    content: Content
    source: Source
    nbytes: int
    sha256: str


@contextmanager
def opened(path: str, expect: str | None = None) -> Iterator[Inspection]:
    """Inspects a file and keeps it open, so that what was inspected is what a conversion reads.

    `expect` is the kind that the caller takes it for, instead of what the name says.
    """
    handle, status = regular_file.open_for_reading(path)
    try:
        source = Source(handle, 0, status.st_size)
        content = Content()
        try:
            _inspect(source, content, path, expect)
            digest = sha256(source)
        except Truncated:
            content.add(COULD_NOT_CHECK, "file.changed", "the file became shorter while it was read")
            digest = ""
        after = os.fstat(handle)
        if (after.st_size, after.st_mtime_ns) != (status.st_size, status.st_mtime_ns):
            content.add(COULD_NOT_CHECK, "file.changed", "the file was written to while it was read")
        yield Inspection(content, source, status.st_size, digest)
    finally:
        os.close(handle)


def _inspect(source: Source, content: Content, path: str, expect: str | None) -> None:
    kinds = file_kind.find(source)
    content.kind = kinds.main
    wanted = _expected(expect) if expect else file_kind.declared(path)
    if kinds.main in ("unknown", "text", "empty") and "safetensors" in wanted:
        content.kind = "safetensors"
    elif kinds.main == "unknown" and "headerless" in wanted and source.length and not source.length % 4:
        content.kind = "headerless"
    if kinds.others:
        words = [file_kind.WORDS[kind] for kind in (kinds.main, *kinds.others) if kind in file_kind.WORDS]
        content.add(
            AMBIGUOUS, "kind.ambiguous", "the file can be read as more than one kind", got=" and ".join(words),
            want="one kind", fix="do not load it; write it again from its source",
        )  # fmt: skip
        if "pickle" in kinds.others:
            _merge(kinds.probe.content, content)
    listed = _read(source, content, wanted)
    # An archive whose members could not be listed may hold what the name says: the finding says why it was not read.
    in_archive = not listed and set(wanted) & set(file_kind.INSIDE.get(content.kind, ()))
    if wanted and content.kind not in wanted and not in_archive:
        said = "you expect" if expect else "the name says"
        content.add(
            DAMAGED, "kind.mismatch", f"{said} something else than what the file is",
            got=file_kind.WORDS.get(content.kind, content.kind),
            want=" or ".join(file_kind.WORDS.get(kind, kind) for kind in wanted), fix=_advice(content.kind),
        )  # fmt: skip
    state_names.check(content)
    if content.verdict in (SAFE, INCONSISTENT):
        sparse_indices.check(content)


def _expected(expect: str) -> tuple[str, ...]:
    return file_kind.TORCH if expect == "torch" else (expect,)


def _merge(found: Content, content: Content) -> None:
    """Keeps what a trial reading found: its globals and what a load would do."""
    for finding in found.findings:
        if finding.code.startswith("pickle.") and finding.code not in ("pickle.damaged", "pickle.limit"):
            content.findings.append(finding)
    content.asked |= found.asked - {COULD_NOT_CHECK}
    content.globals.update(found.globals)


def _read(source: Source, content: Content, wanted: tuple[str, ...]) -> bool:
    """Reads a file of its kind; False where it is an archive whose members could not be listed."""
    kind = content.kind
    if kind == "safetensors":
        safetensors_file.inspect(source, content)
    elif kind == "torch_legacy":
        torch_legacy.inspect(source, content)
    elif kind == "pickle":
        plain_pickle.inspect(source, content)
    elif kind == "npy":
        npy_file.inspect(source, content)
    elif kind == "gguf":
        gguf_file.inspect(source, content)
    elif kind == "zip":
        return _zip(source, content, wanted)
    elif kind == "tar" and torch_tar.inspect(source, content):
        return content.kind != "tar"
    else:
        code = "kind.archive" if kind in file_kind.ARCHIVES else "kind.unknown"
        message = f"this is {file_kind.WORDS.get(kind, kind)}: nothing in it was checked"
        content.add(COULD_NOT_CHECK, code, message, fix=_advice(kind))
    return True


def _zip(source: Source, content: Content, wanted: tuple[str, ...]) -> bool:
    try:
        members = zip_archive.read_members(source, content)
    except zip_archive.ZipRefused:
        return False
    if torch_zip.is_torch(members):
        torch_zip.inspect(source, members, content)
    elif npz_file.is_npz(members) or (not members and "npz" in wanted):
        npz_file.inspect(source, members, content)
    else:
        content.add(
            COULD_NOT_CHECK, "kind.archive", "this is a zip archive of something else: nothing in it was checked",
            fix=_advice("zip"),
        )  # fmt: skip
    zip_archive.verify_bytes(source, members, content)
    return True


def _advice(kind: str) -> str:
    if kind == "lfs_pointer":
        return "fetch the real file: git lfs pull"
    if kind in file_kind.ARCHIVES:
        return "unpack it yourself into an empty folder, then inspect what comes out"
    if kind == "headerless":
        return "nothing can be read from raw numbers: verify the file's digest with manifest.py"
    if kind == "hdf5":
        return "convert it to safetensors where it was written"
    if kind in file_kind.CHECKED:
        return "rename it to what it is, if you know where it comes from"
    return ""

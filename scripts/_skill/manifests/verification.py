"""Compares a folder or file with its manifest: names and sizes first, then every digest.

Findings come in the order in which a reader needs them: a wrong digest stands first, since it is the one thing
that nobody may miss.
"""

from __future__ import annotations

import hmac
import os
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .. import layout, regular_file, text
from ..findings import COULD_NOT, Finding, Refusal, could_not
from . import file_digests, file_manifest, folder_walk, names
from .file_digests import FileDigest
from .file_manifest import FOLDER, FileManifest

_ORDER = (
    "manifest.digest",
    "manifest.size",
    "manifest.missing",
    "manifest.unlisted",
    "file.kind",
    "manifest.changing",
    "file.unreadable",
)
_COULD_NOT = ("file.unreadable",)


class Verification(NamedTuple):
    """What was compared, and every difference."""

    findings: list[Finding]
    """Errors first, by kind and name, then warnings."""
    verified: int
    """Files whose digest is right."""
    left_overs: list[str]
    could_not: bool
    """Nothing differs, but something could not be read."""


def default_root(manifest: FileManifest, path: str) -> str:
    """Where the files lie when nobody says: around the manifest that is at `path`, or beside it."""
    folder = os.path.dirname(os.path.abspath(path))
    if manifest.excluded is None:
        root = os.path.join(folder, manifest.root)
        if not os.path.lexists(root):
            raise could_not(
                "manifest.root",
                f"there is no {text.shown(manifest.root)} beside the manifest",
                where=path,
                fix=f"name the file or folder: {layout.script('manifest.py')} verify MANIFEST --root PATH",
            )
        return root
    *inside, last = manifest.excluded.split("/")
    here = folder.split(os.sep)
    if os.path.basename(path) != last or (inside and here[-len(inside) :] != inside):
        raise could_not(
            "manifest.root",
            "the manifest does not lie where it was made",
            where=path,
            want=f"{manifest.excluded} in its folder",
            fix=f"name the folder: {layout.script('manifest.py')} verify MANIFEST --root PATH",
        )
    return os.path.join(folder, *[os.pardir] * len(inside))


def verify(manifest: FileManifest, path: str, root: str | None, threads: int | None = None) -> Verification:
    """Compares what lies at `root` with the manifest that was read from `path`."""
    place = default_root(manifest, path) if root is None else root
    place = place.rstrip("/") or "/"
    if manifest.kind != FOLDER and not (os.path.isdir(place) and not os.path.islink(place)):
        return _one_file(manifest, place)
    handle = folder_walk.open_root(place)
    try:
        if manifest.kind != FOLDER:
            return _listed(manifest, handle, [], threads)
        walk = folder_walk.walk(handle)
        found = list(walk.findings)
        here = [name for name in walk.files if name != manifest.excluded or not _is_itself(handle, name, manifest)]
        found.extend(_unlisted(manifest, here))
        result = _listed(manifest, handle, found, threads, set(here))
    finally:
        os.close(handle)
    return result._replace(
        findings=[*result.findings, *map(file_manifest.left_over, walk.left_overs)], left_overs=walk.left_overs
    )


def _one_file(manifest: FileManifest, place: str) -> Verification:
    """Compares one file, whatever its name is."""
    handle, status = regular_file.open_for_reading(place)
    os.close(handle)
    wanted = manifest.files[0]
    found = [_size(wanted, status.st_size)] if status.st_size != wanted.bytes else []
    if not found:
        found = _compared(wanted, file_digests.of_file(place))
    verified = 0 if found else 1
    if os.path.basename(place) != wanted.path:
        found.append(
            Finding(
                "manifest.other_name",
                "the file has another name than in the manifest",
                text.escaped(place),
                want=text.shown(wanted.path),
                severity="warning",
            )
        )
    return Verification(found, verified, [], False)


def _listed(
    manifest: FileManifest, root: int, found: list[Finding], threads: int | None, here: set[str] | None = None
) -> Verification:
    """Sizes of all listed files, then digests of those whose size is right. `here` holds what is in a whole folder."""
    wanted = {file.path: file for file in manifest.files}
    right = []
    near = _Near(here or ())
    for name, size in file_digests.sizes(root, [file.path for file in manifest.files]).items():
        if size is None or (here is not None and name not in here):
            found.append(_missing(name, near))
        elif size != wanted[name].bytes:
            found.append(_size(wanted[name], size))
        else:
            right.append((name, size))
    digests = file_digests.of_files(root, right, threads)
    found.extend(digests.findings)
    verified = 0
    for file in digests.files:
        wrong = _compared(wanted[file.path], file)
        verified += not wrong
        found.extend(wrong)
    found.sort(key=lambda finding: (_rank(finding), finding.pointer))
    return Verification(found, verified, [], bool(found) and all(f.code in _COULD_NOT for f in found))


def _rank(finding: Finding) -> int:
    return _ORDER.index(finding.code) if finding.code in _ORDER else len(_ORDER)


def _compared(wanted: FileDigest, found: FileDigest) -> list[Finding]:
    """All 64 digits are compared, in constant time."""
    if hmac.compare_digest(wanted.sha256, found.sha256) and wanted.bytes == found.bytes:
        return []
    return [
        Finding(
            "manifest.digest",
            "WRONG DIGEST: the content is not what the manifest lists",
            text.escaped(wanted.path),
            found.sha256,
            wanted.sha256,
            "do not use the file; get it again from where the manifest was made",
        )
    ]


def _size(wanted: FileDigest, size: int) -> Finding:
    return Finding(
        "manifest.size",
        "wrong size, so the content is another; not hashed",
        text.escaped(wanted.path),
        f"{size} bytes",
        f"{wanted.bytes} bytes",
        "the file was cut, is still being written, or is another one; get it again",
    )


def _missing(name: str, near: _Near) -> Finding:
    return Finding(
        "manifest.missing",
        "a listed file is not there",
        text.escaped(name),
        fix=near.hint(name) or "get it again from where the manifest was made",
    )


def _unlisted(manifest: FileManifest, here: Sequence[str]) -> list[Finding]:
    """Files that are there and not listed."""
    listed = {file.path for file in manifest.files}
    near = _Near(listed)
    found = []
    for name in here:
        if name not in listed:
            unfinished = "; its name says that it is unfinished" if folder_walk.is_unfinished(name) else ""
            found.append(
                Finding(
                    "manifest.unlisted",
                    f"a file is there that is not listed{unfinished}",
                    text.escaped(name),
                    fix=near.hint(name) or "remove it, or make a new manifest if you trust it",
                )
            )
    return found


class _Near:
    """Hints where two names differ only in case or in the form of their accents."""

    def __init__(self, others: Iterable[str]) -> None:
        self._others = others
        self._by_folded: dict[str, str] | None = None

    def hint(self, name: str) -> str:
        """What to say about the name that is nearly `name`; empty where there is none."""
        if self._by_folded is None:
            self._by_folded = {names.folded(other): other for other in self._others}
        other = self._by_folded.get(names.folded(name))
        if other is None or other == name:
            return ""
        same = unicodedata.normalize("NFC", other) == unicodedata.normalize("NFC", name)
        what = "the form of its accents (Unicode normalisation)" if same else "upper and lower case"
        return f"{text.shown(other)} differs only in {what}; names are compared by exact code points: rename it"


def _is_itself(root: int, name: str, manifest: FileManifest) -> bool:
    """Whether the file in the manifest's place is the manifest that is being verified."""
    try:
        inside = os.stat(name, dir_fd=root, follow_symlinks=False)
    except OSError:
        return False
    return (inside.st_dev, inside.st_ino) == manifest.identity


def expect(sha256: str, expected: str, path: str) -> None:
    """Refuses where a file's digest is not the one that a person kept: 64 lower-case digits, all compared."""
    if len(expected) != 64 or any(digit not in "0123456789abcdef" for digit in expected):
        raise Refusal(
            Finding(
                "manifest.digest_form",
                "this is not a SHA-256",
                "--expect",
                text.shown(expected, 80),
                "64 lower-case hexadecimal digits",
                expected.lower() if len(expected) == 64 and expected.isalnum() else "",
            ),
            exit_status=COULD_NOT,
        )
    if not hmac.compare_digest(sha256, expected):
        raise Refusal(
            Finding(
                "manifest.digest",
                "WRONG DIGEST: the content is not what you expect",
                path,
                sha256,
                expected,
                "do not use it; get it again from where the digest was published",
            )
        )

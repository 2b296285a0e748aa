"""Each reason against a manifest or an archive has a file that shows it: its code, its exit status, and the place."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from _skill import atomic_file
from _skill.findings import Refusal
from _skill.manifests import archive, file_manifest

from .test_creating import tree


def tar(*names: str, kind: bytes = tarfile.REGTYPE, pax: dict[str, str] | None = None, **fields: Any) -> bytes:
    out = io.BytesIO()
    form = tarfile.USTAR_FORMAT if pax is None else tarfile.PAX_FORMAT
    with tarfile.open(fileobj=out, mode="w", format=form) as stream:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 4 if kind in (tarfile.REGTYPE, tarfile.DIRTYPE) else 0
            info.type, info.pax_headers = kind, pax or {}
            for key, value in fields.items():
                setattr(info, key, value)
            stream.addfile(info, io.BytesIO(b"data"))
    return out.getvalue()


def zipped(name: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as stream:
        stream.writestr(name, b"data")
    return out.getvalue()


GOOD = tar("a", "b")


def test_honest_archives_have_nothing_against_them(tmp_path: Path) -> None:
    for number, data in enumerate((GOOD, gzip.compress(GOOD), zipped("a"))):
        (tmp_path / str(number)).write_bytes(data)
        listing = archive.inspect(str(tmp_path / str(number)))
        assert (listing.findings, listing.could_not) == ([], False) and listing.files


@pytest.mark.parametrize(
    ("code", "could_not", "data"),
    [
        ("archive.ambiguous", False, GOOD + b"x"),
        ("archive.ambiguous", False, gzip.compress(GOOD) + b"x"),
        ("archive.ambiguous", False, gzip.compress(GOOD) + gzip.compress(GOOD)),
        ("archive.ambiguous", False, tar("folder", kind=tarfile.DIRTYPE)),
        ("archive.damaged", False, GOOD[:700]),
        ("archive.damaged", False, GOOD[:1024]),
        ("archive.damaged", False, gzip.compress(GOOD)[:-12]),
        ("archive.damaged", False, GOOD.replace(b"ustar", b"Ustar", 1).replace(b"Ustar", b"ustar\0", 1)[:-1]),
        ("archive.link", False, tar("a", kind=tarfile.SYMTYPE, linkname="/etc")),
        ("archive.link", False, tar("a", kind=tarfile.LNKTYPE, linkname="b")),
        ("archive.member", True, tar("a", kind=tarfile.GNUTYPE_SPARSE)),
        ("archive.member", True, tar("a", pax={"GNU.sparse.name": "b"})),
        ("archive.unknown", True, b"not an archive"),
        ("archive.unknown", True, b""),
    ],
)
def test_an_archive_with_one_fault_has_one_finding(code: str, could_not: bool, data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(data)
    listing = archive.inspect(str(tmp_path / "x.tar"))
    assert ([finding.code for finding in listing.findings], listing.could_not) == ([code], could_not)


def test_a_manifest_with_a_changed_digest_is_damaged(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "a", "b")
    data = file_manifest.create(str(root), str(tmp_path / "m.json")).data
    digest = data[data.index(b'"sha256"') :].split(b'"')[3]
    changed = data.replace(digest, digest[::-1], 1)
    atomic_file.create(str(tmp_path / "m.json"), changed)
    with pytest.raises(Refusal) as caught:
        file_manifest.read(str(tmp_path / "m.json"))
    (finding,) = caught.value.findings
    assert (finding.code, caught.value.exit_status) == ("manifest.damaged", 1)
    assert finding.pointer == str(tmp_path / "m.json") and "where it was made" in finding.fix

"""FC-F04 · Archive or folder install that escapes.

Only plain files and folders, resolved by components under the root. An archive is listed, never unpacked: nothing is
written when any member is bad, nor when none is.
"""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from .conftest import Tool

Entry = tuple[str, bytes, dict[str, Any]]
FILE: dict[str, Any] = {}
LINK = {"type": tarfile.SYMTYPE, "linkname": "/tmp"}
LEAVING = [
    "../evil", "skill/../../evil", "..", "skill/..", "/etc/evil", "//evil", "C:\\evil", "C:evil", "..\\evil",
    "skill\\..\\..\\evil",
    "skill/./evil", "skill//evil", "skill/evil ", "skill/nul", "skill/\x1b]0;x", "skill/a:b",
]  # fmt: skip
SKILL: Entry = ("skill/SKILL.md", b"---\nname: skill\n---\n", FILE)


def tar(path: Path, *entries: Entry, mode: str = "w", form: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(path, mode, format=form) as stream:  # type: ignore[call-overload]
        for name, data, fields in entries:
            info = tarfile.TarInfo(name)
            info.size = 0 if fields.get("type", b"0") != b"0" else len(data)
            for key, value in fields.items():
                setattr(info, key, value)
            stream.addfile(info, io.BytesIO(data))
    return path


def zip_(path: Path, *entries: Entry) -> Path:
    with zipfile.ZipFile(path, "w") as stream:
        for name, data, fields in entries:
            info = zipfile.ZipInfo(name)
            info.filename = name  # ZipInfo would put / for \
            info.external_attr = (0o120777 if "linkname" in fields else 0o100644) << 16
            stream.writestr(info, fields.get("linkname", data))
    return path


@pytest.fixture
def listed(tool: Tool, tmp_path: Path):
    """Lists an archive, and makes sure that nothing was written anywhere near it."""

    def run(path: Path):
        before = sorted(str(p) for p in tmp_path.rglob("*"))
        outside = sorted(os.listdir(tmp_path.parent))
        answer = tool("manifest", "archive", path, timeout=20)
        assert sorted(str(p) for p in tmp_path.rglob("*")) == before
        assert sorted(os.listdir(tmp_path.parent)) == outside
        return answer

    return run


@pytest.mark.parametrize("make", [tar, zip_])
@pytest.mark.parametrize("name", LEAVING, ids=ascii)
def test_a_member_that_leaves_the_folder_is_refused(listed, tmp_path, make, name) -> None:
    answer = listed(make(tmp_path / "skill.archive", SKILL, (name, b"evil", FILE)))
    assert answer.exit_status == 1, answer.text
    assert {code.split(".")[0] for code in answer.codes} <= {"name", "zip", "archive"}


@pytest.mark.parametrize("make", [tar, zip_])
@pytest.mark.parametrize("target", ["/tmp", "..", "SKILL.md", "../skill-x", ""])
def test_a_link_is_refused_and_so_is_a_file_behind_it(listed, tmp_path, make, target) -> None:
    link = ("skill/out", b"", {"type": tarfile.SYMTYPE, "linkname": target or "x"})
    assert listed(make(tmp_path / "1", SKILL, link)).exit_status == 1
    assert listed(make(tmp_path / "2", link, ("skill/out/evil", b"evil", FILE))).exit_status == 1
    assert listed(make(tmp_path / "3", ("skill/out/evil", b"evil", FILE), link)).exit_status == 1


OTHER_KINDS = (tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)
UNKNOWN_KINDS = (tarfile.CONTTYPE, b"S", b"V", b"M", b"Z")


@pytest.mark.parametrize("kind", [*OTHER_KINDS, *UNKNOWN_KINDS])
def test_every_other_kind_of_member_is_refused_or_not_understood(listed, tmp_path, kind) -> None:
    answer = listed(tar(tmp_path / "t", SKILL, ("skill/x", b"", {"type": kind, "linkname": "skill/SKILL.md"})))
    assert answer.exit_status in (1, 2) and answer.codes
    assert answer.exit_status == 1 or kind in UNKNOWN_KINDS


@pytest.mark.parametrize("make", [tar, zip_])
@pytest.mark.parametrize(
    "names",
    [
        ("skill/a", "skill/a"), ("skill/A", "skill/a"), ("skill/\u00e9", "skill/e\u0301"), ("skill/a", "skill/a/b"),
        ("skill/x/b", "Skill/x/b"),
    ],
    ids=ascii,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_that_are_one_file_somewhere_are_refused(listed, tmp_path, make, names) -> None:
    answer = listed(make(tmp_path / "x", SKILL, *((name, b"x", FILE) for name in names)))
    assert answer.exit_status == 1, answer.text


def test_a_file_may_not_be_named_as_a_folder(listed, tmp_path) -> None:
    folder = ("skill/a", b"", {"type": tarfile.DIRTYPE})
    assert listed(tar(tmp_path / "1", folder, ("skill/a", b"x", FILE))).exit_status == 1
    assert listed(tar(tmp_path / "2", ("skill/a", b"x", FILE), folder)).exit_status == 1


def test_a_file_with_another_users_rights_is_refused(listed, tmp_path) -> None:
    assert listed(tar(tmp_path / "x", ("skill/x", b"x", {"mode": 0o4755}))).codes == ["archive.kind"]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_an_ordinary_archive_passes(listed, tmp_path, mode, form) -> None:
    long = "skill/" + "references/" * 9 + "x" * 60 + ".md"
    entries: list[Entry] = [("./", b"", {"type": tarfile.DIRTYPE}), ("skill", b"", {"type": tarfile.DIRTYPE}), SKILL]
    entries += [(long, b"x" * 5000, FILE), ("skill-x/a", b"", FILE), ("./skill/b", b"x", {"mtime": 1.5})]
    entries += [("skill/größe.md", b"x", FILE)] if form != tarfile.USTAR_FORMAT else []
    answer = listed(tar(tmp_path / "x.tar", *entries, mode=mode, form=form))
    assert answer.exit_status == 0, answer.text
    assert answer.report["files"] == len(entries) - 2


def test_an_ordinary_zip_passes(listed, tmp_path, repository) -> None:
    assert listed(zip_(tmp_path / "x.zip", SKILL, ("skill/a/b", b"x", FILE))).exit_status == 0
    with zipfile.ZipFile(tmp_path / "y.zip", "w", zipfile.ZIP_DEFLATED) as stream:
        stream.mkdir("skill") if hasattr(stream, "mkdir") else None
        stream.writestr("skill/SKILL.md", b"x" * 10_000)
        stream.comment = b"0123456789abcdef0123456789abcdef01234567"  # the commit, as git archive writes it
    assert listed(tmp_path / "y.zip").exit_status == 0


def test_an_archive_of_this_repository_passes(listed, tmp_path, repository) -> None:
    for form in ("zip", "tar.gz", "tar"):
        path = tmp_path / f"skill.{form}"
        command = ["git", "archive", f"--format={form}", "--prefix=skill/", "-o", str(path), "HEAD"]
        made = subprocess.run(command, cwd=repository, capture_output=True, timeout=60, check=False)
        if made.returncode != 0:
            pytest.skip("not a git checkout")
        answer = listed(path)
        assert answer.exit_status == 0 and answer.report["files"] > 50, answer.text


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_cut_or_broken_archive_never_passes(listed, tmp_path, mode) -> None:
    path = tar(tmp_path / "x", SKILL, ("skill/a", os.urandom(5000), FILE), mode=mode)
    data = path.read_bytes()
    for end in (1, 100, 511, 512, 600, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:end])
        if mode == "w" and not any(data[end:]) and end > 6700:
            continue  # only the filling of zeros was cut
        assert listed(path).exit_status in (1, 2), end
    for tail in (b"x", data, b"\x1f\x8b\x08"):
        path.write_bytes(data + tail)
        assert listed(path).exit_status == 1


def test_a_hidden_or_second_archive_is_refused(listed, tmp_path) -> None:
    good = zip_(tmp_path / "g", SKILL).read_bytes()
    bad = zip_(tmp_path / "b", ("../evil", b"evil", FILE)).read_bytes()
    for index, data in enumerate((good + bad, bad + good, b"#!/bin/true\n" + good, good[:-1], good + b"x")):
        (tmp_path / str(index)).write_bytes(data)
        assert listed(tmp_path / str(index)).exit_status in (1, 2), index
    with zipfile.ZipFile(tmp_path / "c", "w") as stream:
        stream.writestr("skill/a", b"x")
        stream.comment = bad
    assert listed(tmp_path / "c").exit_status in (1, 2)


def test_a_bomb_is_not_unpacked(listed, tmp_path) -> None:
    with tarfile.open(tmp_path / "t", "w:gz", compresslevel=9) as stream:
        info = tarfile.TarInfo("skill/zeros")
        info.size = 400 << 20
        stream.addfile(info, io.BufferedReader(_Zeros(info.size)))
    answer = listed(tmp_path / "t")
    assert answer.exit_status == 2 and answer.codes == ["archive.limit"]


class _Zeros(io.RawIOBase):
    def __init__(self, size: int) -> None:
        self.left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), self.left)
        self.left -= count
        buffer[:count] = bytes(count)
        return count


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"hello", b"\x7fELF" + bytes(600), b"\x1f\x8b" + bytes(50), b"BZh9" + bytes(50), bytes(1024)]
)
def test_what_is_no_archive_is_never_called_fine(listed, tmp_path, data) -> None:
    (tmp_path / "x").write_bytes(data)
    assert listed(tmp_path / "x").exit_status in (1, 2)


# Folders


def test_packing_follows_no_link_and_ships_nothing_from_outside(tool, tmp_path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "skill").mkdir()
    (tmp_path / "skill" / "SKILL.md").write_text("x")
    for target in ("../secret", str(tmp_path / "secret"), "..", "SKILL.md", "nowhere"):
        link = tmp_path / "skill" / "link"
        link.symlink_to(target)
        answer = tool("manifest", "create", "skill", "--out", "m.json")
        assert answer.exit_status == 1 and answer.codes == ["file.kind"]
        assert not (tmp_path / "m.json").exists()
        link.unlink()
    assert tool("manifest", "create", "skill", "--out", "m.json").exit_status == 0
    (tmp_path / "skill" / "link").symlink_to("../secret")
    assert tool("manifest", "verify", "m.json").codes == ["file.kind"]


def test_a_sibling_that_shares_a_prefix_is_another_folder(tool, tmp_path) -> None:
    for name in ("skills", "skills-x"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text("same")
    assert tool("manifest", "create", "skills", "--out", "skills-x/m.json").exit_status == 0
    assert tool("manifest", "verify", "skills-x/m.json", "--root", "skills").exit_status == 0
    answer = tool("manifest", "verify", "skills-x/m.json", "--root", "skills-x")
    assert answer.codes == ["manifest.unlisted"]


@pytest.mark.parametrize("name", ["..", "skills/..", "skills/../skills", "./skills/"])
def test_a_folder_named_by_a_way_around_is_that_folder_and_nothing_else(tool, tmp_path, name) -> None:
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "a").write_text("x")
    answer = tool("manifest", "create", f"skills/{name}" if name == ".." else name, "--out", "m.json")
    assert answer.exit_status == 0
    listed = (tmp_path / "m.json").read_text()
    assert '"..' not in listed and "/.." not in listed

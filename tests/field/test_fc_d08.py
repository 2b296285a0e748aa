"""FC-D08 · Names that leave the folder.

Each is refused before anything is opened. Components are compared, not string prefixes, and archives are never
unpacked.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from _skill import strict_json
from _skill.manifests import file_manifest

LEAVING = [
    "../outside.txt", "a/../../b", "..", "a/..", "a/b/..", "../", "/etc/hostname", "//x", "C:\\x", "C:/x", "c:x",
    "a\\..\\b", "\\\\server\\share", "..\\x", "a\\b", "x\0.txt", "\0",
]  # fmt: skip
MALFORMED = [
    "", ".", "./a", "a/./b", "a/.", "a//b", "a/", "a/ /b", "x ", " x", "x.", "a./b", "tab\there", "new\nline",
    "\x1b[2J", "del\x7f", "c1\x85", "zero\u200bwidth", "\u202eevil", "\ufeffbom", "line\u2028", "soft\u00adhyphen",
    "CON", "con.txt", "a/NUL", "aux.", "LPT1.pt", "com\u00b9", "PRN .x", "CONIN$", "x:stream", "wh?t", "st*r", "a|b",
    "<x>", 'q"', "\ue000", "n" * 256, "\u00e9" * 128, "/".join("d" * 40), "/".join(["n" * 200] * 12),
]  # fmt: skip


def manifest_of(*paths: str, **changes: Any) -> bytes:
    """A manifest with any names at all, whose own checksum is right: as an attacker would write it."""
    document: dict[str, Any] = {
        "schema": "file_manifest/1",
        "kind": "folder",
        "root": "w",
        "excluded": None,
        "total_files": len(paths),
        "total_bytes": len(paths),
        "files": [{"path": path, "bytes": 1, "sha256": hashlib.sha256(b"x").hexdigest()} for path in paths],
        **changes,
    }
    body = {key: value for key, value in document.items() if key != "sha256"}
    document["sha256"] = hashlib.sha256(strict_json.canonical(body)).hexdigest()
    return file_manifest.written(document)


@pytest.fixture
def opened_nothing_outside(tmp_path: Path) -> Path:
    """A folder with a pipe where each name would lead: whoever opens it for reading waits, and is found out."""
    root = tmp_path / "in" / "w"
    root.mkdir(parents=True)
    for place in (tmp_path / "outside.txt", tmp_path / "in" / "outside.txt", tmp_path / "in" / "b"):
        os.mkfifo(place)
    return root


@pytest.mark.parametrize("name", LEAVING, ids=ascii)
def test_a_manifest_name_that_leaves_the_folder_is_refused(tool, tmp_path, opened_nothing_outside, name) -> None:
    (tmp_path / "m.json").write_bytes(manifest_of(name))
    answer = tool("manifest", "verify", "m.json", "--root", opened_nothing_outside, timeout=10)
    assert answer.exit_status == 1
    assert answer.codes == ["name.leaves"]
    assert answer.finding("name.leaves")["pointer"] == "/files/0/path"
    assert "verified" not in answer.report


@pytest.mark.parametrize("name", MALFORMED, ids=ascii)
def test_a_manifest_name_that_is_no_plain_name_everywhere_is_refused(tool, tmp_path, name) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "m.json").write_bytes(manifest_of(name))
    answer = tool("manifest", "verify", "m.json")
    assert answer.exit_status == 1
    assert {code.split(".")[0] for code in answer.codes} <= {"name", "schema"} and answer.codes
    assert all(character.isprintable() or character == "\n" for character in answer.text)


@pytest.mark.parametrize("field", ["root", "excluded"])
@pytest.mark.parametrize("name", LEAVING, ids=ascii)
def test_no_other_field_of_a_manifest_leads_outside(tool, tmp_path, field, name) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "m.json").write_bytes(manifest_of("a", **{field: name}))
    answer = tool("manifest", "verify", "m.json")
    assert answer.exit_status == 1 and "name.leaves" in answer.codes


def test_a_root_is_one_name(tool, tmp_path) -> None:
    (tmp_path / "m.json").write_bytes(manifest_of("a", root="a/b"))
    assert tool("manifest", "verify", "m.json").codes == ["name.form"]


def test_two_entries_with_one_name_are_refused(tool, tmp_path) -> None:
    (tmp_path / "m.json").write_bytes(manifest_of("a", "a"))
    answer = tool("manifest", "verify", "m.json", "--root", ".")
    assert answer.exit_status == 1 and "name.duplicate" in answer.codes


def test_a_file_that_is_also_a_folder_is_refused(tool, tmp_path) -> None:
    (tmp_path / "m.json").write_bytes(manifest_of("a", "a/b"))
    assert "name.collision" in tool("manifest", "verify", "m.json", "--root", ".").codes


@pytest.mark.parametrize("name", ["a", "a/b/c", "..a", "...a/b", "a..b", ".hidden", "x-y_z=1,2.pt", "名前", "ü"])
def test_an_ordinary_name_is_not_refused(tool, tmp_path, name) -> None:
    target = tmp_path / "w" / name
    target.parent.mkdir(parents=True)
    target.write_bytes(b"x")
    (tmp_path / "m.json").write_bytes(manifest_of(name))
    assert tool("manifest", "verify", "m.json").exit_status == 0


def test_a_sibling_with_the_same_prefix_is_outside(tool, tmp_path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w-x").mkdir()
    (tmp_path / "w-x" / "m.json").touch()
    # Created beside: were prefixes compared, "w-x/..." would count as inside "w" and be left out there.
    (tmp_path / "w" / "a").write_bytes(b"x")
    assert tool("manifest", "create", "w", "--out", "w-x/new.json").exit_status == 0
    assert b'"excluded": null' in (tmp_path / "w-x" / "new.json").read_bytes()


def test_a_listed_name_that_is_a_link_on_disk_is_not_followed(tool, tmp_path) -> None:
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "w" / "d").mkdir(parents=True)
    (tmp_path / "w" / "a").symlink_to("../secret")
    (tmp_path / "m.json").write_bytes(manifest_of("a"))
    assert tool("manifest", "verify", "m.json").codes == ["manifest.missing", "file.kind"]
    (tmp_path / "w" / "a").unlink()
    (tmp_path / "w" / "d").rmdir()
    (tmp_path / "w" / "d").symlink_to("..")
    (tmp_path / "m2.json").write_bytes(manifest_of("d/secret"))
    answer = tool("manifest", "verify", "m2.json")
    assert answer.exit_status == 1 and "file.kind" in answer.codes and answer.report["verified"] == 0


@pytest.mark.parametrize("top", ["", "archive/"])
@pytest.mark.parametrize("name", ["../outside.txt", "/etc/x", "C:\\x", "a\\..\\b", "a/../../b", ".."])
def test_a_member_of_a_zip_that_leaves_is_refused_and_nothing_is_unpacked(tool, tmp_path, top, name) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as stream:
        for member in (f"{top}data.pkl", name):
            info = zipfile.ZipInfo(member)
            info.filename = member
            stream.writestr(info, b"N.")
    before = sorted(tmp_path.rglob("*"))
    for answer in (tool("manifest", "archive", path), tool("inspect_checkpoint", path)):
        assert answer.exit_status == 1 and {"zip.name", "name.leaves"} & set(answer.codes)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("names", [("a/x", "a/x"), ("a/x", "A/x"), ("a/é", "a/e\u0301")], ids=ascii)
def test_two_members_of_a_zip_with_one_name_are_refused(tool, tmp_path, names) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as stream:
        for name in names:
            stream.writestr(name, b"x")
    for answer in (tool("manifest", "archive", path), tool("inspect_checkpoint", path)):
        assert answer.exit_status == 1, answer.text


def test_any_name_at_all_ends_in_a_clean_report(tmp_path: Path) -> None:
    from hypothesis import given
    from hypothesis import strategies as st

    from _skill.manifests import names

    @given(st.text(max_size=20) | st.lists(st.sampled_from(["..", ".", "", "a", "A", "/", "\\", "C:"])).map("/".join))
    def check(name: str) -> None:
        found = names.finding(name, "")
        if found is None:
            root = str(tmp_path)
            joined = os.path.normpath(os.path.join(root, name))
            assert os.path.commonpath([root, joined]) == root and joined != root
            assert os.path.relpath(joined, root) == name

    check()

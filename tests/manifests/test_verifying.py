"""Every change of a folder, and every changed bit of a manifest, is found."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _skill import atomic_file, strict_json
from _skill.findings import Refusal
from _skill.manifests import file_manifest, verification

from .test_creating import codes, tree


def made(root: Path, out: Path) -> Path:
    created = file_manifest.create(str(root), str(out))
    atomic_file.create(str(out), created.data)
    return out


def check(path: Path, root: Path | None = None) -> list[tuple[str, str]]:
    found = verification.verify(file_manifest.read(str(path)), str(path), None if root is None else str(root))
    return [(finding.code, finding.pointer) for finding in found.findings]


def test_a_folder_verifies_beside_inside_and_elsewhere(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "a", "d/b")
    beside = made(root, tmp_path / "beside.json")
    assert check(beside) == []
    (tmp_path / "far").mkdir()
    far = made(root, tmp_path / "far" / "m.json")
    assert check(far, root) == []
    with pytest.raises(Refusal) as refusal:
        check(far)
    assert codes(refusal) == ["manifest.root"] and refusal.value.exit_status == 2
    inside = made(root, root / "d" / "m.json")
    assert check(inside) == [] and check(inside, root) == []
    shutil.copytree(root, tmp_path / "copy")
    assert check(tmp_path / "copy" / "d" / "m.json") == []


def test_a_manifest_moved_within_its_folder_is_not_taken(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "a", "d/b")
    inside = made(root, root / "d" / "m.json")
    moved = inside.rename(root / "m.json")
    with pytest.raises(Refusal) as refusal:
        check(moved)
    assert codes(refusal) == ["manifest.root"]
    assert check(moved, root) == [("manifest.unlisted", "m.json")]


def test_another_file_in_the_place_of_the_manifest_is_not_left_out(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "a")
    inside = made(root, root / "m.json")
    copy = tmp_path / "copy.json"
    copy.write_bytes(inside.read_bytes())
    assert check(copy, root) == [("manifest.unlisted", "m.json")]
    inside.write_text("something else")
    assert check(copy, root) == [("manifest.unlisted", "m.json")]


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (lambda r: (r / "a").write_text("b"), [("manifest.digest", "a")]),
        (lambda r: (r / "a").write_text(""), [("manifest.size", "a")]),
        (lambda r: (r / "a").write_text("aa"), [("manifest.size", "a")]),
        (lambda r: (r / "a").unlink(), [("manifest.missing", "a")]),
        (lambda r: (r / "new").touch(), [("manifest.unlisted", "new")]),
        (lambda r: (r / "d" / ".hidden").touch(), [("manifest.unlisted", "d/.hidden")]),
        (lambda r: (r / "x.tmp").touch(), [("manifest.unlisted", "x.tmp")]),
        (lambda r: (r / "a").rename(r / "A"), [("manifest.missing", "a"), ("manifest.unlisted", "A")]),
        (lambda r: (r / "l").symlink_to("a"), [("file.kind", "l")]),
        (lambda r: (r / "e").mkdir(), []),
        (lambda r: os.mkfifo(r / "p"), [("file.kind", "p")]),
        (lambda r: shutil.rmtree(r / "d"), [("manifest.missing", "d/b")]),
        (lambda r: (r / ".a.0123456789ab.tmp").touch(), [("manifest.left_over", ".a.0123456789ab.tmp")]),
        (lambda r: (r / ".c.safetensors.4711.part").touch(), [("manifest.left_over", ".c.safetensors.4711.part")]),
    ],
)  # fmt: skip
def test_every_difference_is_named(tmp_path: Path, act, expected) -> None:
    root = tree(tmp_path / "w", "a", "d/b")
    path = made(root, tmp_path / "m.json")
    act(root)
    assert check(path) == expected


def test_swapped_contents_are_two_wrong_digests(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "a", "b")
    path = made(root, tmp_path / "m.json")
    (root / "a").write_text("b")
    (root / "b").write_text("a")
    assert check(path) == [("manifest.digest", "a"), ("manifest.digest", "b")]


def test_a_file_of_another_size_is_not_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from _skill.manifests import file_digests

    root = tree(tmp_path / "w", "a", "b")
    path = made(root, tmp_path / "m.json")
    (root / "a").write_text("longer")
    asked: list[str] = []
    real = file_digests.of_files

    def noted(handle, sizes, threads=None):
        asked.extend(name for name, _ in sizes)
        return real(handle, sizes, threads)

    monkeypatch.setattr(file_digests, "of_files", noted)
    assert check(path) == [("manifest.size", "a")] and asked == ["b"]


def test_one_file_verifies_by_content_and_says_when_its_name_is_another(tmp_path: Path) -> None:
    tree(tmp_path, "w", "other")
    path = made(tmp_path / "w", tmp_path / "m.json")
    assert check(path) == [] and check(path, tmp_path) == []
    shutil.copy(tmp_path / "w", tmp_path / "renamed")
    assert check(path, tmp_path / "renamed") == [("manifest.other_name", str(tmp_path / "renamed"))]
    (tmp_path / "w").write_text("v")
    assert check(path) == [("manifest.digest", "w")]
    assert check(path, tmp_path) == [("manifest.digest", "w")]
    assert check(path, tmp_path / "other")[0][0] == "manifest.size"
    (tmp_path / "w").unlink()
    with pytest.raises(Refusal) as refusal:
        check(path)
    assert codes(refusal) == ["manifest.root"]
    assert check(path, tmp_path) == [("manifest.missing", "w")]


def test_every_single_changed_bit_of_a_manifest_is_refused(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "a", "d/ä")
    data = made(root, tmp_path / "m.json").read_bytes()
    assert file_manifest.parse(data, "m")
    for position in range(len(data) * 8):
        changed = bytearray(data)
        changed[position // 8] ^= 1 << position % 8
        with pytest.raises(Refusal):
            file_manifest.parse(bytes(changed), "m")


def test_every_cut_repeat_and_added_byte_of_a_manifest_is_refused(tmp_path: Path) -> None:
    data = made(tree(tmp_path / "w", "a"), tmp_path / "m.json").read_bytes()
    changed = [data[:end] for end in range(len(data))]
    changed += [data + extra for extra in (b" ", b"\n", b"\r\n", b"\0", data)]
    changed += [data.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + data, b" " + data, data.rstrip()]
    changed += [json.dumps(json.loads(data)).encode(), json.dumps(json.loads(data), indent=2).encode() + b"\n"]
    for other in changed:
        with pytest.raises(Refusal):
            file_manifest.parse(other, "m")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda d: d["files"][0].update(sha256=d["files"][0]["sha256"].upper()), "manifest.digest_form"),
        (lambda d: d["files"][0].update(sha256=d["files"][0]["sha256"][:8]), "schema.pattern"),
        (lambda d: d["files"][0].update(bytes=-1), "schema.range"),
        (lambda d: d["files"][0].update(bytes=1.0), "schema.type"),
        (lambda d: d["files"][0].update(bytes=True), "schema.type"),
        (lambda d: d["files"][0].pop("sha256"), "schema.required"),
        (lambda d: d.update(exclude=["*.pt"]), "schema.unknown_key"),
        (lambda d: d.update(schema="file_manifest/2"), "schema.const"),
        (lambda d: d.update(total_files=9), "manifest.total"),
        (lambda d: d["files"].reverse(), "manifest.order"),
        (lambda d: d.update(kind="file"), "manifest.kind"),
        (lambda d: d["files"].append(d["files"][1]), "name.duplicate"),
        (lambda d: d.update(files={}), "schema.type"),
        (lambda d: d.update(files=[1]), "schema.type"),
        (lambda d: d.update(excluded="a"), "name.duplicate"),
        (lambda d: d.update(excluded="a/b"), "name.collision"),
    ],
)  # fmt: skip
def test_a_manifest_with_a_right_checksum_and_wrong_content_is_refused(tmp_path: Path, change, code: str) -> None:
    document = json.loads(made(tree(tmp_path / "w", "a", "b"), tmp_path / "m.json").read_bytes())
    change(document)
    document["sha256"] = file_manifest._checksum(document)
    with pytest.raises(Refusal) as refusal:
        file_manifest.parse(strict_json.canonical(document), "m")
    assert code in codes(refusal)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b"1", b'"x"', b"{" * 200, b'{"files":[{}]}', b"\xff"])
def test_what_is_no_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(Refusal):
        file_manifest.parse(data, "m")


def test_every_single_changed_bit_of_the_listed_files_is_found(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "a", "model.bin")
    content = bytes(range(64))
    (root / "model.bin").write_bytes(content)
    path = made(root, tmp_path / "m.json")
    manifest = file_manifest.read(str(path))
    for position in range(len(content) * 8):
        changed = bytearray(content)
        changed[position // 8] ^= 1 << position % 8
        (root / "model.bin").write_bytes(changed)
        found = verification.verify(manifest, str(path), None, 1)
        assert [finding.code for finding in found.findings] == ["manifest.digest"] and found.verified == 1
    (root / "model.bin").write_bytes(content)
    assert check(path) == []


@settings(max_examples=60)
@given(st.data())
def test_any_two_folders_that_differ_do_not_verify_against_each_other(tmp_path_factory, data) -> None:
    files = st.dictionaries(
        st.sampled_from(["a", "b", "B", "d/a", "d/e/f", "é"]), st.binary(max_size=3), min_size=0, max_size=4
    )
    first, second = data.draw(files), data.draw(files)
    if len({name.casefold() for name in first}) < len(first):
        return
    base = tmp_path_factory.mktemp("pair")
    for place, content in (("x", first), ("y", second)):
        (base / place).mkdir()
        for name, inside in content.items():
            (base / place / name).parent.mkdir(parents=True, exist_ok=True)
            (base / place / name).write_bytes(inside)
    path = made(base / "x", base / "m.json")
    assert check(path) == []
    assert (check(path, base / "y") == []) == (first == second)


def test_the_manifests_own_digest_can_be_pinned(tmp_path: Path) -> None:
    path = made(tree(tmp_path / "w", "a"), tmp_path / "m.json")
    right = file_manifest.read(str(path)).sha256
    verification.expect(right, right, "m")
    with pytest.raises(Refusal) as refusal:
        verification.expect(right, "0" * 64, "m")
    assert codes(refusal) == ["manifest.digest"] and refusal.value.exit_status == 1
    with pytest.raises(Refusal) as refusal:
        verification.expect(right, right.upper(), "m")
    assert codes(refusal) == ["manifest.digest_form"] and refusal.value.exit_status == 2


def test_a_manifest_larger_than_its_limit_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "m.json").open("wb") as stream:
        stream.truncate(file_manifest.MAX_BYTES + 1)
    with pytest.raises(Refusal) as refusal:
        file_manifest.read(str(tmp_path / "m.json"))
    assert codes(refusal) == ["json.size"]

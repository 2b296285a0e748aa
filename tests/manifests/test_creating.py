"""What may stand in a manifest, and what is never made."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from pathlib import Path

import pytest

from _skill.findings import Refusal
from _skill.manifests import file_digests, file_manifest, folder_walk

BAD_NAMES = ["a b ", "x.", "nul", "n\new", "q?", "back\\slash", "zero\u200b"]


def codes(refusal: pytest.ExceptionInfo[Refusal]) -> list[str]:
    return [finding.code for finding in refusal.value.findings]


def tree(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(os.fsencode(name))
    return root


def test_entries_are_sorted_by_code_points_and_hold_the_right_digests(tmp_path: Path) -> None:
    names = ["b", "a/z", "a.x", "Z", "ä", "a-b", "\U0001f400", "\ufb00x"]
    made = file_manifest.create(str(tree(tmp_path / "w", *names)), str(tmp_path / "m.json"))
    assert [file.path for file in made.manifest.files] == sorted(names)
    for file in made.manifest.files:
        assert file.sha256 == hashlib.sha256(file.path.encode()).hexdigest() and file.bytes == len(file.path.encode())
    again = file_manifest.parse(made.data, "m.json")
    assert (again.files, again.sha256) == ([f._replace(links=1) for f in made.manifest.files], made.manifest.sha256)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_bytes_of_a_manifest_do_not_depend_on_threads_or_order(tmp_path: Path, threads: int, monkeypatch) -> None:
    monkeypatch.setattr(file_digests, "SMALL_BYTES", 1)  # or one thread would be thought to be enough
    names = [f"d{i % 7}/e{i % 3}/f{i}" for i in range(300)]
    one = file_manifest.create(str(tree(tmp_path / "x" / "w", *names)), str(tmp_path / "1.json"), 1)
    other = file_manifest.create(str(tree(tmp_path / "y" / "w", *reversed(names))), str(tmp_path / "2.json"), threads)
    assert one.data == other.data


def test_an_empty_folder_has_a_manifest_and_an_empty_file_an_entry(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    assert file_manifest.create(str(tmp_path / "w"), str(tmp_path / "m")).manifest.files == []
    (tmp_path / "w" / "e").touch()
    assert file_manifest.create(str(tmp_path / "w"), str(tmp_path / "m")).manifest.files[0].bytes == 0


@pytest.mark.parametrize("kind", ["link", "link to a folder", "link to nothing", "pipe", "socket", "deep link"])
def test_what_is_no_plain_file_is_refused_and_named(tmp_path: Path, kind: str) -> None:
    root = tree(tmp_path / "w", "a", "d/b")
    target = root / ("d/x" if kind == "deep link" else "x")
    if kind == "pipe":
        os.mkfifo(target)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as unix:
            here = os.getcwd()
            os.chdir(root)
            try:
                unix.bind("x")
            finally:
                os.chdir(here)
    else:
        target.symlink_to({"link to a folder": "d", "link to nothing": "nowhere"}.get(kind, "/etc/hostname"))
    with pytest.raises(Refusal) as refusal:
        file_manifest.create(str(root), str(tmp_path / "m"))
    assert codes(refusal) == ["file.kind"] and refusal.value.exit_status == 1
    assert refusal.value.findings[0].pointer == str(target.relative_to(root))


@pytest.mark.parametrize("slash", ["", "/", "//"])
def test_a_folder_named_through_a_link_is_refused(tmp_path: Path, slash: str) -> None:
    tree(tmp_path / "w", "a")
    (tmp_path / "l").symlink_to("w")
    with pytest.raises(Refusal) as refusal:
        file_manifest.create(str(tmp_path / "l") + slash, str(tmp_path / "m"))
    assert codes(refusal) == ["file.kind"]


def test_hard_links_are_reported_and_hashed(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "a")
    os.link(root / "a", tmp_path / "outside")
    made = file_manifest.create(str(root), str(tmp_path / "m"))
    assert [(f.code, f.severity, f.pointer) for f in made.findings] == [("manifest.hard_link", "warning", "a")]


@pytest.mark.parametrize("name", [*BAD_NAMES, os.fsdecode(b"\xff\xfe")], ids=ascii)
def test_a_name_that_other_systems_cannot_hold_is_refused(tmp_path: Path, name: str) -> None:
    tree(tmp_path / "w", name)
    with pytest.raises(Refusal) as refusal:
        file_manifest.create(str(tmp_path / "w"), str(tmp_path / "m"))
    assert codes(refusal)[0] in ("name.form", "name.leaves")


def test_a_manifest_inside_its_folder_leaves_out_itself_and_nothing_else(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "a", "d/old-manifest.json")
    made = file_manifest.create(str(root), str(root / "d" / "m.json"))
    assert made.manifest.excluded == "d/m.json"
    assert [file.path for file in made.manifest.files] == ["a", "d/old-manifest.json"]


def test_the_place_of_the_manifest_is_found_through_links_too(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "a", "d/b")
    (tmp_path / "alias").symlink_to("w/d")
    assert file_manifest.create(str(root), str(tmp_path / "alias" / "m.json")).manifest.excluded == "d/m.json"


def test_an_existing_manifest_is_never_replaced(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "a")
    (tmp_path / "m").write_text("mine")
    with pytest.raises(Refusal) as refusal:
        file_manifest.create(str(root), str(tmp_path / "m"))
    assert codes(refusal) == ["file.exists"] and (tmp_path / "m").read_text() == "mine"
    (tmp_path / "l").symlink_to("nowhere")
    with pytest.raises(Refusal):
        file_manifest.create(str(root), str(tmp_path / "l"))


@pytest.mark.parametrize("name", ["x.tmp", "model.PART", "a.incomplete", "b.crdownload", "c.partial"])
def test_an_unfinished_download_is_refused(tmp_path: Path, name: str) -> None:
    tree(tmp_path / "w", "a", name)
    with pytest.raises(Refusal) as refusal:
        file_manifest.create(str(tmp_path / "w"), str(tmp_path / "m"))
    assert codes(refusal) == ["manifest.unfinished"]


def test_too_many_files_are_refused_and_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path / "w", *(f"d{i}/f" for i in range(30)))
    monkeypatch.setattr(folder_walk, "MAX_FILES", 59)
    with pytest.raises(Refusal) as refusal:
        file_manifest.create(str(root), str(tmp_path / "m"))
    assert codes(refusal) == ["manifest.limit"]
    monkeypatch.setattr(folder_walk, "MAX_FILES", 60)
    assert len(file_manifest.create(str(root), str(tmp_path / "m")).manifest.files) == 30


def test_folders_nested_too_deep_are_a_finding(tmp_path: Path) -> None:
    tree(tmp_path / "ok", "/".join(["d"] * 32 + ["f"]))
    assert len(file_manifest.create(str(tmp_path / "ok"), str(tmp_path / "m")).manifest.files) == 1
    tree(tmp_path / "deep", "/".join(["d"] * 33 + ["f"]))
    with pytest.raises(Refusal) as refusal:
        file_manifest.create(str(tmp_path / "deep"), str(tmp_path / "m"))
    assert codes(refusal) == ["manifest.limit"]


def test_a_file_that_grows_while_it_is_read_has_no_digest(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(bytes(8 << 20))
    ended = threading.Event()

    def write() -> None:
        with path.open("ab", buffering=0) as stream:
            while not ended.is_set():
                stream.write(b"x")
                time.sleep(0.0002)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with pytest.raises(Refusal) as refusal:
            for _ in range(50):
                file_digests.of_file(str(path))
    finally:
        ended.set()
        writer.join()
    assert codes(refusal) == ["manifest.changing"] and refusal.value.exit_status == 1


class Meddler:
    """Stands in for the buffer and does something to the file after its first block."""

    def __init__(self, act):
        self.act = act

    def __call__(self) -> bool:
        act, self.act = self.act, lambda: None
        act()
        return False


@pytest.mark.parametrize("what", ["same size", "cut", "mode"])
def test_any_change_of_a_file_while_it_is_read_is_seen(tmp_path: Path, what: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(bytes(3 << 20))
    before = os.stat(path)

    def act() -> None:
        if what == "cut":
            os.truncate(path, 100)
        elif what == "mode":
            path.chmod(0o600)
        else:
            with path.open("r+b") as stream:
                stream.write(b"x")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as an attacker hides it: ctime tells

    handle = os.open(path, os.O_RDONLY)
    try:
        with pytest.raises(Refusal) as refusal:
            file_digests._digest(handle, os.fstat(handle), "f", bytearray(1 << 20), Meddler(act))
    finally:
        os.close(handle)
    assert codes(refusal) == ["manifest.changing"]


def test_a_file_swapped_for_another_while_it_is_read_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path / "w", "f")
    tree(tmp_path, "other")
    real = file_digests._digest

    def swapping(*arguments):
        found = real(*arguments)
        os.replace(tmp_path / "other", root / "f")
        return found

    monkeypatch.setattr(file_digests, "_digest", swapping)
    with pytest.raises(Refusal) as refusal:
        file_manifest.create(str(root), str(tmp_path / "m"))
    assert codes(refusal) == ["manifest.changing"]


@pytest.mark.parametrize("what", ["comes", "goes", "becomes a link"])
def test_a_file_that_comes_or_goes_meanwhile_is_seen(tmp_path: Path, monkeypatch, what: str) -> None:
    root = tree(tmp_path / "w", "f", "g")
    real = file_digests.of_files

    def meddling(*arguments):
        found = real(*arguments)
        if what == "comes":
            (root / "new").touch()
        else:
            (root / "g").unlink()
        if what == "becomes a link":
            (root / "g").symlink_to("f")
        return found

    monkeypatch.setattr(file_digests, "of_files", meddling)
    with pytest.raises(Refusal) as refusal:
        file_manifest.create(str(root), str(tmp_path / "m"))
    assert codes(refusal) == ["manifest.changing"]


def test_a_folder_swapped_for_a_link_between_listing_and_reading_is_not_entered(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "d/f")
    tree(tmp_path / "secret", "f")
    (root / "d").rename(root / "was")
    (root / "d").symlink_to(tmp_path / "secret")
    handle = os.open(root, os.O_RDONLY)
    try:
        found = file_digests.of_files(handle, [("d/f", 1)])
    finally:
        os.close(handle)
    assert found.files == [] and [f.code for f in found.findings] == ["file.unreadable"]


def test_an_error_in_one_thread_ends_all_and_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path / "w", *(f"f{i:03}" for i in range(200)))
    monkeypatch.setattr(file_digests, "SMALL_BYTES", 1)

    def broken(self, name, chain, buffer):
        raise MemoryError(name)

    monkeypatch.setattr(file_digests._Work, "one", broken)
    with pytest.raises(MemoryError):
        file_manifest.create(str(root), str(tmp_path / "m"), 4)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_could_not(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", "f")
    (root / "f").chmod(0)
    with pytest.raises(Refusal) as refusal:
        file_manifest.create(str(root), str(tmp_path / "m"))
    assert codes(refusal) == ["file.unreadable"] and refusal.value.exit_status == 2


def test_no_handle_is_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_digests, "SMALL_BYTES", 1)
    root = tree(tmp_path / "w", *(f"a{i % 5}/b{i % 3}/c/f{i}" for i in range(200)))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(3):
        file_manifest.create(str(root), str(tmp_path / "m"), 3)
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


def test_small_files_do_not_ask_for_threads_that_only_wait_for_one_another() -> None:
    assert file_digests._useful_threads([("a", 100)] * 1000) == 1
    assert file_digests._useful_threads([("a", 1 << 20)] * 10) > 16
    assert file_digests._useful_threads([]) == 1

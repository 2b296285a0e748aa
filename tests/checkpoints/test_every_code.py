"""Each reason why a checkpoint is refused has a file that shows it: its code, its exit status, and where it is said."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from _skill import atomic_file
from _skill.checkpoints import comparison, conversion, inspection, inspection_report, limits, source
from _skill.findings import Refusal

from ..docs.test_error_catalogue import catalogue
from .corpus import honest_files, hostile_files, hostile_headers, hostile_streams, hostile_zips, torch_pickles
from .corpus import opcodes as op
from .corpus.arrays import npy
from .corpus.cases import Case
from .judging import judge
from .writing import entry, pickled, safetensors, sizes, state_dict, storage, tensor, text, torch_file, zipped

CASES: dict[str, Case] = {
    case.name: case
    for module in (hostile_zips, hostile_headers, hostile_files, hostile_streams)
    for case in module.cases()
}


def tar(members: dict[str, bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as stream:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.type = len(data), kind
            stream.addfile(info, io.BytesIO(data))
    return out.getvalue()


def old_torch(storages: bytes) -> bytes:
    """torch's oldest form, without a tensor."""
    members = {"storages": storages, "tensors": op.whole(op.int_(0)), "pickle": op.whole(op.argument({"a": 1}))}
    return tar(members)


def same_name(one: str, other: str) -> bytes:
    """A pickle of two tensors named `a.b`, in these storages."""
    inner = b"}" + text("b") + tensor(key=one) + b"s"
    return pickled(b"}(" + text("a") + inner + text("a.b") + tensor(key=other) + b"u")


NO_STORAGE = op.whole(op.int_(0)) + op.whole(op.EMPTY_LIST)
GOOD_ZIP = torch_file(state_dict(w=tensor()))
PACKED = zipped({"m/data.pkl": state_dict(w=tensor()), "m/data/0": bytes(24)}, compress=True)
PADDED_GGUF = honest_files.gguf([], [("w", [1], 0, b"\0\0\0\0")])
MEMBERS = tar({"storages": b"", "tensors": b""})
REBUILT = b"ctorch._utils\n_rebuild_nested_tensor\n(" + storage() + sizes(6) + sizes(1) + b"tR"


@pytest.mark.parametrize(
    ("code", "status", "case"),
    [
        ("gguf.header", 1, "gguf: key twice"),
        ("gguf.ranges", 1, "gguf: tensor beyond the end"),
        ("gguf.version", 2, "gguf: version 99"),
        ("npy.dtype", 2, "npy: unknown dtype"),
        ("npy.header", 1, "npy: header that is a call"),
        ("npy.objects", 1, "npy: objects of a harmless pickle"),
        ("pickle.cycle", 1, "bomb: a dict that holds itself many times"),
        ("pickle.limit", 2, "bomb: doubling"),
        ("safetensors.header", 1, "safetensors: spaces before the header"),
        ("safetensors.limit", 2, "safetensors: deep lists"),
        ("safetensors.metadata", 1, "safetensors: metadata of numbers"),
        ("safetensors.ranges", 1, "safetensors: hole between"),
        ("safetensors.tensor", 1, "safetensors: size as 2.0"),
        ("safetensors.truncated", 1, "safetensors cut to 7"),
        ("tar.link", 1, "tar: a hard link"),
        ("tar.name", 1, "tar: a name that leaves"),
        ("tar.trailing", 1, "tar: data behind the end"),
        ("tar.truncated", 1, "tar: a size of 8 GB"),
        ("tar.type", 1, "tar: a pipe"),
        ("torch.keys", 1, "old torch: a storage is missing"),
        ("torch.trailing", 1, "old torch: something behind"),
        ("zip.directory", 1, "zip header that lies: another disk"),
        ("zip.end_record", 1, "zip records: another disk"),
        ("zip.extra", 1, "zip header that lies: zip64 twice"),
        ("zip.flags", 1, "zip header that lies: patch bit"),
        ("zip.hole", 1, "zip records: bytes between members"),
        ("zip.limit", 2, "zip bomb: deflated pickle of 64 MB"),
        ("zip.limit", 2, "zip bomb: many members"),
        ("zip.link", 1, "zip header that lies: symbolic link"),
        ("zip.method", 2, "zip header that lies: lzma method"),
        ("zip.overlap", 1, "zip header that lies: size too large"),
        ("zip.size", 1, "zip header that lies: two sizes of a stored member"),
        ("zip.truncated", 1, "torch cut by 10"),
        ("zip.type", 1, "zip header that lies: device"),
    ],
)
def test_a_file_with_one_fault_has_one_finding(code: str, status: int, case: str, tmp_path: Path) -> None:
    found = judge(CASES[case].make(tmp_path))
    assert (found.status, set(found.codes)) == (status, {code})


@pytest.mark.parametrize(
    ("code", "status", "name", "data"),
    [
        ("gguf.padding", 1, "x.gguf", PADDED_GGUF[:-1] + b"\1"),
        ("kind.unknown", 2, "x", b"\xff\xfe\0\1\2\3"),
        ("npy.limit", 2, "x.npy", npy("", (), b"", text=" " * (limits.NPY_HEADER + 1), version=(2, 0))),
        ("pickle.unread_tensor", 2, "x.pt", torch_file(state_dict(w=REBUILT))),
        ("tar.header", 1, "x.pt", MEMBERS[:1024] + b"#" * 512),
        ("tar.member", 2, "x.pt", tar({"pickle": b""}, tarfile.XHDTYPE)),
        (
            "torch.version", 1, "x.pt",
            torch_pickles.legacy_file(honest_files.legacy_pickle(), {}).replace(b"M\xe9\x03", b"M\xea\x03", 1),
        ),
    ],
)  # fmt: skip
def test_a_small_file_with_one_fault_has_one_finding(
    code: str, status: int, name: str, data: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    found = judge(tmp_path / name)
    assert (found.status, set(found.codes)) == (status, {code})


@pytest.mark.parametrize(
    ("code", "data"),
    [
        ("names.same", torch_file(same_name("0", "0"))),
        ("safetensors.alignment", safetensors({"a": entry("U8", [1], 0, 1), "b": entry("F32", [1], 1, 5)}, bytes(5))),
    ],
)  # fmt: skip
def test_what_is_odd_and_harmless_is_a_warning_only(code: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with inspection.opened(str(path)) as inspected:
        (finding,) = inspected.content.findings
        assert (finding.code, finding.severity) == (code, "warning")
        assert inspection_report.exit_status(inspected) == 0


@pytest.mark.parametrize(
    ("code", "members"),
    [
        ("torch.tar", {"storages": NO_STORAGE + b"N."}),
        ("torch.tar_members", {"storages": NO_STORAGE, "more": b""}),
        ("torch.tar_format", {}),
    ],
)
def test_the_oldest_form_of_torch_is_never_weights_only_and_its_members_are_checked(
    code: str, members: dict[str, bytes], tmp_path: Path
) -> None:
    honest = {"storages": NO_STORAGE, "tensors": op.whole(op.int_(0)), "pickle": op.whole(op.argument({"a": 1}))}
    (tmp_path / "x.pt").write_bytes(tar(honest | members))
    found = judge(tmp_path / "x.pt")
    assert (found.status, set(found.codes)) == (1, {code, "torch.tar_format"})


def test_a_packed_member_that_is_no_stream_cannot_be_unpacked(tmp_path: Path) -> None:
    found = judge(CASES["zip bomb: deflated rubbish"].make(tmp_path))
    assert (found.status, set(found.codes)) == (1, {"pickle.damaged", "zip.packed"})


def test_a_sparse_layout_whose_indices_are_not_read_could_not_be_checked(fixtures: Path) -> None:
    found = judge(fixtures / "sparse_rows.pt")
    assert (found.status, found.codes) == (2, ("tensor.sparse",))


@pytest.mark.parametrize(
    ("code", "limit", "most", "data"),
    [
        ("gguf.limit", "GGUF_ITEMS", 1, honest_files.GGUF),
        ("pickle.limit", "TENSORS", 0, GOOD_ZIP),
        ("tar.limit", "TAR_MEMBERS", 1, MEMBERS),
        ("zip.bomb", "ZIP_TOTAL", 1000, zipped({"m/data.pkl": pickled(b"N" + b"0N" * 5000)}, compress=True)),
        ("zip.limit", "ZIP_MEMBERS", 2, GOOD_ZIP),
    ],
)  # fmt: skip
def test_beyond_a_limit_of_the_tool_the_answer_is_could_not_check(
    code: str, limit: str, most: int, data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, limit, most)
    if code == "zip.bomb":
        monkeypatch.setattr(limits, "ZIP_RATIO", 5)
    (tmp_path / "x").write_bytes(data)
    found = judge(tmp_path / "x")
    assert found.status == 2 and code in found.codes, found


def test_a_row_of_more_entries_than_are_read_could_not_be_checked(tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(old_torch(op.whole(op.int_(10_001))))
    found = judge(tmp_path / "x.pt")
    # That the old form is not weights-only is known all the same.
    assert (found.status, found.codes) == (1, ("torch.tar_format", "tar.limit"))


@pytest.mark.parametrize("change", ["grows", "shrinks"])
def test_a_file_that_changes_while_it_is_read_could_not_be_checked(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(GOOD_ZIP)
    original = source.sha256

    def meanwhile(read: source.Source) -> str:
        os.truncate(path, len(GOOD_ZIP) + (100 if change == "grows" else -100))
        return original(read)

    monkeypatch.setattr(inspection, "sha256", meanwhile)
    found = judge(path)
    assert found.status == 2 and set(found.codes) == {"file.changed"}


def compared(tmp_path: Path, one: bytes, other: bytes) -> tuple[int, Any]:
    (tmp_path / "one").write_bytes(one)
    (tmp_path / "other").write_bytes(other)
    with inspection.opened(str(tmp_path / "one")) as a, inspection.opened(str(tmp_path / "other")) as b:
        comparison.compare(a.content, b.content, "other")
        (finding,) = a.content.findings
        return inspection_report.exit_status(a), finding


def test_a_checkpoint_is_compared_with_a_safe_one_only(tmp_path: Path) -> None:
    status, finding = compared(tmp_path, GOOD_ZIP, GOOD_ZIP[:-10])
    assert (status, finding.code, finding.got) == (2, "compare.other", "damaged")


def test_a_tensor_of_another_shape_is_shown_with_both(tmp_path: Path) -> None:
    one, other = (safetensors({"w": entry("U8", shape, 0, 6)}, bytes(6)) for shape in ([2, 3], [6]))
    status, finding = compared(tmp_path, one, other)
    assert (status, finding.code) == (1, "compare.tensor")
    assert (finding.pointer, finding.got, finding.want) == ("w", "U8 [2, 3]", "U8 [6]")


def convert(tmp_path: Path, data: bytes, name: str = "new.safetensors") -> Refusal:
    (tmp_path / "x").write_bytes(data)
    with inspection.opened(str(tmp_path / "x")) as inspected, pytest.raises(Refusal) as caught:
        conversion.convert(inspected, str(tmp_path / name), [])
    assert os.listdir(tmp_path) == ["x"]
    return caught.value


@pytest.mark.parametrize(
    ("code", "status", "data", "name"),
    [
        ("convert.kind", 1, safetensors({}), "new.safetensors"),
        ("convert.name", 1, GOOD_ZIP, "new.pt"),
        ("convert.names", 1, torch_file(same_name("0", "1"), {"0": bytes(24), "1": bytes(24)}), "new.safetensors"),
        ("convert.names", 1, torch_file(state_dict(__metadata__=tensor())), "new.safetensors"),
        ("convert.packed", 2, PACKED, "new.safetensors"),
    ],
)  # fmt: skip
def test_what_stands_in_the_way_of_a_conversion_is_named(
    code: str, status: int, data: bytes, name: str, tmp_path: Path
) -> None:
    refusal = convert(tmp_path, data, name)
    assert ([finding.code for finding in refusal.findings], refusal.exit_status) == ([code], status)


def test_a_disk_that_keeps_other_bytes_than_were_written_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = atomic_file.write_all
    monkeypatch.setattr(
        atomic_file, "write_all", lambda handle, data: original(handle, data.replace(b"\x80?", b"\x81?"))
    )
    refusal = convert(tmp_path, GOOD_ZIP)
    assert ([finding.code for finding in refusal.findings], refusal.exit_status) == (["convert.read_back"], 2)


def test_every_code_of_the_corpus_stands_in_the_catalogue(tmp_path: Path) -> None:
    known, unknown = catalogue(), set()
    for index, case in enumerate(CASES.values()):
        if "bomb" not in case.kind:
            (tmp_path / str(index)).mkdir()
            unknown |= set(judge(case.make(tmp_path / str(index))).codes) - known.keys()
    assert unknown == set()

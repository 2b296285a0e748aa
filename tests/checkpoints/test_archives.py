"""Zip, tar and torch archives are believed only where every record agrees with every other."""

from __future__ import annotations

import io
import struct
import tarfile
from pathlib import Path

import pytest

from .judging import judge
from .writing import CALL, pickled, state_dict, storage, tensor, torch_file, zipped

GOOD = torch_file(state_dict(w=tensor()))


@pytest.fixture
def written(tmp_path: Path):
    def write(data: bytes, name: str = "x.pt") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def test_a_file_in_torch_layout_passes_stored_and_packed(written) -> None:
    assert judge(written(GOOD)).status == 0
    members = {"m/data.pkl": state_dict(w=tensor()), "m/data/0": bytes(24)}
    assert judge(written(zipped(members, compress=True))).status == 0


@pytest.mark.parametrize("cut", [1, 10, 22, 100, 300])
def test_a_cut_file_never_passes(cut: int, written) -> None:
    assert judge(written(GOOD[:-cut])).status != 0


def test_no_changed_bit_of_a_torch_file_passes_unless_readers_ignore_it(written) -> None:
    passed = []
    for index in range(len(GOOD) * 8):
        data = bytearray(GOOD)
        data[index // 8] ^= 1 << index % 8
        if judge(written(bytes(data))).status == 0:
            passed.append(index // 8)
    # What stays: versions, dates, systems and attributes in headers, which no reader takes anything from.
    ignored = set()
    for signature, fields in ((b"PK\x03\x04", [(4, 6), (10, 14)]), (b"PK\x01\x02", [(4, 8), (12, 16), (36, 42)])):
        start = GOOD.find(signature)
        while start >= 0:
            for first, last in fields:
                ignored |= set(range(start + first, start + last))
            start = GOOD.find(signature, start + 1)
    assert set(passed) <= ignored


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda d: b"#" + d, "zip.leading"),
        (lambda d: d + b"\0", "zip.trailing"),
        (lambda d: d + d, "zip.end_records"),
        (lambda d: d.replace(struct.pack("<6f", *range(6)), struct.pack("<6f", *range(1, 7))), "zip.checksum"),
        (lambda d: d[:6] + b"\x01" + d[7:], "zip.header"),
        (lambda d: d.replace(b"m/version", b"m/versiom", 1), "zip.names_differ"),
    ],
)
def test_records_that_disagree_are_refused(change, code: str, written) -> None:
    found = judge(written(change(GOOD)))
    assert found.status == 1
    assert code in found.codes or (code == "zip.leading" and "kind.ambiguous" in found.codes), found


@pytest.mark.parametrize("name", ["../x", "/x", "a/../x", "a\\x", "C:x", "a//x", "./x", "x\x01", "x."])
def test_member_names_that_leave_the_folder_are_refused(name: str, written) -> None:
    assert "zip.name" in judge(written(zipped({"m/data.pkl": pickled(b"N"), name: b""}))).codes


@pytest.mark.parametrize(
    ("one", "other"), [("m/A", "m/a"), ("m/caf\u00e9", "m/cafe\u0301"), ("m/stra\u00dfe", "m/STRASSE")]
)
def test_two_members_of_one_name_are_refused(one: str, other: str, written) -> None:
    assert "zip.same_name" in judge(written(zipped({one: b"1", other: b"2"}))).codes


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (torch_file(state_dict(w=tensor()), storages={}), "torch.no_storage"),
        (torch_file(state_dict(w=tensor()), storages={"0": bytes(20)}), "torch.storage_size"),
        (torch_file(state_dict(w=tensor()), storages={"0": bytes(28)}), "torch.storage_size"),
        (torch_file(state_dict(w=tensor()), storages={"0": bytes(24), "1": b""}), "torch.unused_storage"),
        (torch_file(state_dict(w=tensor(offset=1))), "tensor.outside"),
        (torch_file(state_dict(w=tensor(stride=(4, 1)))), "tensor.outside"),
        (torch_file(state_dict(w=tensor(key="1"), v=tensor())), "torch.no_storage"),
        (torch_file(state_dict(w=tensor(), v=tensor(numel=5))), "pickle.persistent_id"),
        (torch_file(pickled(storage().replace(b"storage", b"modules"))), "pickle.persistent_id"),
        (torch_file(state_dict(w=tensor()) + b"."), "pickle.trailing"),
        (torch_file(state_dict(w=tensor()), more={"byteorder": b"middle"}), "torch.note"),
        (torch_file(state_dict(w=tensor()), more={"evil.pkl": pickled(CALL)}), "torch.unknown_member"),
        (torch_file(state_dict(w=tensor()), more={"code/a.py": b""}), "torch.program"),
        (torch_file(pickled(CALL)), "pickle.unsafe_call"),
        (zipped({"m/byteorder": b"little"}), "torch.no_pickle"),
        (zipped({"m/data.pkl": pickled(b"}"), "n/data.pkl": pickled(b"}")}), "torch.folders"),
    ],
)
def test_a_torch_file_that_does_not_fit_together_is_refused(data: bytes, code: str, written) -> None:
    found = judge(written(data))
    assert found.status == 1
    assert code in found.codes, found


def test_a_zip_of_something_else_could_not_be_checked(written) -> None:
    assert judge(written(zipped({"a.txt": b"a"}), "x.zip")).status == 2
    assert judge(written(zipped({"a.txt": b"a"}), "x.pt")).codes == ("kind.archive", "kind.mismatch")


def old_tar(pickle: bytes, **changes: bytes) -> bytes:
    """The tar file of the first versions of torch: one storage of 6 floats, one tensor."""
    kind = b"ctorch\nFloatStorage\n"
    storages = pickled(b"K\x01") + pickled(b"(K\x07X\x03\x00\x00\x00cpu" + kind + b"t") + struct.pack("<q", 6)
    storages += struct.pack("<6f", *range(6)) + pickled(b"]")
    tensors = pickled(b"K\x01") + pickled(b"(K\x08K\x07ctorch\nFloatTensor\nt")
    tensors += struct.pack("<ii2q2qq", 2, 0, 2, 3, 3, 1, 0)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in ({"storages": storages, "tensors": tensors, "pickle": pickle} | changes).items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def test_the_old_tar_form_is_read_and_is_not_weights_only(written) -> None:
    from _skill.checkpoints import inspection

    path = written(old_tar(pickled(b"}X\x01\x00\x00\x00wX\x01\x00\x00\x008Qs")))
    with inspection.opened(str(path)) as inspected:
        content = inspected.content
    assert (content.kind, [(t.name, t.shape) for t in content.tensors]) == ("torch_tar", [("w", (2, 3))])
    assert content.verdict == "not_weights_only", content.findings


@pytest.mark.parametrize(
    ("data", "verdict"),
    [
        (old_tar(pickled(CALL)), "unsafe"),
        (old_tar(pickled(b"N"), storages=pickled(CALL)), "unsafe"),
        (old_tar(pickled(b"N"), tensors=pickled(b"K\x02")), "damaged"),
        (old_tar(pickled(b"N"), **{"../x": b""}), "unsafe"),
        (old_tar(pickled(b"N"))[:-1024] + b"x" * 1024, "ambiguous"),
        (old_tar(pickled(b"N")) + zipped({"m/data.pkl": pickled(CALL)}), "ambiguous"),
    ],
)
def test_an_old_tar_with_anything_else_is_refused(data: bytes, verdict: str, written) -> None:
    found = judge(written(data, "x.tar"))
    assert (found.status, found.verdict) == (1, verdict), found

"""Files that torch itself wrote are read as torch reads them, and converted byte for byte."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path

import pytest
from safetensors import safe_open

from _skill.checkpoints import conversion, inspection
from _skill.checkpoints.content import SAFE
from _skill.findings import Refusal

from .judging import judge
from .writing import sizes, state_dict, tensor, torch_file, zipped

DTYPES = {
    "float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
    "int16": "I16", "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64", "bool": "BOOL",
    "complex64": "C64", "complex128": "C128", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "qint8": "QI8",
}  # fmt: skip
NOT_SAFE = {
    "numpy_scalar": "not_weights_only",
    "numpy_array": "not_weights_only",
    "path": "not_weights_only",
    "legacy_numpy_scalar": "not_weights_only",
    "sparse_rows": "could_not_check",
}
NAMES = json.loads((Path(__file__).parent / "fixtures/expected.json").read_text(encoding="utf-8"))
CONVERTED = [
    "state_dict", "plain", "ordered", "disjoint", "training", "nested", "empty", "parameter", "with_attribute",
    "module_prefix", "compiled_prefix", "averaged", "dtypes", "legacy_state_dict", "legacy_training", "legacy_dtypes",
    "legacy_empty",
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_tensor_is_found_with_its_shape_and_dtype(name: str, fixtures: Path) -> None:
    with inspection.opened(str(fixtures / f"{name}.pt")) as inspected:
        content = inspected.content
    assert content.verdict == NOT_SAFE.get(name, SAFE), content.findings
    found = {tensor.name: [tensor.dtype, list(tensor.shape)] for tensor in content.tensors if "<" not in tensor.name}
    assert found == {key: [DTYPES[of["dtype"]], of["shape"]] for key, of in NAMES[name].items()}


@pytest.mark.parametrize("name", CONVERTED)
def test_a_converted_file_holds_the_bytes_that_torch_holds(name: str, fixtures: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.safetensors"
    with inspection.opened(str(fixtures / f"{name}.pt")) as inspected:
        written = conversion.convert(inspected, str(out), [])
    assert judge(out).status == 0
    assert written.tensors == len(NAMES[name])
    prefixes = ("_orig_mod.", "module.") if "prefix" in name or name == "averaged" else ()
    assert digests(out) == {strip(key, prefixes): of["sha256"] for key, of in NAMES[name].items()}


@pytest.mark.parametrize("name", ["views", "legacy_views"])
def test_strided_views_are_copied_in_order(name: str, fixtures: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.safetensors"
    with inspection.opened(str(fixtures / f"{name}.pt")) as inspected:
        conversion.convert(inspected, str(out), ["t", "step2", "last"])
    assert digests(out) == {key: of["sha256"] for key, of in NAMES[name].items()}


def test_big_endian_storages_are_swapped(fixtures: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.safetensors"
    with inspection.opened(str(fixtures / "big_endian.pt")) as inspected:
        assert inspected.content.details["byteorder"] == "big"
        big = inspected.content.storages[inspected.content.tensors[0].storage].source
        assert big is not None
        assert big.read(0, 12) == bytes([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2])
        conversion.convert(inspected, str(out), [])
    with safe_open(out, "numpy") as read:
        assert read.get_tensor("w").tolist() == [0, 1, 2]
        assert read.get_tensor("z").tolist() == [1 + 2j]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("tied", "convert.shared"),
        ("sparse", "convert.tensor"),
        ("quantized", "convert.tensor"),
        ("channels", "convert.tensor"),
        ("meta", "convert.tensor"),
        ("conjugate", "convert.tensor"),
        ("complex128", "convert.tensor"),
        ("no_tensors", "convert.empty"),
        ("numpy_scalar", "convert.not_safe"),
        ("program", "convert.not_safe"),
    ],
)
def test_what_safetensors_cannot_hold_is_refused_and_nothing_is_written(
    name: str, code: str, fixtures: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.safetensors"
    with inspection.opened(str(fixtures / f"{name}.pt")) as inspected, pytest.raises(Refusal) as refused:
        conversion.convert(inspected, str(out), [])
    assert refused.value.findings[0].code == code
    assert not list(tmp_path.iterdir())


def test_of_tied_tensors_the_chosen_one_is_kept_and_the_tie_is_recorded(fixtures: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.safetensors"
    with inspection.opened(str(fixtures / "tied.pt")) as inspected:
        written = conversion.convert(inspected, str(out), ["b"])
    assert written.left_out == ["a"]
    with safe_open(out, "numpy") as read:
        assert sorted(read.keys()) == ["b", "c"]
        assert json.loads(read.metadata()["tied"]) == {"a": "b"}


def test_a_program_is_not_weights_whatever_it_computes(fixtures: Path) -> None:
    found = judge(fixtures / "program.pt")
    assert (found.status, found.verdict, found.kind) == (1, "unsafe", "torchscript")
    assert "torch.program" in found.codes


def test_another_pickle_protocol_is_safe_but_named(fixtures: Path) -> None:
    found = judge(fixtures / "protocol_4.pt")
    assert (found.status, found.codes) == (0, ("pickle.protocol",))


@pytest.mark.parametrize(("index", "status"), [(0, 0), (2, 0), (3, 1), (-1, 1), (2**62, 1)])
def test_every_index_of_a_sparse_tensor_lies_inside_its_shape(
    index: int, status: int, fixtures: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(fixtures / "sparse.pt") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    (indices,) = [name for name, data in members.items() if len(data) == 6 * 8]
    members[indices] = struct.pack("<6q", 0, 1, index, 0, 1, 2)
    path = tmp_path / "x.pt"
    path.write_bytes(zipped(members))
    found = judge(path)
    assert found.status == status
    assert status == 0 or found.codes == ("tensor.indices",)


def test_a_view_that_repeats_its_bytes_without_end_is_safe_to_load_and_not_copied(tmp_path: Path) -> None:
    endless = tensor((2,), (0,)).replace(sizes(2), b"(\x8a\x07" + (2**48).to_bytes(7, "little") + b"t")
    path = tmp_path / "x.pt"
    path.write_bytes(torch_file(state_dict(w=endless)))
    with inspection.opened(str(path)) as inspected, pytest.raises(Refusal) as refused:
        assert inspected.content.verdict == SAFE
        conversion.convert(inspected, str(tmp_path / "x.safetensors"), [])
    assert (refused.value.exit_status, refused.value.findings[0].code) == (2, "convert.scattered")
    assert [path.name for path in tmp_path.iterdir()] == ["x.pt"]


def digests(path: Path) -> dict[str, str]:
    import hashlib

    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__")
    data = raw[8 + length :]
    return {name: hashlib.sha256(data[slice(*entry["data_offsets"])]).hexdigest() for name, entry in header.items()}


def strip(name: str, prefixes: tuple[str, ...]) -> str:
    for prefix in prefixes:
        name = name.removeprefix(prefix)
    return name

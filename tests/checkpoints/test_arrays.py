"""numpy and GGUF files are read to their last byte; arrays of objects are pickles and treated so."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from _skill.checkpoints import conversion, inspection, npy_fields

from .judging import judge
from .writing import CALL, pickled


def npy(array: np.ndarray, **options: bool) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("code", ["<f4", ">f8", "?", "i1", "<u2", "<c8", "<f2", "S5", "U3", "<M8[s]", "V7", "<f8"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (2, 0, 1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_plain_array_passes(code: str, shape: tuple[int, ...], order: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(npy(np.zeros(shape, code, order=order)))
    assert judge(path).status == 0


FIELDS = st.recursive(
    st.sampled_from(["<f4", "i1", "S3", "<U2", "<M8[ns]", ">i8", "?"]),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(
        lambda kinds: [(f"f {index}", kind) for index, kind in enumerate(kinds)]
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(FIELDS, st.booleans())
def test_the_size_of_records_is_that_of_numpy(fields: object, align: bool) -> None:
    dtype = np.dtype(fields, align=align)
    described = np.lib.format.dtype_to_descr(dtype)
    code = described if isinstance(described, str) else repr(described)
    assert npy_fields.width(code) == dtype.itemsize


@pytest.mark.parametrize("change", [b"\0", b"x" * 100])
def test_bytes_after_the_array_are_refused(change: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(npy(np.zeros(3)) + change)
    assert judge(path).codes == ("npy.size",)


def test_an_array_of_objects_is_not_weights_only_and_a_call_in_it_is_unsafe(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    good = npy(np.array([{"a": 1}], object), allow_pickle=True)
    path.write_bytes(good)
    assert judge(path).verdict == "not_weights_only"
    path.write_bytes(good[: good.index(b"\n") + 1] + pickled(CALL))
    assert judge(path).verdict == "unsafe"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_archives_pass_and_one_with_objects_does_not(save, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save(path, a=np.arange(3), b=np.ones((200, 200), np.float32), c=np.array("x"))
    assert judge(path).status == 0
    save(path, a=np.arange(3), b=np.array([None]))
    assert judge(path).verdict == "not_weights_only"


def test_a_long_packed_array_is_read_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.zeros(4_000_000))
    with inspection.opened(str(path)) as inspected:
        assert [tensor.shape for tensor in inspected.content.tensors] == [(4_000_000,)]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("code", ["<f4", ">f4", ">i8", "<c8", ">c8", "?"])
def test_an_array_is_converted_with_its_values(order: str, code: str, tmp_path: Path) -> None:
    array = np.arange(24).reshape(2, 3, 4).astype(code, order=order)
    path, out = tmp_path / "a.npy", tmp_path / "a.safetensors"
    path.write_bytes(npy(array))
    with inspection.opened(str(path)) as inspected:
        conversion.convert(inspected, str(out), [])
    assert np.array_equal(load_file(out)["array"], array)


STRIDES = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), min_size=1, max_size=4)


@settings(max_examples=150)
@given(STRIDES, st.integers(0, 5), st.sampled_from(["<u1", "<u2", "<f4", "<f8"]))
def test_any_view_is_copied_as_numpy_copies_it(tmp_path_factory, dimensions, offset: int, code: str) -> None:
    import os

    from _skill.checkpoints import tensor_bytes
    from _skill.checkpoints.content import Storage, Tensor
    from _skill.checkpoints.source import Source

    shape = tuple(size for size, _ in dimensions)
    stride = tuple(step for _, step in dimensions)
    dtype = {"<u1": "U8", "<u2": "U16", "<f4": "F32", "<f8": "F64"}[code]
    memory = np.arange(256).astype(code)
    view = np.lib.stride_tricks.as_strided(
        memory[offset:], shape, tuple(step * memory.itemsize for step in stride), writeable=False
    )
    path = tmp_path_factory.mktemp("v") / "raw"
    path.write_bytes(memory.tobytes())
    handle = os.open(path, os.O_RDONLY)
    try:
        storage = Storage("0", Source(handle, 0, memory.nbytes), memory.nbytes)
        copied = b"".join(tensor_bytes.blocks(Tensor("t", dtype, shape, stride, "0", offset), storage))
    finally:
        os.close(handle)
    assert copied == np.ascontiguousarray(view).tobytes()


def string(words: str) -> bytes:
    return struct.pack("<Q", len(words.encode())) + words.encode()


def gguf(count: int = 1, kind: int = 0, size: int = 8, offset: int = 0, data: int = 32, **change: bytes) -> bytes:
    head = change.get("start", b"GGUF" + struct.pack("<I", 3)) + struct.pack("<QQ", count, 2)
    head += string("general.name") + struct.pack("<I", 8) + string("tiny")
    head += change.get("pair", string("a") + struct.pack("<IIQ", 9, 4, 3) + bytes(12))
    head += string("w") + struct.pack("<IQIQ", 1, size, kind, offset)
    return head + bytes(-len(head) % 32) + bytes(data)


def test_a_gguf_file_is_read_with_its_metadata(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf())
    with inspection.opened(str(path)) as inspected:
        content = inspected.content
    assert content.verdict == "safe", content.findings
    assert content.metadata == {"general.name": "tiny", "a": "an array of 3"}
    assert [(tensor.name, tensor.dtype, tensor.shape) for tensor in content.tensors] == [("w", "F32", (8,))]
    path.write_bytes(gguf(kind=2, size=32, data=18))
    assert judge(path).status == 0


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (gguf(count=1 << 60), 1),
        (gguf(count=2), 1),
        (gguf(size=1 << 61), 1),
        (gguf(offset=1), 1),
        (gguf(offset=32), 1),
        (gguf(data=31), 1),
        (gguf(data=64), 1),
        (gguf(kind=99), 1),
        (gguf(kind=2, size=33), 1),
        (gguf(start=b"GGUF\0\0\0\x03"), 2),
        (gguf(pair=struct.pack("<Q", 1 << 62)), 1),
        (gguf(pair=string("a") + struct.pack("<IIQ", 9, 4, 1 << 62)), 1),
        (gguf(pair=string("a") + struct.pack("<IIQ", 9, 9, 1 << 62)), 1),
        (gguf(pair=string("general.name") + struct.pack("<I", 8) + string("x")), 1),
        (gguf(pair=string("general.alignment") + struct.pack("<II", 4, 0)), 1),
    ],
)
def test_a_gguf_file_that_does_not_fit_together_is_refused(data: bytes, status: int, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(data)
    assert judge(path).status == status

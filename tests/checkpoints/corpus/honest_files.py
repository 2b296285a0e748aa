"""Honest files: written by numpy, safetensors and pickle now, and by torch's formats as torch writes them.

None may be refused. Those that a weights-only load would not take for a harmless reason (a numpy scalar beside the
weights, a defaultdict) are exit 1 with the verdict `not_weights_only`, and never called unsafe.
"""

from __future__ import annotations

import collections
import datetime
import io
import pickle
import pickletools
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import safetensors.numpy

from . import opcodes as op
from . import torch_pickles
from .arrays import npy
from .cases import Case
from .torch_pickles import data, dict_of, state_dict, tensor
from .zips import DEFLATED, Member, torch_archive

FINE = frozenset({0})
SAFE = frozenset({"safe"})
REFUSED = frozenset({1})
NOT_WEIGHTS_ONLY = frozenset({"not_weights_only"})


def _words(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf(
    pairs: list[bytes], tensors: list[tuple[str, list[int], int, bytes]], version: int = 3, align: int = 32
) -> bytes:
    """A whole GGUF file: pairs as bytes; tensors as name, sizes, type, bytes."""
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs)) + b"".join(pairs)
    offset, body = 0, b""
    for name, sizes, kind, content in tensors:
        out += _words(name) + struct.pack("<I", len(sizes)) + b"".join(struct.pack("<Q", size) for size in sizes)
        out += struct.pack("<IQ", kind, offset)
        content += bytes(-len(content) % align)
        body += content
        offset += len(content)
    return out + bytes(-len(out) % align) + body


def pair(key: str, kind: int, value: bytes) -> bytes:
    """One key of a GGUF file and its value."""
    return _words(key) + struct.pack("<I", kind) + value


GGUF = gguf([pair("general.architecture", 8, _words("mlp"))], [("w", [4, 2], 0, bytes(32))])


def legacy_pickle() -> bytes:
    """A state dict for torch's old format."""

    def old(key: str, shape: tuple[int, ...]) -> bytes:
        elements = torch_pickles.count(shape)
        new = torch_pickles.storage(key, "float32", elements)
        return tensor(key, "float32", shape).replace(new, torch_pickles.legacy_storage(key, "float32", elements))

    return op.whole(dict_of({"weight": old("0", (3, 4)), "bias": old("1", (3,))}, ordered=True))


LEGACY = torch_pickles.legacy_file(
    legacy_pickle(), {"0": ("float32", data("float32", 12)), "1": ("float32", data("float32", 3))}
)


def _safetensors() -> Iterator[tuple[str, bytes]]:
    for dtype in ("bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"):
        yield f"dtype {dtype}", safetensors.numpy.save({"w": np.ones((3, 2), dtype), "b": np.zeros(5, dtype)})
    for shape in ((), (0,), (1,), (0, 3), (2, 0, 4), (1, 1, 1, 1), (7,), (3, 5, 2)):
        yield f"shape {shape}", safetensors.numpy.save({"w": np.zeros(shape, np.float32), "v": np.ones(shape, np.int8)})
    yield "nothing", safetensors.numpy.save({})
    yield (
        "metadata",
        safetensors.numpy.save({"w": np.ones(3)}, metadata={"format": "pt", "epoch": "3", "note": "ünïcode 名"}),
    )
    yield "metadata alone", safetensors.numpy.save({}, metadata={"a": "b"})
    yield "many", safetensors.numpy.save({f"layers.{i}.weight": np.full(3, i, np.float32) for i in range(700)})
    yield (
        "names",
        safetensors.numpy.save(
            {name: np.ones(2) for name in ("a b", "ü", "名.w", "a/b", "a\\b", "x" * 300, "w:0", "0")}
        ),
    )
    yield (
        "mixed dtypes",
        safetensors.numpy.save(
            {"a": np.ones(3, "u1"), "b": np.ones(3, "f8"), "c": np.ones(1, "f2"), "d": np.ones(5, "i4")}
        ),
    )
    entry = {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}
    import json

    text = json.dumps({"w": entry}).encode()
    yield "bfloat16, header not padded", struct.pack("<Q", len(text)) + text + bytes(8)
    yield "spaces after the header", struct.pack("<Q", len(text) + 40) + text + b" " * 40 + bytes(8)
    for kind in ("F8_E4M3", "F8_E5M2"):
        text = json.dumps({"w": {"dtype": kind, "shape": [4], "data_offsets": [0, 4]}}).encode()
        yield kind, struct.pack("<Q", len(text)) + text + bytes(4)


def _arrays() -> Iterator[tuple[str, bytes]]:
    def saved(array: Any) -> bytes:
        out = io.BytesIO()
        np.save(out, array, allow_pickle=False)
        return out.getvalue()

    for dtype in (
        "?",
        "i1",
        "u1",
        "<i2",
        ">i4",
        "<i8",
        "<u8",
        "<f2",
        "<f4",
        ">f8",
        "<c8",
        "<c16",
        "S5",
        "<U7",
        "M8[ns]",
        "m8[s]",
        "V6",
        [("x", "<f4"), ("y", "<i2")],
        [("p", [("q", "<f8")]), ("r", "S3")],
        [("m", "<f4", (2, 3))],
    ):
        yield f"dtype {dtype}", saved(np.zeros(3, dtype))
    for shape in ((), (0,), (1,), (2, 3), (2, 0), (1,) * 10):
        yield f"shape {shape}", saved(np.ones(shape, np.float32))
    yield "Fortran order", saved(np.asfortranarray(np.ones((3, 4))))
    yield "aligned fields", saved(np.zeros(2, np.dtype([("a", "i1"), ("b", "<f8")], align=True)))
    yield "long header", saved(np.zeros(1, [(f"field{i}", "<f4") for i in range(3000)]))
    yield "unicode field", saved(np.zeros(1, [("größe", "<f4")]))
    yield "version 2", npy("<f4", (2,), bytes(8), version=(2, 0))
    yield "version 3", npy("<f4", (2,), bytes(8), version=(3, 0))


def _archives_of_arrays() -> Iterator[tuple[str, bytes]]:
    for packed in (False, True):
        for name, arrays in (
            ("one", {"a": np.ones(3)}),
            ("several", {"w": np.ones((3, 4), "f4"), "b": np.zeros(3), "n": np.array(7)}),
            ("large", {"w": np.arange(50_000, dtype="f4")}),
            ("dotted names", {"layer.0.weight": np.ones(2), "ü": np.ones(1)}),
        ):
            out = io.BytesIO()
            (np.savez_compressed if packed else np.savez)(out, **arrays)
            yield f"{name}{' packed' if packed else ''}", out.getvalue()


VALUES: dict[str, Any] = {
    "a dict": {"epoch": 3, "lr": 0.001, "name": "run", "best": None, "done": True},
    "nested": {"a": [1, [2, [3, {"b": (4, 5)}]]], "c": {"d": {"e": {}}}},
    "integers": [0, 1, -1, 255, 256, 65535, 65536, -(2**31), 2**31, 2**63, -(2**63), 2**100, 10**200],
    "floats": [0.0, -0.0, 1.5, float("inf"), float("-inf"), 1e-300, 3.141592653589793],
    "texts": ["", "a", "é", "名", "\U0001f400", "a\nb", "quote'\"", "back\\slash", "\0", "x" * 300, "y" * 70_000],
    "bytes": [b"", b"abc", bytes(range(256)), b"z" * 300, b"w" * 70_000],
    "a bytearray": bytearray(b"abc"),
    "sets": [{1, 2, 3}, frozenset({"a", "b"}), set(), {(1, 2), "x"}],
    "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ((((1,),),),)],
    "an ordered dict": collections.OrderedDict([("b", 1), ("a", 2)]),
    "a counter": collections.Counter("abracadabra"),
    "keys": {1: "a", (1, 2): "b", None: "c", 1.5: "d", b"k": "e", False: "f"},
    "a long list": list(range(5000)),
    "a large dict": {f"key{i}": i for i in range(3000)},
    "deep": [[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]],
    "nothing": None,
    "a number": 7,
    "a text": "hello",
    "metrics": [{"step": i, "loss": 1.0 / (i + 1), "tags": ["a", "b"]} for i in range(200)],
}
BEFORE_BYTES = ("bytes", "a bytearray", "sets", "keys")
SHARED: list[Any] = [["x"], {"k": "v"}]
VALUES["shared"] = [*SHARED, *SHARED, SHARED[0]]


def _pickles() -> Iterator[tuple[str, bytes]]:
    for index, (name, value) in enumerate(VALUES.items()):
        for protocol in {index % 6, (index + 3) % 6, 4}:
            if protocol > 2 or name not in BEFORE_BYTES:
                yield f"{name}, protocol {protocol}", pickle.dumps(value, protocol)
    yield "by the Python pickler", pickle._dumps(VALUES["nested"], 4)  # type: ignore[attr-defined]
    yield "by the Python pickler, protocol 0", pickle._dumps(VALUES["a dict"], 0)  # type: ignore[attr-defined]
    yield "optimized", pickletools.optimize(pickle.dumps(VALUES["metrics"], 4))


def _old_protocols() -> Iterator[tuple[str, bytes]]:
    """Protocols 0 to 2 have no opcode for bytes and sets: they call a function of codecs or builtins."""
    for name in BEFORE_BYTES:
        for protocol in (0, 1, 2):
            yield f"{name}, protocol {protocol}", pickle.dumps(VALUES[name], protocol)


def _not_weights_only() -> Iterator[tuple[str, bytes]]:
    for protocol in (0, 2, 3, 4, 5):
        yield f"an array, protocol {protocol}", pickle.dumps({"w": np.ones(3)}, protocol)
        yield f"a scalar, protocol {protocol}", pickle.dumps({"best": np.float64(1.5), "n": np.int64(3)}, protocol)
    yield "a Fortran array", pickle.dumps(np.asfortranarray(np.ones((2, 3))), 4)
    yield "an array of structures", pickle.dumps(np.zeros(2, [("a", "<f4"), ("b", "<i8")]), 4)
    yield "a defaultdict", pickle.dumps(collections.defaultdict(list, {"a": [1]}), 4)
    yield "a date", pickle.dumps({"when": datetime.datetime(2026, 11, 30, 12, 0)}, 4)


def _adam(parameters: list[tuple[str, tuple[int, ...]]], first: int) -> tuple[bytes, dict[str, bytes]]:
    """The state dict of an Adam optimizer."""
    storages: dict[str, bytes] = {}
    key = first

    def fresh(shape: tuple[int, ...]) -> bytes:
        nonlocal key
        elements = torch_pickles.count(shape)
        storages[str(key)] = data("float32", elements)
        key += 1
        return tensor(str(key - 1), "float32", shape)

    state = op.EMPTY_DICT + op.MARK
    for index, (_, shape) in enumerate(parameters):
        inner = {"step": fresh(()), "exp_avg": fresh(shape), "exp_avg_sq": fresh(shape)}
        state += b"K" + bytes([index]) + dict_of(inner)
    state += op.SETITEMS
    group = dict_of(
        {
            "lr": b"G" + struct.pack(">d", 1e-3),
            "betas": b"G" + struct.pack(">d", 0.9) + b"G" + struct.pack(">d", 0.999) + op.TUPLE2,
            "eps": b"G" + struct.pack(">d", 1e-8),
            "weight_decay": b"K\x00",
            "amsgrad": b"\x89",
            "maximize": b"\x89",
            "foreach": op.NONE,
            "capturable": b"\x89",
            "fused": op.NONE,
            "params": op.EMPTY_LIST
            + op.MARK
            + b"".join(b"K" + bytes([i]) for i in range(len(parameters)))
            + op.APPENDS,
        }
    )
    return dict_of({"state": state, "param_groups": op.EMPTY_LIST + group + op.APPEND}), storages


def _torch() -> Iterator[tuple[str, bytes]]:
    pickle_, storages = state_dict()
    yield "state dict", torch_archive(pickle_, storages)
    yield "another top folder", torch_archive(pickle_, storages, top="model_final-3")
    yield "no alignment", torch_archive(pickle_, storages, align=False)
    yield "torch 1.6: version only", torch_archive(pickle_, storages, notes={"version": b"3\n"})
    yield "torch 1.13", torch_archive(pickle_, storages, notes={"version": b"3\n", "byteorder": b"little"})
    yield (
        "torch 2.7 notes",
        torch_archive(
            pickle_,
            storages,
            notes={
                ".format_version": b"1",
                ".storage_alignment": b"64",
                "byteorder": b"little",
                "version": b"3\n",
                ".data/serialization_id": b"0" * 40,
            },
        ),
    )
    yield "big-endian", torch_archive(pickle_, storages, notes={"byteorder": b"big", "version": b"3\n"})
    for dtype in torch_pickles.STORAGES:
        body = op.whole(dict_of({"w": tensor("0", dtype, (2, 3)), "v": tensor("1", dtype, ())}))
        yield f"dtype {dtype}", torch_archive(body, {"0": data(dtype, 6), "1": data(dtype, 1)})
    for shape in ((0,), (1,), (0, 3), (2, 0, 5), (1, 1, 1), (2, 3, 4, 5)):
        body = op.whole(dict_of({"w": tensor("0", "float32", shape)}))
        yield f"shape {shape}", torch_archive(body, {"0": data("float32", torch_pickles.count(shape))})
    views = {
        "transposed": tensor("0", "float32", (4, 3), stride=(1, 4), elements=12),
        "a slice": tensor("0", "float32", (2,), offset=5, elements=12),
        "every other": tensor("0", "float32", (6,), stride=(2,), elements=12),
        "expanded": tensor("0", "float32", (5, 12), stride=(0, 1), elements=12),
        "a column": tensor("0", "float32", (3,), stride=(4,), offset=1, elements=12),
    }
    for name, view in views.items():
        yield f"view: {name}", torch_archive(op.whole(dict_of({"w": view})), {"0": data("float32", 12)})
    tied = {"embed.weight": tensor("0", "float32", (3, 4)), "head.weight": tensor("0", "float32", (3, 4))}
    yield "tied weights", torch_archive(op.whole(dict_of(tied, ordered=True)), {"0": data("float32", 12)})
    yield (
        "parameters",
        torch_archive(
            op.whole(dict_of({"w": tensor("0", "float32", (2,), parameter=True)})), {"0": data("float32", 2)}
        ),
    )
    yield (
        "needs gradients",
        torch_archive(
            op.whole(dict_of({"w": tensor("0", "float32", (2,), requires_grad=True)})), {"0": data("float32", 2)}
        ),
    )
    yield (
        "on a GPU",
        torch_archive(
            op.whole(dict_of({"w": tensor("0", "float32", (2,), location="cuda:0")})), {"0": data("float32", 2)}
        ),
    )
    yield "one tensor alone", torch_archive(op.whole(tensor("0", "int64", (3,))), {"0": data("int64", 3)})
    yield (
        "a list of tensors",
        torch_archive(
            op.whole(op.EMPTY_LIST + op.MARK + tensor("0", "int64", (3,)) + tensor("1", "float32", ()) + op.APPENDS),
            {"0": data("int64", 3), "1": data("float32", 1)},
        ),
    )
    yield "no tensor at all", torch_archive(op.whole(op.argument({"epoch": 3, "name": "run"})), {})
    metadata = op.argument({"_metadata": {"": {"version": 1}, "layer": {"version": 1}}})
    with_metadata = pickle_[:-1] + metadata + op.BUILD + op.STOP
    yield "state dict with its _metadata", torch_archive(with_metadata, storages)
    parameters = [("weight", (3, 4)), ("bias", (3,))]
    optimizer, more = _adam(parameters, 10)
    training = {
        "epoch": b"K\x05",
        "model": pickle_[2:-1],
        "optimizer": optimizer,
        "loss": b"G" + struct.pack(">d", 0.25),
        "args": op.argument({"lr": "1e-3", "seed": 7}),
        "best": op.NONE,
    }
    yield "training state with Adam", torch_archive(op.whole(dict_of(training)), {**storages, **more})
    many = {f"layers.{i}.weight": tensor(str(i), "float16", (2, 2)) for i in range(400)}
    yield (
        "many tensors",
        torch_archive(op.whole(dict_of(many, ordered=True)), {str(i): data("float16", 4) for i in range(400)}),
    )
    yield "protocol 4", torch_archive(op.proto(4) + pickle_[2:], storages)
    yield "with its folder entry", torch_archive(pickle_, storages, extra=[Member("archive/", b"")])
    yield (
        "repacked",
        torch_archive(
            pickle_, storages, align=False, change={"data.pkl": {"method": DEFLATED}, "data/0": {"method": DEFLATED}}
        ),
    )
    described = {}
    for name, content in {
        "data.pkl": pickle_,
        **{f"data/{k}": v for k, v in storages.items()},
        "version": b"3\n",
    }.items():
        after = b"PK\x07\x08" + struct.pack("<III", zlib.crc32(content), len(content), len(content))
        described[name] = {"flags": 0x808, "local_crc": 0, "local_size": 0, "local_packed_size": 0, "after": after}
    yield (
        "sizes behind the data, as torch writes",
        torch_archive(pickle_, storages, notes={"version": b"3\n"}, change=described),
    )
    yield "64-bit records", torch_archive(pickle_, storages, zip64=True)


def _gguf() -> Iterator[tuple[str, bytes]]:
    yield "one tensor", GGUF
    yield "no tensor", gguf([pair("general.architecture", 8, _words("llama"))], [])
    values = [
        pair("a.u8", 0, b"\7"),
        pair("a.i8", 1, b"\xff"),
        pair("a.u16", 2, struct.pack("<H", 7)),
        pair("a.i16", 3, struct.pack("<h", -7)),
        pair("a.u32", 4, struct.pack("<I", 7)),
        pair("a.i32", 5, struct.pack("<i", -7)),
        pair("a.f32", 6, struct.pack("<f", 0.5)),
        pair("a.bool", 7, b"\1"),
        pair("a.text", 8, _words("ünïcode")),
        pair("a.list", 9, struct.pack("<IQ", 4, 3) + bytes(12)),
        pair("a.texts", 9, struct.pack("<IQ", 8, 2) + _words("x") + _words("")),
        pair("a.u64", 10, bytes(8)),
        pair("a.i64", 11, bytes(8)),
        pair("a.f64", 12, struct.pack("<d", 1.5)),
        pair("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2000) + b"".join(_words(f"t{i}") for i in range(2000))),
    ]
    yield "every type of value", gguf(values, [("w", [4], 0, bytes(16))])
    yield (
        "several tensors",
        gguf(
            [pair("general.architecture", 8, _words("x"))],
            [("a.weight", [8, 2], 0, bytes(64)), ("b.weight", [4], 1, bytes(8)), ("c", [32], 8, bytes(34))],
        ),
    )
    yield (
        "another alignment",
        gguf(
            [pair("general.alignment", 4, struct.pack("<I", 64))],
            [("a", [4], 0, bytes(16)), ("b", [4], 0, bytes(16))],
            align=64,
        ),
    )
    yield "version 2", gguf([pair("general.architecture", 8, _words("x"))], [("a", [4], 0, bytes(16))], version=2)


def cases() -> Iterator[Case]:
    """All of them."""
    for kind, file, found in (
        ("safetensors", "x.safetensors", _safetensors()),
        ("npy", "x.npy", _arrays()),
        ("npz", "x.npz", _archives_of_arrays()),
        ("pickle", "x.pkl", _pickles()),
        ("torch", "x.pt", _torch()),
        ("gguf", "x.gguf", _gguf()),
    ):
        for name, content in found:
            yield Case(f"{kind}: {name}", kind, file, content, FINE, SAFE)
    yield Case("old torch: state dict", "old torch", "x.pt", LEGACY, FINE, SAFE)
    yield Case("torch without an ending", "torch", "checkpoint", torch_archive(*state_dict()), FINE, SAFE)
    yield Case("torch as bin", "torch", "pytorch_model.bin", torch_archive(*state_dict()), FINE, SAFE)
    yield Case("torch as ckpt", "torch", "last.ckpt", torch_archive(*state_dict()), FINE, SAFE)
    yield Case("torch in capitals", "torch", "LAST.PTH", torch_archive(*state_dict()), FINE, SAFE)
    for name, content in _old_protocols():
        yield Case(
            f"pickle: {name}", "pickle of an old protocol", "x.pkl", content, FINE | REFUSED, SAFE | NOT_WEIGHTS_ONLY
        )
    for name, content in _not_weights_only():
        yield Case(f"pickle: {name}", "pickle of known data", "x.pkl", content, REFUSED, NOT_WEIGHTS_ONLY)
    best = (
        op.global_("numpy.core.multiarray", "scalar")
        + op.global_("numpy", "dtype")
        + op.argument(("f8", False, True))
        + op.REDUCE
    )
    best += (
        op.argument((3, "<", None, None, None, -1, -1, 0))
        + op.BUILD
        + op.call("_codecs", "encode", ("\0" * 8, "latin1"))
        + op.TUPLE2
        + op.REDUCE
    )
    yield Case(
        "torch: numpy scalar beside the weights",
        "torch with known data",
        "x.pt",
        torch_archive(*state_dict(best)),
        REFUSED,
        NOT_WEIGHTS_ONLY,
    )

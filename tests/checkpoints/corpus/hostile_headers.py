"""Formats without code: headers that lie about sizes, overlap, leave holes, or ask for too much."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

from . import opcodes as op
from .arrays import npy
from .cases import ONLY_REFUSED, Case
from .zips import DEFLATED, Member, archive

BAD = op.whole(op.call("os", "getcwd", ()))


def safetensors(header: Any, data: bytes = b"", *, length: int | None = None, pad: bool = True) -> bytes:
    """The file; `header` may be text or bytes that are no JSON at all."""
    text = header if isinstance(header, bytes) else (header if isinstance(header, str) else json.dumps(header)).encode()
    if pad:
        text += b" " * (-len(text) % 8)
    return struct.pack("<Q", (len(text) if length is None else length) & (2**64 - 1)) + text + data


def entry(dtype: str, shape: list[Any], start: Any, end: Any) -> dict[str, Any]:
    """One tensor of a header."""
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def broken_safetensors() -> Iterator[tuple[str, bytes]]:
    """What the reference library refuses, and what it should."""
    good = entry("F32", [2], 0, 8)
    eight = bytes(8)
    yield "length 2^63", struct.pack("<Q", 1 << 63) + b"{}"
    yield "length 2^64-1", struct.pack("<Q", (1 << 64) - 1) + b"{}"
    yield "length 100000001", struct.pack("<Q", 100_000_001) + b"{}" + bytes(50)
    yield "length beyond the file", safetensors({"a": good}, eight, length=5000)
    yield "length too short", safetensors({"a": good}, eight, length=10)
    yield "length zero", safetensors("", b"", length=0)
    yield "length and nothing", struct.pack("<Q", 2)
    yield "seven bytes", b"\x02\0\0\0\0\0\0"
    yield "overlap", safetensors({"a": good, "b": entry("F32", [2], 4, 12)}, bytes(12))
    yield "same range twice", safetensors({"a": good, "b": good}, eight)
    yield "hole in front", safetensors({"a": entry("F32", [1], 4, 8)}, eight)
    yield "hole between", safetensors({"a": entry("F32", [1], 0, 4), "b": entry("F32", [1], 8, 12)}, bytes(12))
    yield "trailing bytes", safetensors({"a": good}, eight + b"x")
    yield "a pickle behind", safetensors({"a": good}, eight + BAD)
    yield "data too short", safetensors({"a": good}, eight[:-1])
    yield "no data", safetensors({"a": good})
    yield "shape of 2^80", safetensors({"a": entry("F32", [1 << 40, 1 << 40], 0, 8)}, eight)
    yield "shape that overflows to the right size", safetensors({"a": entry("F32", [1 << 63, 2, 2], 0, 0)})
    yield "shape and range disagree", safetensors({"a": entry("F32", [3], 0, 8)}, eight)
    yield "negative start", safetensors({"a": entry("F32", [1], -4, 0)})
    yield "end before start", safetensors({"a": entry("F32", [1], 8, 4)}, eight)
    yield "negative size", safetensors({"a": entry("F32", [-2], 0, 8)}, eight)
    yield "size as text", safetensors({"a": entry("F32", ["2"], 0, 8)}, eight)
    yield "size as 2.0", safetensors('{"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}}', eight)
    yield "size as true", safetensors('{"a":{"dtype":"F32","shape":[true],"data_offsets":[0,4]}}', bytes(4))
    yield "offset as 0.0", safetensors('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0.0,8]}}', eight)
    yield "offset as 1e1", safetensors('{"a":{"dtype":"U8","shape":[10],"data_offsets":[0,1e1]}}', bytes(10))
    yield (
        "offset of 2^64",
        safetensors(
            '{"a":{"dtype":"F32","shape":[2],"data_offsets":[18446744073709551616,18446744073709551624]}}', eight
        ),
    )
    yield "three offsets", safetensors({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4, 8]}}, eight)
    yield "unknown dtype", safetensors({"a": entry("F33", [2], 0, 8)}, eight)
    yield "dtype in lower case", safetensors({"a": entry("f32", [2], 0, 8)}, eight)
    yield "dtype as a number", safetensors({"a": {"dtype": 5, "shape": [2], "data_offsets": [0, 8]}}, eight)
    yield "dtype missing", safetensors({"a": {"shape": [2], "data_offsets": [0, 8]}}, eight)
    yield "shape missing", safetensors({"a": {"dtype": "F32", "data_offsets": [0, 8]}}, eight)
    yield "unknown key of a tensor", safetensors({"a": {**good, "module": "os"}}, eight)
    yield "tensor that is a list", safetensors({"a": [1, 2]})
    yield "header that is a list", safetensors([1])
    yield "header that is null", safetensors("null")
    yield "header that is a text", safetensors('"x"')
    yield (
        "duplicate key",
        safetensors(
            '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
            eight,
        ),
    )
    yield (
        "duplicate key escaped",
        safetensors(
            '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"\\u0061":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
            eight,
        ),
    )
    yield "duplicate dtype", safetensors('{"a":{"dtype":"F32","dtype":"F64","shape":[1],"data_offsets":[0,8]}}', eight)
    yield "metadata twice", safetensors('{"__metadata__":{},"__metadata__":{"x":"y"}}')
    yield "metadata that is a list", safetensors({"__metadata__": [1], "a": good}, eight)
    yield "metadata of numbers", safetensors({"__metadata__": {"x": 1}, "a": good}, eight)
    yield "metadata of objects", safetensors({"__metadata__": {"x": {"y": "z"}}, "a": good}, eight)
    yield "NaN", safetensors('{"a":{"dtype":"F32","shape":[NaN],"data_offsets":[0,8]}}', eight)
    yield "comment", safetensors('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}/*x*/}', eight)
    yield "trailing comma", safetensors('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},}', eight)
    yield "text after the header", safetensors('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}x', eight)
    yield "NULs after the header", safetensors(b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}\0\0', eight)
    yield "a pickle after the header", safetensors(json.dumps({"a": good}).encode() + BAD, eight)
    yield "spaces before the header", safetensors(b"   " + json.dumps({"a": good}).encode(), eight)
    yield "byte order mark", safetensors(b"\xef\xbb\xbf" + json.dumps({"a": good}).encode(), eight)
    yield "header that is not UTF-8", safetensors(b'{"\xff":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', eight)
    yield "UTF-16", safetensors(json.dumps({"a": good}).encode("utf-16"), eight)
    yield "deep header", safetensors('{"a":' * 100_000 + "1" + "}" * 100_000)
    yield "deep lists", safetensors('{"a":' + "[" * 200_000 + "]" * 200_000 + "}")
    yield (
        "endless digits",
        safetensors('{"a":{"dtype":"F32","shape":[' + "9" * 100_000 + '],"data_offsets":[0,8]}}', eight),
    )
    yield "many dimensions", safetensors({"a": entry("F32", [1] * 50_000, 0, 4)}, bytes(4))
    yield "unpaired surrogate", safetensors('{"\\ud800":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', eight)
    yield "F4 of half a byte", safetensors({"a": entry("F4", [3], 0, 2)}, bytes(2))


def broken_arrays() -> Iterator[tuple[str, bytes]]:
    """numpy's headers: objects, code, and sizes that lie."""
    yield "objects", npy("|O", (1,), BAD)
    yield "objects without a pickle", npy("|O", (1,), b"")
    yield "objects by another letter", npy("O", (1,), BAD)
    yield "objects of a harmless pickle", npy("|O", (1,), op.whole(op.NONE))
    yield "objects in a field", npy("[('a', '<f4'), ('b', '|O')]", (1,), BAD)
    yield "objects in a nested field", npy("[('a', [('b', '|O')])]", (1,), BAD)
    yield "objects in a subarray", npy("[('a', '|O', (2,))]", (1,), BAD)
    yield "header that is a call", npy("", (), b"", text="__import__('os').getcwd()")
    yield (
        "header that calls in a value",
        npy("", (), b"", text="{'descr': __import__('os').getcwd(), 'fortran_order': False, 'shape': ()}"),
    )
    yield (
        "header with a comprehension",
        npy("", (), b"", text="{'descr': '<f4', 'fortran_order': False, 'shape': tuple(x for x in [1])}"),
    )
    yield "header that adds", npy("", (), bytes(8), text="{'descr': '<f4', 'fortran_order': False, 'shape': (1+1,)}")
    yield "header that is a lambda", npy("", (), b"", text="(lambda: 1)()")
    yield "header with a missing key", npy("", (), b"", text="{'descr': '<f4', 'shape': ()}")
    yield (
        "header with another key",
        npy("", (), bytes(4), text="{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}"),
    )
    yield (
        "header with a key twice",
        npy("", (), bytes(4), text="{'descr': '<f4', 'descr': '|O', 'fortran_order': False, 'shape': ()}"),
    )
    yield "header that is a list", npy("", (), b"", text="['<f4', False, ()]")
    yield "header that is empty", npy("", (), b"", text="")
    yield "header that is deep", npy("", (), b"", text="(" * 5000 + ")" * 5000, version=(2, 0))
    yield (
        "header of a huge number",
        npy(
            "", (), b"", text="{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",)}", version=(2, 0)
        ),
    )
    yield "order that is a number", npy("", (), bytes(4), text="{'descr': '<f4', 'fortran_order': 1, 'shape': ()}")
    yield "shape that is a list", npy("", (), bytes(4), text="{'descr': '<f4', 'fortran_order': False, 'shape': [1]}")
    yield "shape of a truth", npy("", (), bytes(4), text="{'descr': '<f4', 'fortran_order': False, 'shape': (True,)}")
    yield "negative shape", npy("<f4", (-1,), bytes(4))
    yield "huge shape", npy("<f4", (1 << 62,), bytes(4))
    yield "shape that overflows", npy("<f4", (1 << 32, 1 << 32), b"")
    yield "many dimensions", npy("<f4", (1,) * 70, bytes(4))
    yield "data too short", npy("<f4", (4,), bytes(15))
    yield "data too long", npy("<f4", (4,), bytes(17))
    yield "a pickle behind", npy("<f4", (4,), bytes(16) + BAD)
    yield "another array behind", npy("<f4", (1,), bytes(4)) * 2
    yield "length beyond the file", npy("<f4", (1,), bytes(4), length=60000)
    yield "length of 4 GB", npy("<f4", (1,), bytes(4), version=(2, 0), length=0xFFFFFFFF)
    yield "length too short", npy("<f4", (1,), bytes(4), length=20)
    yield "version 9", npy("<f4", (1,), bytes(4), version=(9, 0))
    yield "version 0", npy("<f4", (1,), bytes(4), version=(0, 0))
    yield "version 1.9", npy("<f4", (1,), bytes(4), version=(1, 9))
    yield "unknown dtype", npy("<x9", (1,), bytes(9))
    yield "dtype of huge items", npy("<U4000000000", (1,), bytes(4))
    yield "dtype of a negative size", npy("|S-1", (1,), bytes(4))
    yield "dtype by a comma text", npy("f4,O", (1,), bytes(12))
    yield "dtype with a field twice", npy("[('a', '<f4'), ('a', '<f4')]", (1,), bytes(8))
    yield (
        "dtype with fields that overlap",
        npy(
            "",
            (),
            bytes(4),
            text="{'descr': {'names': ['a'], 'formats': ['O'], 'offsets': [0]}, 'fortran_order': False, 'shape': ()}",
        ),
    )
    yield (
        "header in another encoding",
        npy("", (), bytes(4), text="{'descr': '<f4', 'fortran_order': False, 'shape': (\uff11,)}", version=(3, 0)),
    )
    yield "magic only", b"\x93NUMPY"
    yield "magic and version", b"\x93NUMPY\x01\x00"


def broken_archives_of_arrays() -> Iterator[tuple[str, bytes]]:
    """npz: archives of arrays."""
    good = npy("<f4", (2,), bytes(8))
    yield "an array of objects", archive([Member("a.npy", good), Member("b.npy", npy("|O", (1,), BAD))])
    yield "an array of objects, packed", archive([Member("a.npy", npy("|O", (1,), BAD), method=DEFLATED)])
    yield "a pickle among arrays", archive([Member("a.npy", good), Member("b.pkl", BAD)])
    yield "a pickle named as an array", archive([Member("a.npy", BAD)])
    yield "a name that leaves", archive([Member("../a.npy", good)])
    yield "an array twice", archive([Member("a.npy", good), Member("a.npy", good)])
    yield "an array cut", archive([Member("a.npy", good[:-1])])
    yield "an array with more", archive([Member("a.npy", good + b"x")])
    yield "a wrong CRC", archive([Member("a.npy", good, crc=7)])
    yield "a bomb", archive([Member("a.npy", npy("<f4", (16 << 20,), bytes(64 << 20)), method=DEFLATED)])
    yield "an archive in it", archive([Member("a.npy", archive([Member("b.npy", good)]))])


def gguf(tensors: int, pairs: int, body: bytes = b"", version: int = 3, magic: bytes = b"GGUF") -> bytes:
    """The start of a GGUF file."""
    return magic + struct.pack("<IQQ", version, tensors & (2**64 - 1), pairs & (2**64 - 1)) + body


def words(value: str) -> bytes:
    """A GGUF text."""
    return struct.pack("<Q", len(value.encode())) + value.encode()


def broken_gguf() -> Iterator[tuple[str, bytes]]:
    """Counts and lengths that ask for too much, and offsets that lie."""
    tensor = words("w") + struct.pack("<IQIQ", 1, 8, 0, 0)
    yield "2^63 tensors", gguf(1 << 63, 0)
    yield "2^64-1 pairs", gguf(0, -1)
    yield "2^32 pairs", gguf(0, 1 << 32, bytes(100))
    yield "a million tensors", gguf(1_000_000, 0, bytes(100))
    yield "version 0", gguf(0, 0, version=0)
    yield "version 99", gguf(0, 0, version=99)
    yield "version of the other byte order", gguf(0, 0, version=3 << 24)
    yield "cut after the magic", b"GGUF"
    yield "cut in the counts", gguf(1, 1)[:-3]
    yield "key of 2^63 bytes", gguf(0, 1, struct.pack("<Q", 1 << 63))
    yield "text of 2^63 bytes", gguf(0, 1, words("k") + struct.pack("<IQ", 8, 1 << 63))
    yield "list of 2^63 items", gguf(0, 1, words("k") + struct.pack("<IIQ", 9, 0, 1 << 63))
    yield "lists in lists", gguf(0, 1, words("k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 50_000)
    yield "list of texts that is cut", gguf(0, 1, words("k") + struct.pack("<IIQ", 9, 8, 1000) + words("x"))
    yield "unknown type of value", gguf(0, 1, words("k") + struct.pack("<I", 99) + bytes(8))
    yield "truth that is 7", gguf(0, 1, words("k") + struct.pack("<IB", 7, 7))
    yield "key twice", gguf(0, 2, (words("k") + struct.pack("<IB", 0, 7)) * 2)
    yield "key that is not UTF-8", gguf(0, 1, struct.pack("<Q", 2) + b"\xff\xfe" + struct.pack("<IB", 0, 7))
    yield "tensor twice", gguf(2, 0, tensor * 2 + bytes(200))
    yield "tensor beyond the end", gguf(1, 0, words("w") + struct.pack("<IQIQ", 1, 8, 0, 1 << 40) + bytes(100))
    yield "tensor of 2^62 items", gguf(1, 0, words("w") + struct.pack("<IQIQ", 1, 1 << 62, 0, 0) + bytes(100))
    yield (
        "tensor that overflows",
        gguf(1, 0, words("w") + struct.pack("<IQQIQ", 2, 1 << 32, 1 << 32, 0, 0) + bytes(100)),
    )
    yield "tensor of 200 dimensions", gguf(1, 0, words("w") + struct.pack("<I", 200) + bytes(2000))
    yield "tensor of an unknown type", gguf(1, 0, words("w") + struct.pack("<IQIQ", 1, 8, 9999, 0) + bytes(100))
    yield "tensor that is not aligned", gguf(1, 0, words("w") + struct.pack("<IQIQ", 1, 8, 0, 3) + bytes(100))
    yield "tensor cut", gguf(1, 0, tensor)
    yield "alignment of zero", gguf(1, 1, words("general.alignment") + struct.pack("<II", 4, 0) + tensor + bytes(100))
    yield (
        "alignment of 2^31",
        gguf(1, 1, words("general.alignment") + struct.pack("<II", 4, 1 << 31) + tensor + bytes(100)),
    )
    yield "a pickle behind", gguf(0, 0, BAD)


def cases() -> Iterator[Case]:
    """All of them; what is not a whole file of its kind is always refused."""
    for name, data in broken_safetensors():
        yield Case(f"safetensors: {name}", "safetensors header", "x.safetensors", data)
    for name, data in broken_arrays():
        yield Case(f"npy: {name}", "numpy header", "x.npy", data)
    for name, data in broken_archives_of_arrays():
        yield Case(f"npz: {name}", "archive of arrays", "x.npz", data)
    for name, data in broken_gguf():
        yield Case(f"gguf: {name}", "GGUF header", "x.gguf", data)
    # The field case's list of a bomb and overlaps is a plain refusal, never "could not check".
    for name in (
        "length 2^63",
        "length 100000001",
        "overlap",
        "hole in front",
        "trailing bytes",
        "shape of 2^80",
        "negative start",
    ):
        data = dict(broken_safetensors())[name]
        yield Case(f"safetensors refused: {name}", "safetensors header", "x.safetensors", data, ONLY_REFUSED)

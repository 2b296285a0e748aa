"""The strict JSON reader: one meaning for every reader, bounded, never a crash."""

from __future__ import annotations

import gc
import json
import os
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _skill import strict_json
from _skill.findings import Finding, Refusal

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-strict_json.MAX_INTEGER, strict_json.MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=20,
)


def refusal(data: bytes | str) -> Finding:
    with pytest.raises(Refusal) as caught:
        strict_json.loads(data if isinstance(data, bytes) else data.encode(), "document")
    return caught.value.findings[0]


@given(VALUES)
def test_reads_what_the_standard_library_writes_with_the_same_kinds(value: Any) -> None:
    for written in (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value, indent=1)):
        read = strict_json.loads(written.encode(), "document")
        assert repr(read) == repr(json.loads(written))


@given(VALUES)
def test_both_writers_are_read_back_unchanged(value: Any) -> None:
    assert strict_json.loads(strict_json.canonical(value), "document") == value
    assert strict_json.loads(strict_json.pretty(value).encode(), "document") == value


@given(st.binary(max_size=200) | st.text('{}[]",:0123456789.eE+-truefalsn\\u \n', max_size=60).map(str.encode))
def test_any_bytes_give_a_document_or_a_refusal_and_never_more_than_the_standard_accepts(data: bytes) -> None:
    try:
        strict_json.loads(data, "document")
    except Refusal:
        return
    json.loads(data.decode("utf-8"))


@pytest.mark.parametrize(
    ("text", "code", "pointer"),
    [
        ('{"num_envs":8,"num_envs":4096}', "json.duplicate_key", "/num_envs"),
        ('{"num_envs":8,"num_envs":8}', "json.duplicate_key", "/num_envs"),
        ('{"a":[1,{"b":1,"c":2,"b":3}]}', "json.duplicate_key", "/a/1/b"),
        ('{"\\u0061":1,"a":2}', "json.duplicate_key", "/a"),
        ('{"lr":NaN}', "json.not_finite", "/lr"),
        ("[-Infinity]", "json.not_finite", "/0"),
        ('{"lr":1e999}', "json.not_finite", "/lr"),
        ('{"n":9007199254740992}', "json.integer_range", "/n"),
        ('{"n":-9007199254740992}', "json.integer_range", "/n"),
        ('{"n":' + "9" * 4301 + "}", "json.integer_range", "/n"),
        ('{"a":1}{"b":2}', "json.trailing", ""),
        ('{"a":1} x', "json.trailing", ""),
        ('"\\ud800"', "json.surrogate", ""),
        ('"\\ud800\\u0041"', "json.surrogate", ""),
        ('"a\nb"', "json.syntax", ""),
        ("{'a':1}", "json.syntax", ""),
        ('{"a":01}', "json.syntax", "/a"),
        ('{"a":1.}', "json.syntax", "/a"),
        ('{"a":+1}', "json.syntax", "/a"),
        ("[1,]", "json.syntax", "/1"),
        ('{"a":1,}', "json.syntax", ""),
        ("", "json.syntax", ""),
        ("[" * 65 + "]" * 65, "json.depth", "/0" * 64),
        ('{"a":[' + "1," * 70 + "x]}", "json.syntax", "/a/70"),
        ('[1,"a",9007199254740992,2]', "json.integer_range", "/2"),
        ('["a",\n"b",NaN]', "json.not_finite", "/2"),
        ('{"a":1e400}', "json.not_finite", "/a"),
        ('{"a":' + "9" * 500 + ".0}", "json.not_finite", "/a"),
        ('{"a\\/b":1,"a/b":2}', "json.duplicate_key", "/a~1b"),
        ('{"\\ud83d\\ude00":1,"\U0001f600":2}', "json.duplicate_key", "/\U0001f600"),
        ('{"":1,"":2}', "json.duplicate_key", ""),
        ('{"\\udc00\\ud800":1}', "json.surrogate", ""),
        ("[1 2]", "json.syntax", "/1"),
        ("[1,2", "json.syntax", "/2"),
        ("[-]", "json.syntax", "/0"),
        ("[0x10]", "json.syntax", "/0"),
        ("[1_000]", "json.syntax", "/0"),
        ("[.5]", "json.syntax", "/0"),
        ("[00]", "json.syntax", "/0"),
        ("[-01]", "json.syntax", "/0"),
        ("[\u0661]", "json.syntax", "/0"),
        ("[True]", "json.syntax", "/0"),
        ("[nul]", "json.syntax", "/0"),
        ("\u00a0[]", "json.syntax", ""),
        ("[]\u2028", "json.trailing", ""),
        ("[]\0", "json.trailing", ""),
        ("/* a */[]", "json.syntax", ""),
        ("[] // a", "json.trailing", ""),
        ('"\\x41"', "json.syntax", ""),
        ('"\\u00e"', "json.syntax", ""),
        ('"\\u+0e9"', "json.syntax", ""),
        ('"\x7f\x1f"', "json.syntax", ""),
    ],
)
def test_each_mistake_has_its_code_and_its_place(text: str, code: str, pointer: str) -> None:
    finding = refusal(text)
    assert (finding.code, finding.pointer) == (code, pointer)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xef\xbb\xbf{}", "json.bom"),
        ("{}".encode("utf-16"), "json.encoding"),
        (b'{"a":"\xe9"}', "json.encoding"),
        (b'"\xed\xa0\x80"', "json.encoding"),
        (b" " * (strict_json.MAX_BYTES + 1), "json.size"),
        (b"[" * 50_000_000, "json.size"),
        (b"\xef\xbb\xbf", "json.bom"),
        ("{}".encode("utf-16-le"), "json.encoding"),
        ("{}".encode("utf-32"), "json.encoding"),
        (b"\xff", "json.encoding"),
        (b'"\xc0\x80"', "json.encoding"),
        (b'"\xf4\x90\x80\x80"', "json.encoding"),
        (b'"\xe2\x82', "json.encoding"),
    ],
)
def test_only_utf8_of_a_bounded_size_is_read(data: bytes, code: str) -> None:
    assert refusal(data).code == code


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 1_000_000])
def test_deep_nesting_is_one_clean_finding_at_once(data: bytes) -> None:
    started = time.perf_counter()
    assert refusal(data).code == "json.depth"
    assert time.perf_counter() - started < 1


DOCUMENT = (
    '{"run": "a\\u00e9\\n", "list": [1, -2.5e3, true, null, "x", [], {}], '
    '"\\ud83d\\ude00": {"b": [0.1, 1e-7], "": false}}'
)


def test_a_document_that_is_cut_anywhere_is_refused_and_never_half_read() -> None:
    data = DOCUMENT.encode()
    for end in range(len(data)):
        with pytest.raises(Refusal):
            strict_json.loads(data[:end], "document")
    assert strict_json.loads(data, "document") == json.loads(DOCUMENT)


def assert_stricter_than_the_standard_library(data: bytes) -> bool:
    """Reads with both; what we accept the standard library accepts with the same value. True where we accepted."""
    try:
        read = strict_json.loads(data, "document")
    except Refusal as refused:
        assert refused.exit_status == 1 and refused.findings[0].code.startswith("json.")
        return False
    assert repr(read) == repr(json.loads(data.decode("utf-8")))
    return True


PIECES = [
    *(bytes([byte]) for byte in b'"\\{}[],:0-.eu /\n\0\xff\xc3\x7f'),
    *(b"NaN", b"1e999", b"\\ud800", b"\xef\xbb\xbf", b"9" * 20, b"[" * 70, b'"a":1,', b"true"),
]


def mutants(chance: random.Random, count: int) -> Iterator[bytes]:
    original = DOCUMENT.encode()
    for _ in range(count):
        data = bytearray(original)
        for _ in range(chance.choice([1, 1, 2, 5])):
            at = chance.randrange(len(data) + 1)
            how = chance.randrange(5)
            if how == 0:
                data[at:at] = chance.choice(PIECES)
            elif how == 1:
                data[at : at + chance.randrange(1, 6)] = b""
            elif how == 2 and at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            elif how == 3:
                data[at : at + 1] = chance.choice(PIECES)
            else:
                other = chance.randrange(len(data) + 1)
                data[at:at] = data[other : other + chance.randrange(1, 20)]
        yield bytes(data)


INPUTS = int(os.environ.get("FUZZ_INPUTS", "20000"))
"""How many changed documents are read; `FUZZ_INPUTS=1000000` takes minutes."""


def test_changed_documents_are_refused_or_mean_what_the_standard_library_reads() -> None:
    accepted = sum(map(assert_stricter_than_the_standard_library, mutants(random.Random(20261130), INPUTS)))
    assert INPUTS // 100 < accepted < INPUTS // 2


@settings(max_examples=1000)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_pieces_of_json_in_any_order_are_refused_or_mean_what_the_standard_library_reads(data: bytes) -> None:
    assert_stricter_than_the_standard_library(data)


def full(head: bytes, unit: bytes, tail: bytes) -> bytes:
    """A document of the largest size that is read."""
    return head + unit * ((strict_json.MAX_BYTES - len(head) - len(tail)) // len(unit)) + tail


@pytest.mark.parametrize(
    "data",
    [
        full(b"[", b"0,", b"0]"),
        full(b"[", b"[],", b"0]"),
        full(b"[", b"{},", b"0]"),
        full(b"[", b'"",', b"0]"),
        full(b"[", b"1.5,", b"0]"),
        full(b"[", b"\t\n0 ,", b"0]"),
        full(b"[", b"[" * 60 + b"]" * 60 + b",", b"0]"),
        full(b"[", b'{"a":0},', b"0]"),
        full(b'"', b"\\n", b'"'),
        full(b'"', b"\\u00e9", b'"'),
        full(b'"', b"\xc3\xa9", b'"'),
        full(b"", b" ", b"0"),
        full(b"0.", b"1", b""),
        full(b"", b"1", b""),
        full(b"", b"[", b""),
        full(b'"', b"a", b""),
        b"{" + b",".join(b'"%x":0' % number for number in range(100_000)) + b"}",
    ],
    ids=lambda data: repr(bytes(data[:14])),
)
def test_the_largest_documents_are_read_in_a_second_and_256_mib(data: bytes) -> None:
    assert len(data) <= strict_json.MAX_BYTES
    # A tool has a small heap; that of a long test session would be searched for garbage again and again.
    gc.collect()
    gc.freeze()
    started = time.process_time()
    try:
        strict_json.loads(data, "document")
    except Refusal as refused:
        (finding,) = refused.findings
        assert sum(map(len, finding)) < 2000
    finally:
        took = time.process_time() - started
        gc.unfreeze()
    assert took < 1
    tracemalloc.start()
    try:
        strict_json.loads(data[: len(data) // 8], "document")
    except Refusal:
        pass
    finally:
        # Tracing slows reading down, so an eighth is traced and an eighth of the memory allowed.
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 256 * 2**20 / 8


def test_a_key_of_a_megabyte_makes_no_finding_of_a_megabyte() -> None:
    finding = refusal(b'{"' + b"k" * 1_000_000 + b'": [x]}')
    assert finding.code == "json.syntax"
    assert sum(map(len, finding)) < 2000


def test_depth_of_64_and_the_largest_integer_are_read() -> None:
    assert strict_json.loads(b"[" * 64 + b"]" * 64, "document")
    assert strict_json.loads(b"9007199254740991", "document") == 2**53 - 1
    assert strict_json.loads(b'"\\ud83d\\ude00"', "document") == "\N{GRINNING FACE}"


def test_literals_keep_their_kind() -> None:
    assert [type(value) for value in strict_json.loads(b"[8, 8.0, 8e0, true]", "document")] == [int, float, float, bool]


def test_the_message_gives_line_and_column() -> None:
    assert "line 3, column 8" in refusal('{\n "a": 1,\n "b":  x\n}').message


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_writers_refuse_what_is_not_a_json_number(value: float) -> None:
    for writer in (strict_json.canonical, strict_json.pretty):
        with pytest.raises(ValueError, match="not JSON compliant"):
            writer({"a": value})


def test_only_regular_files_of_a_bounded_size_are_read(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_bytes(b"{}")
    (tmp_path / "link").symlink_to(real)
    os.mkfifo(tmp_path / "pipe")
    assert strict_json.read_file(str(real)) == b"{}"
    for name in ("link", "pipe", "missing", "."):
        with pytest.raises(Refusal) as caught:
            strict_json.read_file(str(tmp_path / name))
        assert caught.value.exit_status == 2
    with pytest.raises(Refusal):
        strict_json.read_file(str(real), max_bytes=1)

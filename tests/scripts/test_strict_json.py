"""The strict JSON reader: one meaning for every reader, bounded, never a crash."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
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
    ],
)
def test_only_utf8_of_a_bounded_size_is_read(data: bytes, code: str) -> None:
    assert refusal(data).code == code


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 1_000_000])
def test_deep_nesting_is_one_clean_finding_at_once(data: bytes) -> None:
    started = time.perf_counter()
    assert refusal(data).code == "json.depth"
    assert time.perf_counter() - started < 1


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

"""A pickle is followed without being loaded, and whatever no honest writer emits fails closed."""

from __future__ import annotations

import collections
import datetime
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _skill.checkpoints.content import Content
from _skill.checkpoints.pickle_machine import PickleMachine
from _skill.checkpoints.source import Memory

from .judging import judge
from .writing import CALL, pickled, state_dict, storage, tensor, text, torch_file

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(-99, 99), inner, max_size=4)
    ),
    max_leaves=12,
)


def follow(data: bytes) -> tuple[PickleMachine, Content]:
    content = Content()
    machine = PickleMachine(Memory(data), content)
    machine.run()
    return machine, content


@settings(max_examples=300)
@given(PLAIN, st.integers(0, 5))
def test_what_python_pickles_of_plain_values_is_followed_without_a_finding(value: Any, protocol: int) -> None:
    machine, content = follow(pickle.dumps(value, protocol))
    assert machine.complete
    assert content.verdict in ("safe", "not_weights_only"), content.findings
    extra = {(use.module, use.name) for use in content.globals.values() if use.status != "allowed"}
    assert extra <= {("__builtin__", "bytes")}
    if not isinstance(value, (dict, set)) and not extra and not has_dict(value):
        assert repr(machine.value) == repr(value)


def has_dict(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, (list, tuple)) and any(has_dict(item) for item in value))


@settings(max_examples=500)
@given(st.binary(max_size=200))
def test_any_bytes_end_in_an_answer(data: bytes) -> None:
    follow(data)
    follow(b"\x80\x04" + data)


@pytest.mark.parametrize("protocol", range(6))
def test_numpy_values_are_not_weights_only_and_never_called_hostile(protocol: int) -> None:
    if protocol == 5:
        value: Any = {"a": np.float64(1), "b": np.int32(2), "d": np.dtype("f4")}
    else:
        value = {"a": np.arange(3), "b": np.float64(0.5), "c": np.zeros((2, 2), ">f8"), "d": np.bool_(True)}
    _, content = follow(pickle.dumps(value, protocol))
    assert content.verdict == "not_weights_only", content.findings


@pytest.mark.parametrize(
    "value",
    [
        Path("runs/a"),
        datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
        datetime.timedelta(1),
        frozenset({1, 2}),
        range(3),
        collections.deque([1, 2], 5),
        collections.defaultdict(list, a=[1]),
        np.array([{"a": 1}, None], dtype=object),
        np.zeros(2, [("x", "<f4"), ("y", "<i2")]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("protocol", [2, 4])
def test_values_of_the_standard_library_and_numpy_are_named(value: Any, protocol: int) -> None:
    _, content = follow(pickle.dumps({"v": value}, protocol))
    assert content.verdict in ("not_weights_only", "safe"), content.findings


HOOKS = b"ccollections\nOrderedDict\n)R"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (CALL, "pickle.unsafe_call"),
        (b"cos\ngetcwd\n", "pickle.unsafe_global"),
        (b"cos\ngetcwd\n0N", "pickle.unsafe_global"),
        (b"cbuiltins\ngetattr\n", "pickle.unsafe_global"),
        (b"ctorch.storage\n_load_from_bytes\n(X\x00\x00\x00\x00tR", "pickle.nested_load"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n", "pickle.global_as_value"),
        (b"ccollections\nOrderedDict\n)R)R", "pickle.computed_call"),
        (b"(ios\ngetcwd\n", "pickle.unsafe_global"),
        (b"(ccollections\nOrderedDict\no", "pickle.operation"),
        (b"ccollections\nOrderedDict\n)R}X\x05\x00\x00\x00itemsNsb", "pickle.operation"),
        (b"ccollections\nOrderedDict\n)R}X\x0c\x00\x00\x00__setstate__Nsb", "pickle.operation"),
        (b"}}b", "pickle.operation"),
        (b"\x82\x01", "pickle.extension"),
        (b"Pid\n", "pickle.persistent_id"),
        (b"}(X\x01\x00\x00\x00aNX\x01\x00\x00\x00aNu", "pickle.form"),
        (b"NN", "pickle.form"),
        (b"(N", "pickle.form"),
        (b"Nq\x00q\x00", "pickle.form"),
        (b"Nr\xff\xff\xff\x7f", "pickle.form"),
        (b"\x8c\x01a", "pickle.form"),
        (b"\x80\x02N", "pickle.form"),
        (b"h\x05", "pickle.damaged"),
        (b"R", "pickle.damaged"),
        (b"\xff", "pickle.damaged"),
        (b"", "pickle.damaged"),
        (b"}(]NNNu", "pickle.key"),
        (b"ctorch\nSize\n(X\x01\x00\x00\x00atR", "pickle.misused_global"),
        (b"cbuiltins\nbytearray\n(I99999999999\ntR", "pickle.misused_global"),
        (b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x05\x00\x00\x00bz2__tR", "pickle.misused_global"),
        (b"ctorch\nFloatStorage\n(K\x05tR", "pickle.misused_global"),
    ],
)
def test_what_no_checkpoint_does_is_refused(body: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(pickled(body))
    found = judge(path)
    assert found.status == 1
    assert code in found.codes


def test_hooks_cannot_be_filled_after_the_tensor_took_them(tmp_path: Path) -> None:
    late = (
        HOOKS + b"q\x01ctorch._utils\n_rebuild_tensor_v2\n("
        + storage() + b"K\x00K\x02\x85K\x01\x85\x89h\x01tRq\x020h\x01K\x01K\x02s0h\x02"
    )  # fmt: skip
    path = tmp_path / "x.pt"
    path.write_bytes(torch_file(pickled(late)))
    assert "pickle.operation" in judge(path).codes
    path.write_bytes(torch_file(state_dict(w=tensor())))
    assert judge(path).status == 0


def test_findings_before_a_broken_tail_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(b"\x80\x02" + CALL + b"\xff\xff")
    assert {"pickle.unsafe_call", "pickle.damaged"} <= set(judge(path).codes)


def test_a_name_made_at_load_time_is_refused() -> None:
    _, content = follow(b"\x80\x04\x8c\x02os" + b"cbuiltins\nstr\n(\x8c\x06getcwdtR" + b"\x93.")
    assert "pickle.computed_name" in [finding.code for finding in content.findings]


def test_names_through_the_memo_are_followed() -> None:
    body = b"\x80\x04\x8c\x02os\x94\x8c\x06getcwd\x94" + b"NNh\x00h\x01\x93" + b"00." + b""
    _, content = follow(body)
    assert ("os", "getcwd", "referenced") in content.globals


def test_a_pickle_bomb_is_never_a_pass(tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(pickled(b"]" + b"2\x86" * 200))
    assert judge(path).status != 0


def test_a_long_text_is_passed_over_and_what_follows_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(pickled(b"B" + struct.pack("<I", 1 << 20) + bytes(1 << 20) + b"0" + CALL))
    assert "pickle.unsafe_call" in judge(path).codes
    path.write_bytes(b"S'" + b"a" * 200_000 + b"'\n0" + CALL + b".")
    assert "pickle.unsafe_call" in judge(path).codes


def test_text_is_shown_escaped(tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(pickled(b"}" + text("k\x1b[31m\u202e") + b"cos\n\x1b[2Jname\ns"))
    from _skill.checkpoints import inspection

    with inspection.opened(str(path)) as inspected:
        words = repr([tuple(finding) for finding in inspected.content.findings])
    assert "\\x1b" in words
    assert "\x1b" not in words

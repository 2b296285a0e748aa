"""Checkpoints are safetensors files; any damage is noticed, and what is none is refused before it costs memory."""

from __future__ import annotations

import json
import os
import struct
import tracemalloc

import numpy
import pytest
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

from pufferlib import checkpoint
from pufferlib.engine import Tensor
from pufferlib.errors import PufferError

from .conftest import tensors_of
from .training_runs import checkpoints, short_plan, write_plan


def small_tensors():
    values = {
        "policy.a": numpy.arange(6, dtype="f4").reshape(2, 3),
        "count": numpy.array([7], "i8"),
        "state": numpy.arange(5, dtype="u1"),
    }
    names = {"f4": "F32", "i8": "I64", "u1": "U8"}
    return [
        Tensor(name, names[v.dtype.str[1:]], v.shape, memoryview(v.tobytes()).cast("B")) for name, v in values.items()
    ]


def test_the_safetensors_library_reads_the_same_tensors(tmp_path, make_trainer):
    trainer = make_trainer("target", num_envs=16, minibatch_size=1024, hidden=(5, 7))
    trainer.iterate()
    path = tmp_path / checkpoint.file_name(2048)
    checkpoint.write(path, trainer.collect(), {"step": "2048"})
    expected, found = tensors_of(trainer), load_file(path)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == value.dtype
        numpy.testing.assert_array_equal(found[name], value)
    with safe_open(path, "numpy") as opened:
        assert opened.metadata() == {"step": "2048"}
    assert found["policy.hidden.0.weight"].shape == (5, 28) and found["policy.actor.weight"].shape == (14, 7)


def test_a_run_is_taken_over_whole(tmp_path, make_trainer):
    """Trained on from a file or without it: the same weights, moments, episodes and states."""
    first = make_trainer("breakout", num_envs=64, minibatch_size=1024)
    for _ in range(3):
        first.iterate()
    named = checkpoint.write(tmp_path / "c", first.collect(), {})
    second = make_trainer("breakout", num_envs=64, minibatch_size=1024)
    second.restore(checkpoint.Checkpoint(tmp_path / "c", named).fill)
    for _ in range(3):
        mine, theirs = first.iterate(), second.iterate()
        assert (mine.step, mine.episodes, repr(mine.recent_return)) == (
            theirs.step,
            theirs.episodes,
            repr(theirs.recent_return),
        )
    for name, value in tensors_of(first).items():
        numpy.testing.assert_array_equal(value, tensors_of(second)[name], name)


def test_every_single_bit_counts(tmp_path):
    path = tmp_path / "c"
    named = checkpoint.write(path, small_tensors(), {"step": "1"})
    whole = path.read_bytes()
    checkpoint.Checkpoint(path, named)
    for bit in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with pytest.raises(PufferError):
            checkpoint.Checkpoint(path, named)


@pytest.mark.parametrize("length", range(0, 200, 7))
def test_any_cut_is_noticed(tmp_path, length):
    path = tmp_path / "c"
    named = checkpoint.write(path, small_tensors(), {})
    whole = path.read_bytes()
    path.write_bytes(whole[:length])
    for expected in (named, None):
        with pytest.raises(PufferError):
            checkpoint.Checkpoint(path, expected)


def pack(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(shape, begin, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


BOMBS = {
    "length 2^63": pack({}, length=2**63),
    "length over the format's limit": pack({}, length=100_000_001),
    "length beyond the file": pack({}, length=3),
    "overlap": pack({"a": entry([2], 0, 8), "b": entry([2], 4, 12)}, bytes(12)),
    "hole": pack({"a": entry([1], 4, 8)}, bytes(8)),
    "trailing bytes": pack({"a": entry([1], 0, 4)}, bytes(5)),
    "data that is not there": pack({"a": entry([2], 0, 8)}, bytes(4)),
    "enormous shape": pack({"a": entry([2**40, 2**40], 0, 8)}, bytes(8)),
    "negative start": pack({"a": entry([1], -4, 0)}, bytes(4)),
    "shape and range disagree": pack({"a": entry([3], 0, 8)}, bytes(8)),
    "empty file": b"",
    "no header": struct.pack("<Q", 0),
    "not JSON": pack(b"{]"),
    "not an object": pack(b"[1]"),
    "not UTF-8": pack(b'{"\xff": 1}'),
}
ONE = json.dumps(entry([1], 0, 4)).encode()
# The reference library leaves these to its JSON parser or to the caller; ours refuses them as well.
STRICTER = {
    "one name twice": pack(
        b'{"a":' + json.dumps(entry([1], 0, 4)).encode() + b',"a":' + json.dumps(entry([1], 0, 4)).encode() + b"}",
        bytes(4),
    ),
    "unknown type": pack({"a": entry([1], 0, 4, "F4")}, bytes(4)),
    "true as a size": pack({"a": entry([True], 0, 4)}, bytes(4)),
    "float offsets": pack({"a": entry([1], 0.0, 4.0)}, bytes(4)),
    "three offsets": pack({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8]}}, bytes(4)),
    "metadata that is no text": pack({"__metadata__": {"step": 1}}),
    "deep nesting": pack(b"[" * 100_000),
    "no dtype": pack({"a": {"shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
}


@pytest.mark.parametrize("name", [*BOMBS, *STRICTER])
def test_bombs_and_overlaps_are_refused_without_memory(tmp_path, name):
    path = tmp_path / "c.safetensors"
    path.write_bytes((BOMBS | STRICTER)[name])
    tracemalloc.start()
    try:
        with pytest.raises(PufferError, match=r"c\.safetensors"):
            checkpoint.Checkpoint(path)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    if name in BOMBS:
        with pytest.raises(SafetensorError):
            load_file(path)


def test_an_empty_tensor_is_legal(tmp_path):
    path = tmp_path / "c"
    path.write_bytes(pack({"a": entry([0], 0, 0)}))
    assert checkpoint.Checkpoint(path).tensors["a"].shape == (0,)


def test_a_large_file_in_the_place_of_a_checkpoint_is_not_read(tmp_path):
    path = tmp_path / "c"
    named = checkpoint.write(path, small_tensors(), {})
    os.truncate(path, 1 << 40)  # sparse
    with pytest.raises(PufferError, match="1099511627776 bytes, the manifest says"):
        checkpoint.Checkpoint(path, named)


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder", "missing"):
        with pytest.raises(PufferError, match=name):
            checkpoint.Checkpoint(tmp_path / name)


def test_a_tensor_of_another_shape_or_name_is_refused(tmp_path):
    path = tmp_path / "c"
    checkpoint.write(path, small_tensors(), {})
    stored = checkpoint.Checkpoint(path)
    with pytest.raises(PufferError, match=r"policy\.a is F32 \[2, 3\], the plan needs F32 \[3, 2\]"):
        stored.fill(Tensor("policy.a", "F32", (3, 2), memoryview(bytearray(24))))
    with pytest.raises(PufferError, match=r"holds no policy\.b"):
        stored.fill(Tensor("policy.b", "F32", (1,), memoryview(bytearray(4))))


def test_leftovers_are_never_picked_and_are_cleared_away(tmp_path, puffer):
    folder = tmp_path / "run"
    write_plan(folder, short_plan("squared", total_timesteps=128 * 16 * 2))
    newer = folder / checkpoint.file_name(10**9)
    newer.write_bytes(b"a checkpoint that no manifest names")
    part = folder / f".{checkpoint.file_name(5)}.1234.part"
    part.write_bytes(b"half of one")
    other = folder / "mine.safetensors"
    other.write_bytes(b"not ours")
    assert checkpoint.latest(folder) is None
    done = puffer("train", "--plan", folder / "plan.json", "--run-dir", folder, "--resume")
    assert done.returncode == 0, done.stderr
    assert checkpoints(folder) == [checkpoint.file_name(128 * 16 * 2)] and not part.exists() and other.exists()


def test_equal_digests_mean_equal_policies(make_trainer):
    trainer = make_trainer(num_envs=64, minibatch_size=1024)
    before = checkpoint.weights_digest(trainer.collect())
    assert before == checkpoint.weights_digest(trainer.collect())
    renamed = [Tensor(t.name.replace("actor", "other"), t.dtype, t.shape, t.data) for t in trainer.collect()]
    assert checkpoint.weights_digest(renamed) != before
    trainer.iterate()
    assert checkpoint.weights_digest(trainer.collect()) != before

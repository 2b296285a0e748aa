"""No honest checkpoint raises an alarm, whoever wrote it."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from .corpus import honest_files
from .corpus import opcodes as op
from .corpus.torch_pickles import dict_of, tensor
from .corpus.zips import torch_archive
from .judging import judge

CASES = list(honest_files.cases())
GROUPS = sorted({case.kind for case in CASES})


def test_the_corpus_is_large_and_names_each_file_once() -> None:
    assert len(CASES) >= 100
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("kind", GROUPS)
def test_every_honest_file_passes_or_is_called_what_it_is(kind: str, tmp_path: Path) -> None:
    wrong = []
    for index, case in enumerate(case for case in CASES if case.kind == kind):
        folder = tmp_path / str(index)
        folder.mkdir()
        found = judge(case.make(folder))
        if found.status not in case.statuses or found.verdict not in case.verdicts:
            wrong.append(f"{case.name}: {found}")
    assert wrong == []


@pytest.mark.parametrize("base", [0x100, 0x11000, 0x50000])
def test_no_length_of_a_safetensors_header_looks_like_a_pickle(tmp_path: Path, base: int) -> None:
    # The first byte of a file is the last digit of its header's length: by chance it is an opcode.
    path = tmp_path / "x.safetensors"
    data = bytes(range(256)) * 4
    wrong = []
    for length in range(base, base + 0x100, 1 if base == 0x100 else 8):
        entry = {"dtype": "F32", "shape": [256], "data_offsets": [0, 1024]}
        text = json.dumps({"__metadata__": {"note": "x" * max(0, length - 400)}, "layer.weight": entry}).encode()
        path.write_bytes(struct.pack("<Q", length) + text.ljust(length) + data)
        found = judge(path)
        if found.status:
            wrong.append((hex(length), found))
    assert wrong == []


@pytest.mark.parametrize("seed", range(4))
def test_random_weights_look_like_nothing_else(tmp_path: Path, seed: int) -> None:
    import numpy as np
    import safetensors.numpy

    random = np.random.default_rng(seed)
    for index in range(12):
        values = random.integers(0, 256, 100_000, dtype=np.uint8)
        path = tmp_path / f"{index}.safetensors"
        safetensors.numpy.save_file({"w": values}, path)
        assert judge(path).status == 0
        np.save(tmp_path / f"{index}.npy", values)
        assert judge(tmp_path / f"{index}.npy").status == 0


def test_a_file_of_zero_storages_and_one_of_many_pass(tmp_path: Path) -> None:
    for count in (0, 1, 2000):
        path = tmp_path / f"{count}.pt"
        items = {f"w{i}": tensor(str(i), "uint8", (1,)) for i in range(count)}
        pickle = op.whole(dict_of(items))
        path.write_bytes(torch_archive(pickle, {str(i): b"x" for i in range(count)}))
        assert judge(path).status == 0

"""The engine through its package, in this process or as the command that a person runs."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from pufferlib.engine import Trainer
from pufferlib.environments import find_header, load

from .training_runs import short_plan

ROOT = Path(__file__).resolve().parents[2]
PROFILE = ROOT / "native_profile"
POINTERS = {
    "float32": ctypes.POINTER(ctypes.c_float),
    "int32": ctypes.POINTER(ctypes.c_int32),
    "uint8": ctypes.POINTER(ctypes.c_uint8),
}


def pointer(array: numpy.ndarray) -> Any:
    """A C-contiguous array of float32, int32 or uint8 as the engine's functions take it."""
    assert array.flags.c_contiguous
    return array.ctypes.data_as(POINTERS[array.dtype.name])


def padded(array: numpy.ndarray, lanes: int) -> numpy.ndarray:
    """The last axis extended with zeros to ``lanes``."""
    width = [(0, 0)] * (array.ndim - 1) + [(0, lanes - array.shape[-1])]
    return numpy.ascontiguousarray(numpy.pad(array, width))


def tensors_of(trainer: Trainer, prefix: str = "") -> dict[str, numpy.ndarray]:
    """Copies of the trainer's tensors whose names start with ``prefix``, without it."""
    types = {"F32": "f4", "I32": "i4", "I64": "i8", "U8": "u1"}
    return {
        t.name[len(prefix) :]: numpy.frombuffer(bytes(t.data), types[t.dtype]).reshape(t.shape)
        for t in trainer.collect()
        if t.name.startswith(prefix)
    }


def put_tensors(trainer: Trainer, values: dict[str, numpy.ndarray]) -> None:
    """Overwrites the named tensors of a trainer; the others stay."""
    trainer.collect()

    def read(tensor: Any) -> None:
        if tensor.name in values:
            assert tuple(values[tensor.name].shape) == tensor.shape
            tensor.data[:] = numpy.ascontiguousarray(values[tensor.name]).tobytes()

    trainer.restore(read)


@pytest.fixture
def make_trainer() -> Iterator[Callable[..., Trainer]]:
    """``make_trainer(name, path=, workers=, ...)``: a trainer for a short plan, closed after the test."""
    made: list[Trainer] = []

    def make(name: str = "cartpole", path: Path | None = None, *, workers: int = 1, **plan: Any) -> Trainer:
        environment = load(find_header(name, path))
        trainer = Trainer(environment, short_plan(name, path, **plan), workers)
        made.append(trainer)
        return trainer

    yield make
    for trainer in made:
        trainer.close()


@pytest.fixture
def puffer_environment(clean_environment: dict[str, str]) -> dict[str, str]:
    """The variables that a command of the package runs with."""
    return clean_environment | {"PYTHONPATH": str(PROFILE)}


@pytest.fixture
def puffer(run: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``puffer("train", ..., cwd=, env=, timeout=)``: the command line in a process of its own."""

    def command(*words: object, env: dict[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
        variables = {"PYTHONPATH": str(PROFILE)} | (env or {})
        return run([sys.executable, "-m", "pufferlib", *map(str, words)], env=variables, **options)

    return command

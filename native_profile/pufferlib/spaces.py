"""Spaces of environments in Python: short ways to make them, and the space of many agents together.

numpy and gymnasium are looked up when the first space is made, so that the compiled trainer needs neither.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import MISUSE, PufferError


class APIUsageError(PufferError, AttributeError):
    """An environment breaks the contract of ``PufferEnv``; says what was found and what to write."""

    def __init__(self, message: str) -> None:
        super().__init__(message, MISUSE)


def package(name: str) -> Any:
    """A package that environments in Python need; the error of its absence names the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise PufferError(
            f"an environment in Python needs {name}: {error}; python3 -m pip install {name}", MISUSE
        ) from error


def make_space(
    shape: int | Sequence[int] | Mapping[str, Any], dtype: Any = None, low: Any = None, high: Any = None
) -> Any:
    """A Box of ``shape`` (float32 unless said), or a Dict with a Box, or the space that is given, for each name.

    Bounds are those of the dtype where they are not given: none for floats, 0 to 255 for uint8.
    """
    numpy, spaces = package("numpy"), package("gymnasium").spaces
    if isinstance(shape, Mapping):
        return spaces.Dict(
            {
                name: part if isinstance(part, spaces.Space) else make_space(part, dtype, low, high)
                for name, part in shape.items()
            }
        )
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
        raise APIUsageError(f"make_space: the shape is {shape!r}; expected whole numbers, each 1 or more: (4,)")
    kind = numpy.dtype(numpy.float32 if dtype is None else dtype)
    least, most = (-numpy.inf, numpy.inf) if kind.kind == "f" else (0, 1)
    if kind.kind in "iu":
        least, most = numpy.iinfo(kind).min, numpy.iinfo(kind).max
    return spaces.Box(least if low is None else low, most if high is None else high, sizes, kind.type)


def make_discrete(n: int | Sequence[int]) -> Any:
    """Discrete(n): one of n actions; of a list: one choice for each of its sizes (MultiDiscrete)."""
    spaces = package("gymnasium").spaces
    sizes = [n] if isinstance(n, int) else list(n)
    if not sizes or any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
        raise APIUsageError(f"make_discrete: got {n!r}; expected a whole number, 1 or more, or a list of them")
    return spaces.Discrete(n) if isinstance(n, int) else spaces.MultiDiscrete(sizes)


def joint_space(space: Any, count: int) -> Any:
    """The space of ``count`` agents, a row for each: Discrete becomes MultiDiscrete, that a Box, a Box a larger one."""
    numpy, spaces = package("numpy"), package("gymnasium").spaces
    if isinstance(space, spaces.Discrete):
        return spaces.MultiDiscrete([int(space.n)] * count)
    if isinstance(space, spaces.MultiDiscrete):
        high = numpy.broadcast_to(space.nvec - 1, (count, *space.nvec.shape)).astype(numpy.int32)
        return spaces.Box(numpy.zeros_like(high), high, high.shape, numpy.int32)
    low = numpy.broadcast_to(space.low, (count, *space.shape))
    return spaces.Box(low, numpy.broadcast_to(space.high, low.shape), low.shape, space.dtype.type)

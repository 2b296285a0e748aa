"""Spaces by the names of their classes, so that those of every Gymnasium version are known without importing one.

A space is a tree; its leaves are Box, Discrete, MultiDiscrete and MultiBinary. A leaf's path is `/key` for each Dict
and `/0` for each Tuple on the way, and empty for a space that is a leaf itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from .numerics import np

LEAVES = ("Discrete", "MultiDiscrete", "MultiBinary", "Box")
"""`MultiDiscrete` before `Discrete` would not matter: the classes do not inherit from one another."""
CONTAINERS = ("Dict", "Tuple")
OTHERS = ("Text", "Sequence", "Graph", "OneOf")
"""Spaces of Gymnasium whose values have no fixed size."""
MAX_LEAVES = 1000


class Leaf(NamedTuple):
    """One leaf of a space."""

    path: str
    kind: str
    space: Any


def kind(space: Any) -> str:
    """`Box`, `Discrete`, ... or an empty text for what is no space that we know."""
    for base in type(space).__mro__:
        if base.__name__ in LEAVES + CONTAINERS + OTHERS and base.__module__.split(".")[0] != "builtins":
            return base.__name__
    return ""


def children(space: Any) -> list[tuple[str, Any]]:
    """The spaces inside a Dict (by key) or a Tuple (by position)."""
    if kind(space) == "Dict":
        return [(str(key), item) for key, item in space.spaces.items()]
    return [(str(index), item) for index, item in enumerate(space.spaces)]


def leaves(space: Any) -> list[Leaf]:
    """Every leaf, in the order of the space; unknown spaces are leaves of kind empty."""
    return list(_leaves(space, ""))[:MAX_LEAVES]


def _leaves(space: Any, path: str) -> Iterator[Leaf]:
    waiting = [(space, path)]
    count = 0
    while waiting and count < MAX_LEAVES:
        current, place = waiting.pop()
        found = kind(current)
        if found in CONTAINERS:
            inside = [(item, f"{place}/{key}") for key, item in children(current)]
            waiting.extend(reversed(inside))
            continue
        count += 1
        yield Leaf(place, found if found in LEAVES + OTHERS else "", current)


def shape(space: Any) -> tuple[int, ...]:
    """The shape of a leaf, as int (a numpy product of an empty shape is a float)."""
    given = getattr(space, "shape", None)
    return tuple(int(size) for size in given) if given is not None else ()


def dtype(leaf: Leaf) -> Any:
    """The dtype of a leaf's values."""
    given = getattr(leaf.space, "dtype", None)
    default = {"Discrete": "int64", "MultiDiscrete": "int64", "MultiBinary": "int8"}.get(leaf.kind, "float32")
    return np.dtype(given if given is not None else default)


def sizes(leaf: Leaf) -> tuple[int, ...]:
    """How many values each number of a discrete leaf has, flat; empty for a Box."""
    if leaf.kind == "Discrete":
        return (int(leaf.space.n),)
    if leaf.kind == "MultiDiscrete":
        return tuple(int(size) for size in np.asarray(leaf.space.nvec).reshape(-1))
    if leaf.kind == "MultiBinary":
        return (2,) * math.prod(shape(leaf.space))
    return ()


def start(leaf: Leaf) -> tuple[int, ...]:
    """The least value of each number of a discrete leaf, flat; empty for a Box."""
    if leaf.kind == "Discrete":
        return (int(getattr(leaf.space, "start", 0)),)
    if leaf.kind == "MultiDiscrete":
        given = getattr(leaf.space, "start", None)
        count = len(sizes(leaf))
        return tuple(int(v) for v in np.asarray(given).reshape(-1)) if given is not None else (0,) * count
    return (0,) * len(sizes(leaf))


def byte_count(leaf: Leaf) -> int:
    """Bytes of one value of the leaf."""
    return int(math.prod(shape(leaf.space)) * dtype(leaf).itemsize)


def words(space: Any) -> str:
    """A space in one line: `Box(3, 4) float32`, `Discrete(3, start -1)`, `Dict(image, speed)`."""
    found = kind(space)
    if found in CONTAINERS:
        return f"{found}({', '.join(key for key, _ in children(space)[:20])})"
    if found in LEAVES:
        leaf = Leaf("", found, space)
        if found == "Discrete":
            first = start(leaf)[0]
            return f"Discrete({sizes(leaf)[0]}{f', start {first}' if first else ''})"
        if found == "MultiDiscrete":
            return f"MultiDiscrete({np.asarray(space.nvec).tolist()})"[:120]
        return f"{found}{shape(space)} {dtype(leaf)}"
    return found or type(space).__name__


def sample(space: Any, rng: Any, mask: Any = None, extreme: int = 0) -> Any:
    """A value of the space from our own generator; neither the space's nor a global generator is touched.

    `mask` keeps illegal choices out (one row of 0 and 1 for a Discrete, one for each number of a MultiDiscrete).
    `extreme` -1 and 1 give the least and the greatest value of each leaf.
    """
    found = kind(space)
    if found == "Dict":
        inside = {key: sample(item, rng, _inner(mask, key), extreme) for key, item in space.spaces.items()}
        return inside
    if found == "Tuple":
        return tuple(sample(item, rng, _inner(mask, index), extreme) for index, item in enumerate(space.spaces))
    if found not in LEAVES:
        return space.sample()
    leaf = Leaf("", found, space)
    if found == "Box":
        return _sample_box(leaf, rng, extreme)
    counts, first = sizes(leaf), start(leaf)
    rows = mask_rows(mask, counts)
    chosen = []
    for index, (count, least) in enumerate(zip(counts, first, strict=True)):
        legal = np.flatnonzero(rows[index]) if rows is not None else None
        if legal is not None and len(legal):
            pick = int(legal[-1] if extreme > 0 else legal[0] if extreme < 0 else rng.choice(legal))
        else:
            pick = count - 1 if extreme > 0 else 0 if extreme < 0 else int(rng.integers(count))
        chosen.append(least + pick)
    if found == "Discrete":
        return dtype(leaf).type(chosen[0])
    return np.array(chosen, dtype=dtype(leaf)).reshape(shape(space))


def mask_rows(mask: Any, counts: tuple[int, ...]) -> list[Any] | None:
    """The mask as one row for each number of an action, or None where it has no such form."""
    if mask is None or isinstance(mask, dict):
        return None
    try:
        if isinstance(mask, (tuple, list)) and len(mask) == len(counts) and len(counts) > 1:
            rows = [np.asarray(row).reshape(-1) for row in mask]
        else:
            flat = np.asarray(mask).reshape(-1)
            if len(flat) != sum(counts):
                return None
            rows = np.split(flat, np.cumsum(counts)[:-1])
    except (TypeError, ValueError):
        return None
    return rows if all(len(row) == count for row, count in zip(rows, counts, strict=True)) else None


def _inner(mask: Any, key: Any) -> Any:
    if isinstance(mask, dict):
        return mask.get(key)
    if isinstance(mask, tuple) and isinstance(key, int) and key < len(mask):
        return mask[key]
    return None


def _sample_box(leaf: Leaf, rng: Any, extreme: int) -> Any:
    size, kind_of = shape(leaf.space), dtype(leaf)
    low = np.broadcast_to(np.asarray(leaf.space.low, np.float64), size)
    high = np.broadcast_to(np.asarray(leaf.space.high, np.float64), size)
    # An open side is cut at 1 beyond the other one, or at -1 and 1.
    bottom = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 1, -1.0))
    top = np.where(np.isfinite(high), high, np.where(np.isfinite(low), low + 1, 1.0))
    if extreme:
        value = top if extreme > 0 else bottom
    elif kind_of.kind in "iub":
        value = np.floor(bottom + rng.random(size) * (top - bottom + 1))
        value = np.minimum(value, top)
    else:
        value = bottom + rng.random(size) * (top - bottom)
    cast = np.asarray(value).astype(kind_of)
    if kind_of.kind == "f":
        cast = np.clip(cast, np.asarray(leaf.space.low), np.asarray(leaf.space.high)).astype(kind_of)
    return cast

"""Values that an environment returned: their leaves beside the space's, their arrays, comparison, words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import spaces
from .numerics import np

MAX_ARRAYS = 200
MAX_DEPTH = 8


def by_leaf(space: Any, value: Any, path: str = "") -> Iterator[tuple[spaces.Leaf | None, str, Any, str]]:
    """(leaf, path, value, problem) for every leaf; `problem` says what does not have the space's structure."""
    found = spaces.kind(space)
    if found == "Dict":
        if not hasattr(value, "keys"):
            yield None, path, value, f"{words(value)} where the space is a Dict"
            return
        for key, item in space.spaces.items():
            if key in value:
                yield from by_leaf(item, value[key], f"{path}/{key}")
            else:
                yield None, f"{path}/{key}", None, "the key is missing"
        for key in value:
            if key not in space.spaces:
                yield None, f"{path}/{key}", value[key], "the key is not in the space"
        return
    if found == "Tuple":
        if not isinstance(value, (tuple, list)) or len(value) != len(space.spaces):
            count = f" of {len(value)}" if isinstance(value, (tuple, list)) else ""
            yield None, path, value, f"{words(value)}{count} where the space is a Tuple of {len(space.spaces)}"
            return
        for index, item in enumerate(space.spaces):
            yield from by_leaf(item, value[index], f"{path}/{index}")
        return
    yield spaces.Leaf(path, found if found in spaces.LEAVES else "", space), path, value, ""


def arrays(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every numpy array inside a value, with its path; bounded."""
    if isinstance(value, np.ndarray):
        yield path, value
    elif depth < MAX_DEPTH:
        if isinstance(value, dict):
            for key, item in list(value.items())[:MAX_ARRAYS]:
                yield from arrays(item, f"{path}/{key}", depth + 1)
        elif isinstance(value, (tuple, list)):
            for index, item in enumerate(value[:MAX_ARRAYS]):
                yield from arrays(item, f"{path}/{index}", depth + 1)


def containers(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every dict and list inside a value, with its path; tuples cannot change and are only looked into."""
    if depth >= MAX_DEPTH:
        return
    if isinstance(value, dict):
        yield path, value
        for key, item in list(value.items())[:MAX_ARRAYS]:
            yield from containers(item, f"{path}/{key}", depth + 1)
    elif isinstance(value, (tuple, list)):
        if isinstance(value, list):
            yield path, value
        for index, item in enumerate(value[:MAX_ARRAYS]):
            yield from containers(item, f"{path}/{index}", depth + 1)


def copied(value: Any, depth: int = 0) -> Any:
    """A copy that later writes of the environment do not reach: dicts, lists, tuples and arrays."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if depth < MAX_DEPTH:
        if isinstance(value, dict):
            return {key: copied(item, depth + 1) for key, item in value.items()}
        if isinstance(value, (tuple, list)):
            return type(value)(copied(item, depth + 1) for item in value) if type(value) in (tuple, list) else value
    return value


def difference(left: Any, right: Any, path: str = "", depth: int = 0) -> str | None:
    """The path of the first difference, or None where two values are equal (NaN equals NaN)."""
    if isinstance(left, dict) and isinstance(right, dict):
        if left.keys() != right.keys():
            return path or "/"
        found = (difference(left[key], right[key], f"{path}/{key}", depth + 1) for key in left)
        return next((place for place in found if place is not None), None)
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        if len(left) != len(right):
            return path or "/"
        found = (
            difference(a, b, f"{path}/{index}", depth + 1) for index, (a, b) in enumerate(zip(left, right, strict=True))
        )
        return next((place for place in found if place is not None), None)
    try:
        first, second = np.asarray(left), np.asarray(right)
        if first.shape != second.shape:
            return path or "/"
        same = np.array_equal(first, second, equal_nan=first.dtype.kind in "fc" and second.dtype.kind in "fc")
    except (TypeError, ValueError):
        return None
    return None if same else path or "/"


def both(left: Any, right: Any) -> str:
    """The first two numbers that differ, as `0.5 and 0.25`; empty where there are none."""
    if isinstance(left, dict) and isinstance(right, dict):
        pairs = [(left[key], right[key]) for key in left if key in right]
    elif isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        pairs = list(zip(left, right, strict=False))
    else:
        first, second = np.asarray(left).reshape(-1), np.asarray(right).reshape(-1)
        places = np.flatnonzero(first != second) if first.shape == second.shape else []
        return f"{number(first[places[0]])} and {number(second[places[0]])}" if len(places) else ""
    return next((both(a, b) for a, b in pairs if difference(a, b) is not None), "")


def part(value: Any, index: int) -> Any:
    """One environment's part of a batch: the same structure with the first axis taken away."""
    if isinstance(value, dict):
        return {key: part(item, index) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(part(item, index) for item in value)
    return value[index]


def words(value: Any) -> str:
    """A value's kind in a few words: `float64 array (3,)`, `int`, `dict of 2`."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} array {value.shape}"
    if isinstance(value, np.generic):
        return f"{value.dtype} scalar"
    if value is None:
        return "None"
    if isinstance(value, (dict, list, tuple)):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__


def number(value: Any) -> str:
    """A number as text."""
    if isinstance(value, np.generic):
        value = value.item()
    return repr(value)[:60]

"""Kinds and equality of JSON values, as JSON Schema defines them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fractions import Fraction


def kind(value: Any) -> str:
    """The JSON kind of a value, with integer literals apart from other numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "object"
    raise TypeError(f"not a JSON value: {type(value).__name__}")


def is_number(value: Any) -> bool:
    """Whether the value is a number of either kind; a boolean is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def identity(value: Any) -> Hashable:
    """A key that is equal for equal values and only for them: numbers by value, booleans never equal to numbers."""
    if isinstance(value, list):
        return ("list", tuple([identity(item) for item in value]))
    if isinstance(value, dict):
        return ("object", frozenset([(key, identity(item)) for key, item in value.items()]))
    return ("boolean", value) if isinstance(value, bool) else value


def equal(left: Any, right: Any) -> bool:
    """Equality as JSON Schema defines it."""
    return identity(left) == identity(right)


def exact(number: int | float) -> Fraction:
    """The decimal number that was written: 0.07 is 7/100, not the double next to it."""
    from fractions import Fraction

    return Fraction(repr(number))

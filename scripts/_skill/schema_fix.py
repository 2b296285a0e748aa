"""The nearest valid value for a value that a schema refuses, as one short sentence, or nothing where none is near."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from . import text
from .json_value import exact, is_number, kind

if TYPE_CHECKING:
    from fractions import Fraction

_LARGEST = (1 << 53) - 1
_NAMES = {"object": "an object", "array": "a list", "integer": "an integer", "null": "null"}


def type_names(types: list[str]) -> str:
    """The kinds for a message: `an integer or null`."""
    return " or ".join(_NAMES.get(name, f"a {name}") for name in types)


def of_type(value: Any, types: list[str], schema: dict[str, Any]) -> str:
    """For a value of the wrong kind: the same thing written as the right kind, within the schema's bounds."""
    actual = kind(value)
    if actual == "number" and "integer" in types and math.isfinite(value):
        near = nearest_number(value, {**schema, "type": "integer"})
        if near is None or abs(near) > _LARGEST:
            return "write an integer literal"
        return f"write {near} (an integer field takes integer literals only)"
    if actual == "string":
        word = value.strip().lower()
        if {"integer", "number"} & set(types) and re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]+)?", word):
            return f"write the number without quotes: {text.escaped(word, 40)}"
        if ("boolean" in types and word in ("true", "false")) or ("null" in types and word in ("null", "none")):
            return f"write {'null' if word == 'none' else word} without quotes"
        if {"integer", "number"} & set(types):
            return "write a number, without quotes"
    if actual in ("integer", "number") and "string" in types:
        return f'write "{text.shown(value)}", with quotes'
    if "boolean" in types and actual == "integer" and value in (0, 1):
        return f"write {'true' if value else 'false'}"
    if actual == "boolean" and "integer" in types:
        return f"write {int(value)}"
    if "array" in types and actual not in ("array", "null"):
        return "write it in a list: [ ]"
    return ""


def of_enum(value: Any, choices: list[Any]) -> str:
    """The choice that is nearest: by name for text, by distance for numbers."""
    near: list[Any] = []
    if isinstance(value, str):
        name = text.nearest(value, [item for item in choices if isinstance(item, str)])
        near = [item for item in choices if not isinstance(item, str) and text.shown(item) == value]
        near = near if name is None else [name]
    elif is_number(value) and math.isfinite(value):
        numbers = [item for item in choices if is_number(item)]
        near = sorted(numbers, key=lambda item: abs(exact(item) - exact(value)))
        near = near or [item for item in choices if item == str(value)]
    if not near:
        return f"write {text.shown(choices[0])}" if len(choices) == 1 else ""
    return f"did you mean {text.shown(near[0])}?"


def of_range(value: int | float, schema: dict[str, Any]) -> str:
    """The nearest number that keeps every bound of the schema at once."""
    near = nearest_number(value, schema)
    if near is not None:
        return f"the nearest valid value is {text.shown(near)}"
    low, high = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low is not None and value <= low:
        return f"any number above {text.shown(low)} is near enough"
    if high is not None and value >= high:
        return f"any number below {text.shown(high)} is near enough"
    return ""


def nearest_number(value: int | float, schema: dict[str, Any]) -> int | float | None:
    """The nearest number that keeps bounds, kind and multipleOf, or None where there is none (an open bound)."""
    if not math.isfinite(value):
        return None
    whole = "type" in schema and "number" not in schema["type"]
    step = exact(schema["multipleOf"]) if "multipleOf" in schema else exact(1) if whole else None
    if whole and step is not None:
        step = exact(step.numerator)  # the least whole multiple of a reduced fraction
    lows = [(exact(schema[key]), key != "minimum") for key in ("minimum", "exclusiveMinimum") if key in schema]
    highs = [(-exact(schema[key]), key != "maximum") for key in ("maximum", "exclusiveMaximum") if key in schema]
    low, high = max(lows, default=None), max(highs, default=None)
    at = exact(value)
    if step is None:
        for bound, sign in ((low, 1), (high, -1)):
            if bound is not None and (sign * at < bound[0] or (bound[1] and sign * at == bound[0])):
                return None if bound[1] else _written(sign * bound[0], whole)
        return None
    least = None if low is None else (math.floor(low[0] / step) + 1 if low[1] else math.ceil(low[0] / step))
    most = None if high is None else -(math.floor(high[0] / step) + 1 if high[1] else math.ceil(high[0] / step))
    if least is not None and most is not None and least > most:
        return None
    count = round(at / step)
    count = count if least is None else max(count, least)
    count = count if most is None else min(count, most)
    return _written(count * step, whole)


def of_text(value: str, pattern: re.Pattern[str], description: str) -> str:
    """The same text in the form that is asked for, where a simple change does it; else what the field is."""
    stripped = value[:200].strip()
    lowered = stripped.lower()
    for candidate in (stripped, lowered, *(re.sub(r"[^a-z0-9]+", mark, lowered).strip(mark) for mark in "-_")):
        if candidate and candidate != value and pattern.search(candidate):
            return f"did you mean {text.shown(candidate)}?"
    return description


def _written(number: Fraction, whole: bool) -> int | float:
    return int(number) if whole or (number.denominator == 1 and abs(number) < 1 << 53) else float(number)

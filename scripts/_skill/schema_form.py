"""Is a schema of the form that `json_schema` understands, and where do its references lead?

A schema with a mistake accepts what it should refuse, so every subschema is looked at before the first document is:
each keyword is known, each keyword's value is of its kind, each `$ref` leads to a subschema of the same schema.
Nothing here recurses: a schema may be as deep as it likes and may refer to itself.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from . import ecma_pattern, text
from .json_value import is_number, kind

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")

ROOT_ONLY = frozenset({"$schema", "$id"})
"""Inside of a schema these would change what the keywords or the references below them mean."""
ANNOTATIONS = ROOT_ONLY | {"$comment", "$defs", "title", "description", "default", "examples"}
COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
ONE_SCHEMA = ("additionalProperties", "items", "propertyNames")
NAMED_SCHEMAS = ("properties", "patternProperties", "$defs")
PLAIN = frozenset({"$ref", "type", "enum", "const", "pattern", "multipleOf", "uniqueItems", "required"})
KEYWORDS = ANNOTATIONS | COUNTS | BOUNDS | PLAIN | {*ONE_SCHEMA, *NAMED_SCHEMAS, "prefixItems", "dependentRequired"}


class SchemaError(Exception):
    """The schema itself is wrong; a mistake of ours, never of the document."""


class Form(NamedTuple):
    """A schema that was looked at as a whole."""

    targets: dict[str, Any]
    """The subschema that each `$ref` leads to."""
    patterns: dict[str, re.Pattern[str]]
    homes: dict[str, str]
    """Where a property of each name is declared: the pointer of the first object that has it."""


def read(document: Any) -> Form:
    """Looks at every subschema; SchemaError names the first mistake and its place."""
    places: dict[tuple[str, ...], Any] = {}
    patterns: dict[str, re.Pattern[str]] = {}
    homes: dict[str, str] = {}
    waiting: list[tuple[tuple[str, ...], Any, str | None]] = [((), document, "")]
    while waiting:
        place, schema, home = waiting.pop()
        places[place] = schema
        if isinstance(schema, bool):
            continue
        if not isinstance(schema, dict):
            raise _wrong(place, "a schema is an object or a boolean")
        unknown = sorted(set(schema) - KEYWORDS)
        if unknown:
            raise _wrong(place, f"unknown keyword {unknown[0]!r}; nearest: {text.nearest(unknown[0], KEYWORDS)}")
        _check_values(schema, place)
        for pattern in (*schema.get("patternProperties", ()), schema.get("pattern")):
            if pattern is not None:
                patterns[pattern] = _pattern(pattern, place)
        waiting.extend(reversed(_children(schema, place, home, homes)))
    return Form(_targets(places), patterns, homes)


def _children(
    schema: dict[str, Any], place: tuple[str, ...], home: str | None, homes: dict[str, str]
) -> list[tuple[tuple[str, ...], Any, str | None]]:
    """The subschemas with their places and, where a document's pointer is certain, that pointer."""
    found: list[tuple[tuple[str, ...], Any, str | None]] = []
    for keyword in NAMED_SCHEMAS:
        for name, child in schema.get(keyword, {}).items():
            inner = home + text.pointer([name]) if home is not None and keyword == "properties" else None
            if keyword == "properties" and home is not None:
                homes.setdefault(name, home)
            found.append(((*place, keyword, name), child, inner))
    for keyword in ONE_SCHEMA:
        if keyword in schema:
            found.append(((*place, keyword), schema[keyword], None))
    for index, child in enumerate(schema.get("prefixItems", [])):
        found.append(((*place, "prefixItems", str(index)), child, None))
    return found


def _check_values(schema: dict[str, Any], place: tuple[str, ...]) -> None:
    for keyword, value in schema.items():
        if not _is_right(keyword, value):
            raise _wrong((*place, keyword), "not a valid value for this keyword")
        if keyword in ROOT_ONLY and place:
            raise _wrong((*place, keyword), "stands at the root of a schema only")


def _is_right(keyword: str, value: Any) -> bool:
    """Whether the value is one that the keyword can have; its subschemas are looked at elsewhere."""
    if keyword in COUNTS:
        return kind(value) == "integer" and value >= 0
    if keyword in BOUNDS or keyword == "multipleOf":
        return is_number(value) and abs(value) < float("inf") and (keyword != "multipleOf" or value > 0)
    if keyword == "type":
        names = value if isinstance(value, list) else [value]
        return _are_names(names) and bool(names) and set(names) <= set(TYPES)
    if keyword == "required":
        return _are_names(value)
    if keyword == "dependentRequired":
        return isinstance(value, dict) and all(_are_names(names) for names in value.values())
    if keyword in NAMED_SCHEMAS:
        return isinstance(value, dict)
    if keyword == "$schema":
        return value in (DIALECT, DIALECT + "#")
    if keyword in ("enum", "examples", "prefixItems"):
        return isinstance(value, list) and (bool(value) or keyword == "examples")
    if keyword in ("pattern", "$ref", "$id", "$comment", "title", "description"):
        return isinstance(value, str)
    return keyword != "uniqueItems" or isinstance(value, bool)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(n, str) for n in value) and len(set(value)) == len(value)


def _pattern(pattern: str, place: tuple[str, ...]) -> re.Pattern[str]:
    try:
        return ecma_pattern.compiled(pattern)
    except ecma_pattern.PatternError as error:
        raise _wrong(place, f"the pattern {pattern!r}: {error}") from None


def _targets(places: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    """Where each reference leads; a circle of references that reads no part of the document would never end."""
    targets: dict[str, Any] = {}
    for place, schema in places.items():
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if reference is None or reference in targets:
            continue
        if reference != "#" and not reference.startswith("#/"):
            raise _wrong(place, f"$ref {reference!r}: only references inside the same schema are supported")
        parts = tuple(_part(part) for part in reference.split("/")[1:])
        if parts not in places:
            raise _wrong(place, f"$ref {reference!r}: there is no such subschema")
        targets[reference] = places[parts]
    ends: set[int] = set()
    for place, schema in places.items():
        seen: set[int] = set()
        while isinstance(schema, dict) and "$ref" in schema and id(schema) not in ends:
            if id(schema) in seen:
                raise _wrong(place, "$ref refers to itself")
            seen.add(id(schema))
            schema = targets[schema["$ref"]]
        ends |= seen
    return targets


def _part(part: str) -> str:
    """One part of a reference: percent-encoding of the URI, then the escapes of a JSON pointer."""
    if "%" in part:
        from urllib.parse import unquote

        part = unquote(part)
    return part.replace("~1", "/").replace("~0", "~")


def _wrong(place: tuple[str, ...], message: str) -> SchemaError:
    return SchemaError(f"#{text.pointer(place)}: {message}")

"""A validator for the subset of JSON Schema 2020-12 that the schemas in `schemas/` use.

Stricter than the standard by rule: a keyword that is not listed here is an error in the schema (the standard
ignores it, and a misspelt limit would vanish), `integer` means an integer literal (`8.0` and `8e0` are refused), and
in a `pattern` the `$` never matches before a final newline. Not supported by choice: anyOf, oneOf and
conditions, whose messages name no one mistake.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from typing import Any

from . import layout, strict_json, text
from .findings import Finding

ANNOTATIONS = frozenset({"$schema", "$id", "$comment", "$defs", "title", "description", "default", "examples"})
TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")

_COUNTS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"},
)
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
KEYWORDS = (
    ANNOTATIONS
    | _COUNTS
    | _BOUNDS
    | {
        "$ref",
        "type",
        "enum",
        "const",
        "pattern",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "uniqueItems",
        "propertyNames",
    }
)


class SchemaError(Exception):
    """The schema itself is wrong; a mistake of ours, never of the document."""


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
    return "array" if isinstance(value, list) else "object"


def equal(left: Any, right: Any) -> bool:
    """Equality as JSON Schema defines it: numbers by value, booleans never equal to numbers."""
    left_kind, right_kind = kind(left), kind(right)
    numbers = ("integer", "number")
    if left_kind != right_kind and not (left_kind in numbers and right_kind in numbers):
        return False
    if left_kind == "array":
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    if left_kind == "object":
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return bool(left == right)


class Schema:
    """A schema that has been checked, ready to validate documents."""

    def __init__(self, document: Any) -> None:
        """Checks every subschema; an unknown keyword or a malformed value raises SchemaError."""
        self.document = document
        self.patterns: dict[str, re.Pattern[str]] = {}
        self._check(document, "#")

    @classmethod
    @functools.cache
    def shipped(cls, name: str) -> Schema:
        """The schema `schemas/<name>.schema.json` of this bundle; read once in a process."""
        path = os.path.join(layout.SCHEMAS, f"{name}.schema.json")
        return cls(strict_json.loads(strict_json.read_file(path), f"schemas/{name}.schema.json"))

    def findings(self, document: Any) -> list[Finding]:
        """Every mistake in the document, in document order."""
        found: list[Finding] = []
        self._validate(document, self.document, (), found)
        return found

    def resolved(self, schema: Any) -> Any:
        """Follows a `$ref` that has no other keyword beside it."""
        while isinstance(schema, dict) and "$ref" in schema:
            schema = self._target(schema["$ref"])
        return schema

    # Checking the schema

    def _check(self, schema: Any, place: str) -> None:
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            raise SchemaError(f"{place}: a schema is an object or a boolean")
        unknown = sorted(set(schema) - KEYWORDS)
        if unknown:
            raise SchemaError(f"{place}: unknown keyword {unknown[0]!r}; nearest: {text.nearest(unknown[0], KEYWORDS)}")
        self._check_plain_keywords(schema, place)
        if "$ref" in schema:
            seen: list[str] = []
            target: Any = schema
            while isinstance(target, dict) and "$ref" in target:
                if target["$ref"] in seen:
                    raise SchemaError(f"{place}: $ref refers to itself")
                seen.append(target["$ref"])
                target = self._target(target["$ref"])
        for keyword in ("properties", "$defs"):
            children = schema.get(keyword, {})
            if not isinstance(children, dict):
                raise SchemaError(f"{place}/{keyword}: must be an object")
            for name, child in children.items():
                self._check(child, f"{place}/{keyword}/{name}")
        for keyword in ("additionalProperties", "items", "propertyNames"):
            if keyword in schema:
                self._check(schema[keyword], f"{place}/{keyword}")

    def _check_plain_keywords(self, schema: dict[str, Any], place: str) -> None:
        wrong: list[str] = []
        types = schema.get("type", [])
        types = types if isinstance(types, list) else [types]
        if any(name not in TYPES for name in types):
            wrong.append("type")
        if not isinstance(schema.get("enum", []), list):
            wrong.append("enum")
        required = schema.get("required", [])
        if not isinstance(required, list) or any(not isinstance(name, str) for name in required):
            wrong.append("required")
        if not isinstance(schema.get("uniqueItems", False), bool):
            wrong.append("uniqueItems")
        wrong.extend(key for key in _COUNTS & schema.keys() if kind(schema[key]) != "integer" or schema[key] < 0)
        wrong.extend(key for key in _BOUNDS & schema.keys() if kind(schema[key]) not in ("integer", "number"))
        if "pattern" in schema:
            try:
                self.patterns[schema["pattern"]] = re.compile(_ecma(schema["pattern"]), re.ASCII)
            except (re.error, TypeError):
                wrong.append("pattern")
        if wrong:
            raise SchemaError(f"{place}/{sorted(wrong)[0]}: not a valid value for this keyword")

    def _target(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise SchemaError(f"$ref {reference!r}: only references inside the same schema are supported")
        target = self.document
        for part in reference[2:].split("/") if reference != "#" else []:
            part = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, dict) or part not in target:
                raise SchemaError(f"$ref {reference!r}: there is no such place")
            target = target[part]
        return target

    # Validating a document

    def _validate(self, value: Any, schema: Any, place: tuple[str | int, ...], found: list[Finding]) -> None:
        if schema is True:
            return
        if schema is False:
            found.append(_finding("schema.forbidden", "nothing may stand here", place, value))
            return
        if "$ref" in schema:
            self._validate(value, self._target(schema["$ref"]), place, found)
        before = len(found)
        self._type(value, schema, place, found)
        if len(found) > before:
            return
        if "const" in schema and not equal(value, schema["const"]):
            found.append(_finding("schema.const", "not the one value", place, value, text.shown(schema["const"])))
        if "enum" in schema and not any(equal(value, item) for item in schema["enum"]):
            found.append(_not_in_enum(value, schema["enum"], place))
        if isinstance(value, str):
            self._string(value, schema, place, found)
        elif isinstance(value, dict):
            self._object(value, schema, place, found)
        elif isinstance(value, list):
            self._array(value, schema, place, found)
        elif kind(value) in ("integer", "number"):
            _number(value, schema, place, found)

    def _type(self, value: Any, schema: dict[str, Any], place: tuple[str | int, ...], found: list[Finding]) -> None:
        if "type" not in schema:
            return
        wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        actual = kind(value)
        if actual in wanted or (actual == "integer" and "number" in wanted):
            return
        fix = ""
        if wanted == ["integer"] and actual == "number":
            fix = f"write {int(value)}" if value == int(value) else f"write {round(value)}"
            fix += " (an integer field takes integer literals only)"
        elif actual == "string" and {"integer", "number"} & set(wanted):
            fix = "write the number without quotes"
        names = " or ".join(
            {"object": "an object", "array": "a list", "integer": "an integer"}.get(n, f"a {n}") for n in wanted
        )
        found.append(
            _finding("schema.type", f"wrong type: {actual}", place, value, names.replace("a null", "null"), fix)
        )

    def _string(self, value: str, schema: dict[str, Any], place: tuple[str | int, ...], found: list[Finding]) -> None:
        pattern = schema.get("pattern")
        if pattern is not None and not self.patterns[pattern].search(value):
            found.append(
                _finding("schema.pattern", "text of the wrong form", place, value, f"text that matches {pattern}")
            )
        _count(len(value), "characters", schema, ("minLength", "maxLength"), place, found)

    def _array(
        self, value: list[Any], schema: dict[str, Any], place: tuple[str | int, ...], found: list[Finding]
    ) -> None:
        _count(len(value), "items", schema, ("minItems", "maxItems"), place, found)
        if "items" in schema:
            for index, item in enumerate(value):
                self._validate(item, schema["items"], (*place, index), found)
        if schema.get("uniqueItems") and any(
            equal(value[i], value[j]) for i in range(len(value)) for j in range(i + 1, len(value))
        ):
            found.append(_finding("schema.unique", "an item stands twice", place, value, "each item once"))

    def _object(
        self, value: dict[str, Any], schema: dict[str, Any], place: tuple[str | int, ...], found: list[Finding]
    ) -> None:
        properties = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                found.append(_finding("schema.required", f"the key {text.shown(name)} is missing", place, value))
        _count(len(value), "keys", schema, ("minProperties", "maxProperties"), place, found)
        extra = schema.get("additionalProperties", True)
        for name, item in value.items():
            inner = (*place, name)
            if "propertyNames" in schema:
                self._validate(name, schema["propertyNames"], inner, found)
            if name in properties:
                self._validate(item, properties[name], inner, found)
            elif extra is False:
                near = text.nearest(name, properties)
                fix = f"did you mean {text.shown(near)}?" if near else "remove the key"
                found.append(
                    _finding(
                        "schema.unknown_key",
                        f"unknown key {text.shown(name)}",
                        inner,
                        item,
                        text.listed(properties),
                        fix,
                    )
                )
            else:
                self._validate(item, extra, inner, found)


def _ecma(pattern: str) -> str:
    """The pattern for Python's `re`: an ECMA `$` is the very end of the text, Python's also stands before a newline."""
    return re.sub(r"(\\.)|\$", lambda match: match[1] or r"\Z", pattern, flags=re.DOTALL)


def _finding(
    code: str, message: str, place: tuple[str | int, ...], value: Any, want: str = "", fix: str = ""
) -> Finding:
    return Finding(code, message, text.pointer(place), text.shown(value), want, fix)


def _not_in_enum(value: Any, choices: list[Any], place: tuple[str | int, ...]) -> Finding:
    fix = ""
    if isinstance(value, str):
        near = text.nearest(value, [item for item in choices if isinstance(item, str)])
        fix = f"did you mean {text.shown(near)}?" if near else ""
    want = "one of " + ", ".join(text.shown(item) for item in choices[:20])
    return _finding("schema.enum", "not one of the known values", place, value, want, fix)


def _count(
    count: int,
    noun: str,
    schema: dict[str, Any],
    keywords: tuple[str, str],
    place: tuple[str | int, ...],
    found: list[Finding],
) -> None:
    least, most = schema.get(keywords[0]), schema.get(keywords[1])
    if least is not None and count < least:
        found.append(Finding("schema.count", f"too few {noun}", text.pointer(place), str(count), f"at least {least}"))
    if most is not None and count > most:
        found.append(Finding("schema.count", f"too many {noun}", text.pointer(place), str(count), f"at most {most}"))


def _number(value: int | float, schema: dict[str, Any], place: tuple[str | int, ...], found: list[Finding]) -> None:
    # Written so that a NaN, for which every comparison is false, fails each bound.
    bounds: tuple[tuple[str, str, Callable[[float], bool]], ...] = (
        ("minimum", "at least", lambda bound: value >= bound),
        ("maximum", "at most", lambda bound: value <= bound),
        ("exclusiveMinimum", "more than", lambda bound: value > bound),
        ("exclusiveMaximum", "less than", lambda bound: value < bound),
    )
    for keyword, words, holds in bounds:
        if keyword in schema and not holds(schema[keyword]):
            bound = text.shown(schema[keyword])
            fix = f"the nearest valid value is {bound}" if not keyword.startswith("exclusive") else ""
            found.append(_finding("schema.range", "number out of range", place, value, f"{words} {bound}", fix))

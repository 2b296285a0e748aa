"""A validator for a subset of JSON Schema 2020-12, the one that the schemas in `schemas/` are written in.

Understood: type, enum, const; minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf; minLength, maxLength,
pattern; items, prefixItems, minItems, maxItems, uniqueItems; properties, patternProperties, additionalProperties,
propertyNames, required, dependentRequired, minProperties, maxProperties; `$ref` to a subschema of the same document
(`#` or `#/...`) with keywords beside it or not; `$defs`; true and false. Annotations ($schema and $id at the root,
$comment, title, description, default, examples) say nothing about a document.

Stricter than the standard by rule: a keyword that is not listed above is an error in the schema (the standard
ignores it, and a misspelt limit would vanish), `integer` means an integer literal (`8.0` and `8e0` are refused), a
`pattern` means what ECMA-262 says, a NaN fails every bound, an empty enum is a mistake. Not supported by choice: anyOf,
oneOf, not and conditions, whose messages name no one mistake; references to other documents and anchors.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from typing import Any

from . import layout, schema_fix, schema_form, strict_json, text
from .findings import SHOWN_FINDINGS, Finding
from .json_value import equal, exact, identity, is_number, kind
from .schema_form import SchemaError

__all__ = ["MAX_DEPTH", "MAX_FINDINGS", "Schema", "SchemaError"]

MAX_FINDINGS = 1000
"""How many mistakes of one document are named; the search ends there."""
MAX_DEPTH = strict_json.MAX_DEPTH

_Place = tuple[str | int, ...]


class Schema:
    """A schema that has been checked, ready to validate documents."""

    def __init__(self, document: Any) -> None:
        """Checks every subschema; an unknown keyword or a malformed value raises SchemaError."""
        self.document = document
        self._form = schema_form.read(document)

    @classmethod
    @functools.cache
    def shipped(cls, name: str) -> Schema:
        """The schema `schemas/<name>.schema.json` of this bundle; read once in a process."""
        path = os.path.join(layout.SCHEMAS, f"{name}.schema.json")
        return cls(strict_json.loads(strict_json.read_file(path), f"schemas/{name}.schema.json"))

    def findings(self, document: Any) -> list[Finding]:
        """The mistakes in the document, in document order, at most MAX_FINDINGS."""
        found: list[Finding] = []
        self._validate(document, self.document, (), found)
        return found

    def resolved(self, schema: Any) -> Any:
        """What a `$ref` leads to in the end; any other schema is itself."""
        while isinstance(schema, dict) and "$ref" in schema:
            schema = self._form.targets[schema["$ref"]]
        return schema

    def _validate(self, value: Any, schema: Any, place: _Place, found: list[Finding]) -> None:
        if len(place) > MAX_DEPTH:
            if not any(finding.code == "schema.depth" for finding in found):
                want = f"at most {MAX_DEPTH} levels"
                found.append(Finding("schema.depth", "nested too deep to be checked", text.pointer(place), want=want))
            return
        chain = [schema]
        while isinstance(chain[-1], dict) and "$ref" in chain[-1]:
            chain.append(self._form.targets[chain[-1]["$ref"]])
        for each in reversed(chain):
            if len(found) >= MAX_FINDINGS:
                return
            if each is False:
                found.append(_finding("schema.forbidden", "nothing may stand here", place, value, "", "remove it"))
            elif each is not True:
                self._apply(value, each, place, found)

    def _apply(self, value: Any, schema: dict[str, Any], place: _Place, found: list[Finding]) -> None:
        actual = kind(value)
        if "type" in schema:
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            if actual not in types and not (actual == "integer" and "number" in types):
                want, fix = schema_fix.type_names(types), schema_fix.of_type(value, types, schema)
                found.append(_finding("schema.type", f"wrong type: {actual}", place, value, want, fix))
                return
        if "const" in schema and not equal(value, schema["const"]):
            want = text.shown(schema["const"])
            found.append(_finding("schema.const", "not the one value", place, value, want, f"write {want}"))
        if "enum" in schema and not any(equal(value, item) for item in schema["enum"]):
            want = "one of " + ", ".join(text.shown(item) for item in schema["enum"][:20])
            fix = schema_fix.of_enum(value, schema["enum"])
            found.append(_finding("schema.enum", "not one of the known values", place, value, want, fix))
        if isinstance(value, str):
            self._string(value, schema, place, found)
        elif isinstance(value, dict):
            self._object(value, schema, place, found)
        elif isinstance(value, list):
            self._array(value, schema, place, found)
        elif is_number(value):
            _number(value, schema, place, found)

    def _string(self, value: str, schema: dict[str, Any], place: _Place, found: list[Finding]) -> None:
        _count(len(value), "character", schema, ("minLength", "maxLength"), place, found)
        if "pattern" not in schema or len(value) > schema.get("maxLength", len(value)):
            return
        pattern = self._form.patterns[schema["pattern"]]
        if not pattern.search(value):
            want = f"text that matches {schema['pattern']}"
            fix = schema_fix.of_text(value, pattern, schema.get("description", ""))
            found.append(_finding("schema.pattern", "text of the wrong form", place, value, want, fix))

    def _array(self, value: list[Any], schema: dict[str, Any], place: _Place, found: list[Finding]) -> None:
        _count(len(value), "item", schema, ("minItems", "maxItems"), place, found)
        if len(value) > schema.get("maxItems", len(value)):
            return
        first = schema.get("prefixItems", [])
        rest = schema.get("items", True)
        for index, item in enumerate(value[: len(first)] if rest is True else value):
            self._validate(item, first[index] if index < len(first) else rest, (*place, index), found)
        if schema.get("uniqueItems"):
            seen: dict[Any, int] = {}
            for index, item in enumerate(value):
                earlier = seen.setdefault(identity(item), index)
                if earlier != index:
                    want, fix = "each item once", f"remove it: the same item stands at {earlier}"
                    found.append(_finding("schema.unique", "an item stands twice", (*place, index), item, want, fix))
                    break

    def _object(self, value: dict[str, Any], schema: dict[str, Any], place: _Place, found: list[Finding]) -> None:
        properties = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                found.append(self._missing(name, f"the key {text.shown(name)} is missing", value, properties, place))
        for name, others in schema.get("dependentRequired", {}).items():
            for other in others if name in value else []:
                if other not in value:
                    message = f"the key {text.shown(name)} needs the key {text.shown(other)} beside it"
                    found.append(self._missing(other, message, value, properties, place))
        _count(len(value), "key", schema, ("minProperties", "maxProperties"), place, found)
        by_pattern = [(self._form.patterns[key], inner) for key, inner in schema.get("patternProperties", {}).items()]
        extra = schema.get("additionalProperties", True)
        for name, item in value.items():
            if len(found) >= MAX_FINDINGS:
                return
            inner = (*place, name)
            if "propertyNames" in schema:
                self._validate(name, schema["propertyNames"], inner, found)
            known = name in properties
            if known:
                self._validate(item, properties[name], inner, found)
            for pattern, subschema in by_pattern:
                if pattern.search(name):
                    known = True
                    self._validate(item, subschema, inner, found)
            if not known and extra is False:
                found.append(self._unknown(name, item, value, properties, inner, len(found) < SHOWN_FINDINGS))
            elif not known and extra is not True:
                self._validate(item, extra, inner, found)

    def _missing(
        self, name: str, message: str, value: dict[str, Any], properties: dict[str, Any], place: _Place
    ) -> Finding:
        schema = self.resolved(properties.get(name, True))
        fix = f"add {text.shown(name)}"
        if isinstance(schema, dict):
            example = next((schema[key] for key in ("const", "default") if key in schema), None)
            if example is not None and not isinstance(example, (dict, list)):
                fix += f": {text.shown(example)}"
        return _finding("schema.required", message, place, value, f"the key {text.shown(name)}", fix)

    def _unknown(
        self, name: str, item: Any, value: dict[str, Any], properties: dict[str, Any], place: _Place, with_fix: bool
    ) -> Finding:
        """The finding of an unknown key; looking for near names takes its time, so only what is shown gets a fix."""
        fix = "remove the key"
        near = text.nearest(name, properties) if with_fix and len(properties) <= 1000 else None
        home = self._form.homes.get(name)
        if near and near.lower() != name.lower() and home is not None:
            near = None
        if near:
            fix = f"did you mean {text.shown(near)}?"
            fix += "" if near not in value else " It stands there already: remove one."
        elif home is not None:
            fix = f"move it to {text.escaped(home + text.pointer([name]))}"
        message = f"unknown key {text.shown(name)}"
        want = text.listed(properties) if with_fix else ""
        return _finding("schema.unknown_key", message, place, item, want or "no key", fix)


def _finding(code: str, message: str, place: _Place, value: Any, want: str = "", fix: str = "") -> Finding:
    return Finding(code, message, text.pointer(place), text.shown(value), want, fix)


def _count(
    count: int, noun: str, schema: dict[str, Any], keywords: tuple[str, str], place: _Place, found: list[Finding]
) -> None:
    least, most = (schema.get(keyword) for keyword in keywords)
    wrong: list[tuple[str, str, str]] = []
    if least is not None and count < least:
        wrong.append((f"too few {noun}s", f"at least {least}", f"add {least - count}"))
    if most is not None and count > most:
        wrong.append((f"too many {noun}s", f"at most {most}", f"remove {count - most}"))
    for message, want, fix in wrong:
        found.append(Finding("schema.count", message, text.pointer(place), f"{count} {noun}s", f"{want} {noun}s", fix))


def _number(value: int | float, schema: dict[str, Any], place: _Place, found: list[Finding]) -> None:
    # Written so that a NaN, for which every comparison is false, fails each bound.
    bounds: tuple[tuple[str, str, Callable[[float], bool]], ...] = (
        ("minimum", "at least", lambda bound: value >= bound),
        ("maximum", "at most", lambda bound: value <= bound),
        ("exclusiveMinimum", "more than", lambda bound: value > bound),
        ("exclusiveMaximum", "less than", lambda bound: value < bound),
    )
    for keyword, words, holds in bounds:
        if keyword in schema and not holds(schema[keyword]):
            want = f"{words} {text.shown(schema[keyword])}"
            fix = schema_fix.of_range(value, schema)
            found.append(_finding("schema.range", "number out of range", place, value, want, fix))
    if "multipleOf" in schema and not _is_multiple(value, schema["multipleOf"]):
        want = f"a multiple of {text.shown(schema['multipleOf'])}"
        fix = schema_fix.of_range(value, schema)
        found.append(_finding("schema.multiple", "number between two steps", place, value, want, fix))


def _is_multiple(value: int | float, step: int | float) -> bool:
    """By the decimals that were written: 0.07 is a multiple of 0.01, which dividing doubles denies."""
    return math.isfinite(value) and (exact(value) / exact(step)).denominator == 1

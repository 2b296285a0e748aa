"""Every shipped schema judges documents as `jsonschema` does, and refuses a misspelt key at every object."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from _skill import ecma_pattern, strict_json
from _skill.json_schema import Schema

from .gate_bundle import ROOT

NAMES = sorted(path.name.removesuffix(".schema.json") for path in (ROOT / "schemas").iterdir())
MUTANTS = 40
"""Changed documents for each valid one."""
SMALL: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab/ ", max_size=4)


def document(name: str) -> Any:
    return json.loads((ROOT / "schemas" / f"{name}.schema.json").read_bytes())


# What jsonschema says under our two stricter rules; the plain one stays beside it.
STRICT = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    validators={
        "pattern": lambda validator, pattern, value, schema: (
            [jsonschema.ValidationError("pattern")]
            if isinstance(value, str) and not ecma_pattern.compiled(pattern).search(value)
            else []
        )
    },
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda checker, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


def is_stricter_ground(value: Any) -> bool:
    """Whether a whole float, or text that is not plain ASCII, stands anywhere: only there may the verdicts differ."""
    if isinstance(value, dict):
        return any(is_stricter_ground(key) or is_stricter_ground(item) for key, item in value.items())
    if isinstance(value, list):
        return any(map(is_stricter_ground, value))
    if isinstance(value, str):
        return not (value.isascii() and value.isprintable())
    return isinstance(value, float) and value == int(value)


class Generator:
    """Documents that a schema accepts, made from the schema alone."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.schema = Schema(root)

    def values(self, schema: Any, depth: int = 0) -> st.SearchStrategy[Any]:
        schema = self.schema.resolved(schema)
        if schema is True or schema == {}:
            return SMALL
        if "const" in schema:
            return st.just(schema["const"])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        types = schema.get("type") or ("object" if "properties" in schema else "string")
        types = types if isinstance(types, list) else [types]
        return st.one_of([self.of_type(kind, schema, depth) for kind in types])

    def of_type(self, kind: str, schema: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
        if kind == "object":
            return self.objects(schema, depth)
        if kind == "array":
            least = schema.get("minItems", 0)
            most = max(least, min(schema.get("maxItems", 3), 0 if depth > 6 else 3))
            head = [self.values(item, depth + 1) for item in schema.get("prefixItems", [])]
            if schema.get("items", True) is False:
                return st.tuples(*head).map(list) if head else st.just([])
            unique = repr if schema.get("uniqueItems") else None
            tail = st.lists(
                self.values(schema.get("items", True), depth + 1),
                min_size=max(0, least - len(head)),
                max_size=most,
                unique_by=unique,
            )
            return st.tuples(st.tuples(*head), tail).map(lambda pair: [*pair[0], *pair[1]])
        if kind == "string":
            return self.strings(schema)
        if kind in ("integer", "number"):
            return self.numbers(kind, schema)
        return st.booleans() if kind == "boolean" else st.none()

    def objects(self, schema: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
        required = schema.get("required", [])
        properties = schema.get("properties", {})
        fixed = {name: self.values(properties.get(name, True), depth + 1) for name in required}
        optional = {
            name: self.values(child, depth + 1)
            for name, child in properties.items()
            if name not in required and depth < 6
        }
        extra: st.SearchStrategy[dict[str, Any]] = st.just({})
        open_schema = schema.get("additionalProperties", True)
        if open_schema is not False:
            names = self.values({"type": "string", **schema.get("propertyNames", {"pattern": "^x_"})})
            extra = st.dictionaries(
                names.filter(lambda name: name not in properties),
                self.values(open_schema, depth + 1),
                min_size=max(0, schema.get("minProperties", 0) - len(fixed)),
                max_size=min(3, schema.get("maxProperties", 3)),
            )
        return st.tuples(extra, st.fixed_dictionaries(fixed, optional=optional)).map(lambda two: {**two[0], **two[1]})

    def strings(self, schema: dict[str, Any]) -> st.SearchStrategy[str]:
        least, most = schema.get("minLength", 0), schema.get("maxLength", 10**9)
        if "pattern" in schema:
            texts = st.from_regex(ecma_pattern.compiled(schema["pattern"]))
            return texts.filter(lambda value: least <= len(value) <= most)
        return st.text("ab: /.\u00e9", min_size=least, max_size=min(most, least + 8))

    def numbers(self, kind: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
        low, high = schema.get("minimum"), schema.get("maximum")
        above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
        if kind == "integer":
            low = low if above is None else above + 1
            high = high if below is None else below - 1
            most = strict_json.MAX_INTEGER
            low, high = max(-most, -most if low is None else low), min(most, most if high is None else high)
            return st.integers(low, high).filter(lambda value: value % schema.get("multipleOf", 1) == 0)
        floats = st.floats(
            low if above is None else above,
            high if below is None else below,
            exclude_min=above is not None,
            exclude_max=below is not None,
            allow_nan=False,
            allow_infinity=False,
        )
        return floats.filter(lambda value: not schema.get("multipleOf"))


def places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield place
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*place, key))


def at(value: Any, place: tuple[str | int, ...]) -> Any:
    for part in place:
        value = value[part]
    return value


def near(value: Any, chance: random.Random) -> Any:
    """A value that differs a little in value or kind."""
    if isinstance(value, bool) or value is None:
        return chance.choice([0, 1, "true", "", None, not value, []])
    if isinstance(value, int):
        return chance.choice([value + 1, value - 1, -value, float(value), str(value), 0, 2**53, bool(value), None])
    if isinstance(value, float):
        return chance.choice([value + 0.5, -value, 0.0, 1.0, int(value), str(value), 1e308, value * 2])
    if isinstance(value, str):
        changed = [value + "\n", value + "x", value[:-1], value.upper(), " " + value, "", value + "\u0663", value * 50]
        return chance.choice([*changed, 5, None, [value], True])
    if isinstance(value, list):
        return chance.choice([value + value, value[:-1], value[::-1], [*value, None], value * 40, {}, [value], None])
    return chance.choice([{}, [], None, [value], 5, "", {**value, "extra": 1}])


def mutant(original: Any, chance: random.Random) -> Any:
    """The document with one to three small changes."""
    changed = copy.deepcopy(original)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        place = chance.choice(list(places(changed)))
        if not place:
            continue
        parent, key = at(changed, place[:-1]), place[-1]
        how = chance.random()
        if how < 0.7:
            parent[key] = near(parent[key], chance)
        elif how < 0.8:
            del parent[key]
        elif isinstance(parent, dict):
            parent[chance.choice([f"{key}x", str(key)[:-1], str(key).upper(), "extra"])] = parent.pop(key)
        else:
            parent.append(copy.deepcopy(parent[key]))
    return changed


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_is_that_of_jsonschema_for_valid_and_nearly_valid_documents(name: str) -> None:
    root = document(name)
    ours, strict, plain = Schema(root), STRICT(root), jsonschema.Draft202012Validator(root)
    seen = {True: 0, False: 0}

    @settings(max_examples=40, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
    @given(Generator(root).values(root), st.integers(0, 2**32))
    def compare(valid: Any, seed: int) -> None:
        read = strict_json.loads(strict_json.canonical(valid), name)
        assert read == valid and ours.findings(read) == []
        chance = random.Random(seed)
        for candidate in [valid, *(mutant(valid, chance) for _ in range(MUTANTS))]:
            found = ours.findings(candidate)
            assert (not found) == strict.is_valid(candidate), (candidate, found)
            if found and plain.is_valid(candidate):
                assert is_stricter_ground(candidate), (candidate, found)
            seen[not found] += 1

    compare()
    assert seen[True] >= 40 and seen[False] >= 500, seen


@pytest.mark.parametrize("name", NAMES)
def test_a_misspelt_key_is_refused_at_every_closed_object_that_the_schema_can_make(name: str) -> None:
    root = document(name)
    schema = Schema(root)
    wanted = {id(child) for child in closed_objects(root)}
    reached: set[int] = set()

    def walk(value: Any, rule: Any, place: tuple[str | int, ...], whole: Any) -> None:
        rule = schema.resolved(rule)
        if not isinstance(rule, dict):
            return
        if isinstance(value, list):
            for index, item in enumerate(value):
                head = rule.get("prefixItems", [])
                walk(item, head[index] if index < len(head) else rule.get("items", True), (*place, index), whole)
        if not isinstance(value, dict):
            return
        for key, item in value.items():
            inner = rule.get("properties", {}).get(key, rule.get("additionalProperties", True))
            walk(item, inner, (*place, key), whole)
        if id(rule) not in wanted:
            return
        for key in [*value, ""]:
            changed = copy.deepcopy(whole)
            target = at(changed, place)
            target[key + "x"] = target.pop(key, 1)
            pointer = "".join(f"/{part}" for part in (*place, key + "x"))
            assert pointer in {f.pointer for f in schema.findings(changed) if f.code == "schema.unknown_key"}
        reached.add(id(rule))

    @settings(max_examples=25, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
    @given(Generator(root).values(root))
    def every_place(valid: Any) -> None:
        if reached != wanted:
            walk(valid, root, (), valid)

    every_place()
    assert reached == wanted


def closed_objects(rule: Any) -> Iterator[dict[str, Any]]:
    """Every subschema that takes its own keys only."""
    if not isinstance(rule, dict):
        return
    if rule.get("additionalProperties") is False and "patternProperties" not in rule:
        yield rule
    for child in (*rule.get("properties", {}).values(), *rule.get("$defs", {}).values(), *rule.get("prefixItems", [])):
        yield from closed_objects(child)
    for keyword in ("items", "additionalProperties"):
        yield from closed_objects(rule.get(keyword))

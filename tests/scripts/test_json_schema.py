"""The schema validator agrees with jsonschema, apart from where it is stricter by rule."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _skill.json_schema import KEYWORDS, Schema, SchemaError

SMALL = (
    st.none()
    | st.booleans()
    | st.integers(-3, 5)
    | st.sampled_from([0.5, 1.5, -2.25])
    | st.sampled_from(["", "a", "ab", "a\n", "b1"])
)
DOCUMENTS = st.recursive(
    SMALL,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=8,
)


def keyword_schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    kinds = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
    return st.fixed_dictionaries(
        {},
        optional={
            "type": kinds | st.lists(kinds, min_size=1, max_size=3, unique=True),
            "enum": st.lists(DOCUMENTS, min_size=1, max_size=3),
            "const": DOCUMENTS,
            "minimum": st.integers(-2, 3),
            "maximum": st.sampled_from([-1, 0.5, 2]),
            "exclusiveMinimum": st.integers(-2, 3),
            "exclusiveMaximum": st.integers(-2, 3),
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(0, 2),
            "pattern": st.sampled_from(["^a", "b", "^[a-z]+", "[0-9]"]),
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 3),
            "uniqueItems": st.booleans(),
            "items": inner,
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "required": st.lists(st.sampled_from(["a", "b"]), unique=True, max_size=2),
            "additionalProperties": inner,
            "propertyNames": st.just({"pattern": "^[ab]$"}),
            "minProperties": st.integers(0, 2),
            "maxProperties": st.integers(0, 3),
            "$ref": st.just("#/$defs/small"),
        },
    )


SCHEMAS = st.recursive(st.booleans() | keyword_schemas(st.booleans()), keyword_schemas, max_leaves=6).filter(
    lambda schema: isinstance(schema, dict)
)


@settings(max_examples=300, deadline=None)
@given(SCHEMAS, DOCUMENTS)
def test_agrees_with_jsonschema_on_generated_schemas_and_documents(schema: dict[str, Any], document: Any) -> None:
    schema = {**schema, "$defs": {"small": {"type": ["integer", "string", "null"], "maximum": 2, "maxLength": 1}}}
    expected = jsonschema.Draft202012Validator(schema).is_valid(document)
    assert (not Schema(schema).findings(document)) == expected


@pytest.mark.parametrize(
    ("schema", "document"),
    [
        ({"type": "integer"}, 8.0),
        ({"type": "integer"}, 1e22),
        ({"pattern": "^a$"}, "a\n"),
        ({"minimum": 0, "maximum": 1}, float("nan")),
    ],
)
def test_is_stricter_by_rule(schema: dict[str, Any], document: Any) -> None:
    assert jsonschema.Draft202012Validator(schema).is_valid(document)
    assert Schema(schema).findings(document)


@pytest.mark.parametrize("value", [True, 8.0, "8"])
def test_an_integer_field_takes_integer_literals_only(value: Any) -> None:
    finding = Schema({"type": "integer"}).findings(value)[0]
    assert (finding.code, finding.want) == ("schema.type", "an integer")


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [True]},
        {"minimun": 1},
        {"properties": {"a": {"maxlength": 1}}},
        {"items": {"format": "date"}},
        {"$ref": "#/$defs/none"},
        {"$ref": "http://elsewhere/x"},
        {"$ref": "#"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"type": "int"},
        {"pattern": "("},
        {"minLength": -1},
        {"maximum": "1"},
        {"required": "a"},
        {"properties": {"a": 1}},
        [],
    ],
)
def test_a_wrong_schema_is_an_error_and_never_ignored(schema: Any) -> None:
    with pytest.raises(SchemaError):
        Schema(schema)


def test_every_keyword_that_it_claims_is_in_the_generated_schemas_or_an_annotation() -> None:
    generated = {
        *("type enum const minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern").split(),
        *("minItems maxItems uniqueItems items properties required additionalProperties propertyNames").split(),
        *("minProperties maxProperties $ref").split(),
    }
    assert (
        generated | {"$schema", "$id", "$comment", "$defs", "title", "description", "default", "examples"} == KEYWORDS
    )


def test_an_unknown_key_names_the_nearest_known_one() -> None:
    schema = Schema({"additionalProperties": False, "properties": {"learning_rate": True, "gamma": True}})
    finding = schema.findings({"lerning_rate": 3})[0]
    assert (finding.pointer, finding.fix) == ("/lerning_rate", 'did you mean "learning_rate"?')

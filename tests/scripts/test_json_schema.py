"""The schema validator agrees with jsonschema, apart from where it is stricter by rule."""

from __future__ import annotations

import time
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _skill import ecma_pattern, json_schema, schema_fix
from _skill.json_schema import Schema, SchemaError
from _skill.json_value import exact
from _skill.schema_form import ANNOTATIONS, KEYWORDS

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
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "multipleOf": st.sampled_from([0.5, 2, 1.5]),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b|c"]), inner, max_size=2),
            "dependentRequired": st.dictionaries(st.sampled_from(["a", "b"]), st.just(["c"]), max_size=2),
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


WRONG_SCHEMAS = [
    {"anyOf": [True]},
    {"minimun": 1},
    {"properties": {"a": {"maxlength": 1}}},
    {"patternProperties": {"a": {"maxlength": 1}}},
    {"prefixItems": [{"maxlength": 1}]},
    {"$defs": {"unused": {"maxlength": 1}}},
    {"items": {"format": "date"}},
    {"$ref": "#/$defs/none"},
    {"$ref": "http://elsewhere/x"},
    {"$ref": "other.json"},
    {"$ref": "#anchor"},
    {"$ref": 1},
    {"$ref": "#"},
    {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    {"$defs": {"a": {"$ref": "#/$defs/a", "type": "string"}}},
    {"enum": [{"type": "string"}], "$ref": "#/enum/0"},
    {"properties": {"a": True}, "$ref": "#/properties"},
    {"properties": {"a": {"$id": "urn:x"}}},
    {"$schema": "http://json-schema.org/draft-07/schema#"},
    {"type": "int"},
    {"type": []},
    {"type": ["string", "string"]},
    {"type": 5},
    {"enum": []},
    {"enum": "a"},
    {"pattern": "("},
    {"pattern": 1},
    {"patternProperties": {"(": True}},
    {"minLength": -1},
    {"minLength": 2.0},
    {"minLength": True},
    {"maximum": "1"},
    {"maximum": float("nan")},
    {"multipleOf": 0},
    {"multipleOf": -1},
    {"required": "a"},
    {"required": ["a", "a"]},
    {"required": [1]},
    {"dependentRequired": {"a": "b"}},
    {"properties": {"a": 1}},
    {"properties": []},
    {"items": [True]},
    {"prefixItems": []},
    {"uniqueItems": 1},
    {"title": 1},
    [],
    None,
]


@pytest.mark.parametrize("schema", WRONG_SCHEMAS, ids=repr)
def test_a_wrong_schema_is_an_error_and_never_ignored(schema: Any) -> None:
    with pytest.raises(SchemaError):
        Schema(schema)


def test_every_keyword_that_it_claims_is_in_the_generated_schemas_or_an_annotation_and_in_its_own_description() -> None:
    generated = {
        *("type enum const minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern").split(),
        *("minItems maxItems uniqueItems items properties required additionalProperties propertyNames").split(),
        *("minProperties maxProperties $ref prefixItems multipleOf patternProperties dependentRequired").split(),
    }
    assert generated | ANNOTATIONS == KEYWORDS
    described = str(json_schema.__doc__).replace("`", " ").replace(",", " ").replace(";", " ").replace(":", " ")
    assert set(described.replace(")", " ").replace("(", " ").replace(".", " ").split()) >= KEYWORDS


def deep(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def test_a_schema_that_refers_to_itself_and_a_document_without_end_are_no_stack_overflow() -> None:
    tree = Schema({"$ref": "#/$defs/tree", "$defs": {"tree": {"items": {"$ref": "#"}, "type": ["array", "integer"]}}})
    assert tree.findings(deep(64)) == []
    assert [finding.code for finding in tree.findings(deep(100_000))] == ["schema.depth"]
    assert [finding.code for finding in Schema({"$ref": "#/$defs/a", "$defs": {"a": {}}}).findings(deep(65))] == []


def test_a_long_chain_of_references_and_a_deep_schema_are_no_stack_overflow() -> None:
    chain: dict[str, Any] = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(5000)}
    schema = Schema({"$ref": "#/$defs/d0", "$defs": {**chain, "d5000": {"type": "string"}}})
    assert [finding.code for finding in schema.findings(1)] == ["schema.type"]
    nested: Any = {"type": "string"}
    for _ in range(5000):
        nested = {"items": nested}
    assert Schema(nested).findings([[1]]) == []


def test_a_document_full_of_mistakes_gives_a_bounded_list_at_once() -> None:
    schema = Schema({"additionalProperties": False, "properties": {f"name_{i}": True for i in range(200)}})
    started = time.process_time()
    findings = schema.findings({f"nme_{i}": i for i in range(80_000)})
    assert len(findings) == json_schema.MAX_FINDINGS
    assert time.process_time() - started < 2
    long = "k" * 1_000_000
    findings = Schema({"additionalProperties": {"items": False}}).findings({long: list(range(5000))})
    assert len(findings) == json_schema.MAX_FINDINGS
    assert sum(len(part) for finding in findings for part in finding) < 1_000_000


def test_many_items_are_compared_in_linear_time() -> None:
    schema = Schema({"uniqueItems": True})
    started = time.process_time()
    assert schema.findings([*range(200_000), *map(str, range(100_000))]) == []
    (finding,) = schema.findings([{"a": [1, True]}, {"a": [True, 1]}, {"a": [1.0, True]}])
    assert finding.pointer == "/2"
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("schema", "document", "pointer", "got", "want", "fix"),
    [
        ({"type": "integer"}, 8.0, "", "8.0", "an integer", "write 8 (an integer field takes integer literals only)"),
        ({"type": "integer"}, "8", "", '"8"', "an integer", "write the number without quotes: 8"),
        ({"type": "integer"}, True, "", "true", "an integer", "write 1"),
        ({"type": "string"}, 4.5, "", "4.5", "a string", 'write "4.5", with quotes'),
        ({"type": "boolean"}, "True", "", '"True"', "a boolean", "write true without quotes"),
        ({"type": "boolean"}, 1, "", "1", "a boolean", "write true"),
        ({"type": ["integer", "null"]}, "None", "", '"None"', "an integer or null", "write null without quotes"),
        ({"type": "array"}, 64, "", "64", "a list", "write it in a list: [ ]"),
        ({"const": "plan/2"}, "plan/1", "", '"plan/1"', '"plan/2"', 'write "plan/2"'),
        ({"enum": ["tanh", "relu"]}, "tahn", "", '"tahn"', 'one of "tanh", "relu"', 'did you mean "tanh"?'),
        ({"enum": [1, 2, 4]}, 5, "", "5", "one of 1, 2, 4", "did you mean 4?"),
        ({"enum": ["4.0", "3.0"]}, 3.0, "", "3.0", 'one of "4.0", "3.0"', 'did you mean "3.0"?'),
        ({"enum": [1, None]}, "null", "", '"null"', "one of 1, null", "did you mean null?"),
        ({"minimum": 1}, -3, "", "-3", "at least 1", "the nearest valid value is 1"),
        ({"type": "integer", "exclusiveMaximum": 8}, 9, "", "9", "less than 8", "the nearest valid value is 7"),
        ({"exclusiveMinimum": 0}, 0, "", "0", "more than 0", "any number above 0 is near enough"),
        ({"multipleOf": 0.01}, 0.075, "", "0.075", "a multiple of 0.01", "the nearest valid value is 0.08"),
        ({"type": "integer", "multipleOf": 8, "maximum": 30}, 32, "", "32", "at most 30",
         "the nearest valid value is 24"),
        ({"maxLength": 2}, "abc", "", "3 characters", "at most 2 characters", "remove 1"),
        ({"minItems": 2}, [1], "", "1 items", "at least 2 items", "add 1"),
        ({"pattern": "^[a-z_]+$"}, "My Env", "", '"My Env"', "text that matches ^[a-z_]+$", 'did you mean "my_env"?'),
        ({"pattern": "^[0-9]+$", "description": "Port."}, "x", "", '"x"', "text that matches ^[0-9]+$", "Port."),
        ({"required": ["a"], "properties": {"a": {"const": 5}}}, {}, "", "an object with 0 keys", 'the key "a"',
         'add "a": 5'),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "", "an object with 1 keys", 'the key "b"', 'add "b"'),
        ({"uniqueItems": True}, [7, 8, 7], "/2", "7", "each item once", "remove it: the same item stands at 0"),
        ({"items": {"items": False}}, [[], [1]], "/1/0", "1", "", "remove it"),
    ],
)  # fmt: skip
def test_each_mistake_names_place_value_wish_and_the_nearest_valid_value(
    schema: Any, document: Any, pointer: str, got: str, want: str, fix: str
) -> None:
    (finding,) = Schema(schema).findings(document)
    assert (finding.pointer, finding.got, finding.want, finding.fix) == (pointer, got, want, fix)


@given(
    st.integers(-50, 50) | st.sampled_from([0.5, -2.25, 0.1, 12.3, 1e300, -1e300]),
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["integer", "number"]),
            "minimum": st.integers(-20, 20) | st.just(0.3),
            "maximum": st.integers(-20, 20) | st.just(7.5),
            "exclusiveMinimum": st.integers(-20, 20),
            "exclusiveMaximum": st.integers(-20, 20),
            "multipleOf": st.sampled_from([0.1, 0.25, 2, 3, 8]),
        },
    ),
)
def test_the_nearest_valid_number_is_valid_and_none_is_nearer(value: Any, schema: dict[str, Any]) -> None:
    near = schema_fix.nearest_number(value, schema)
    checked = Schema(schema)
    if near is None:
        return
    assert checked.findings(near) == []
    for other in [*range(-60, 60), *(i / 20 for i in range(-600, 600)), value]:
        if abs(exact(other) - exact(value)) < abs(exact(near) - exact(value)):
            assert checked.findings(other)


def test_an_unknown_key_names_the_nearest_known_one_at_every_level() -> None:
    leaf = {"additionalProperties": False, "properties": {"learning_rate": True, "gamma": True}}
    schema = Schema({"additionalProperties": False, "properties": {"train": leaf, "list": {"items": leaf}, "x": True}})
    document = {
        "trian": 1,
        "train": {"lerning_rate": 3, "Gamma": 1},
        "list": [{"gama": 1}],
        "learning_rate": 1,
        "qq": 1,
    }
    assert {finding.pointer: finding.fix for finding in schema.findings(document)} == {
        "/trian": 'did you mean "train"? It stands there already: remove one.',
        "/train/lerning_rate": 'did you mean "learning_rate"?',
        "/train/Gamma": 'did you mean "gamma"?',
        "/list/0/gama": 'did you mean "gamma"?',
        "/learning_rate": "move it to /train/learning_rate",
        "/qq": "remove the key",
    }


PATTERNS = [
    # pattern, texts that match, texts that do not
    ("^a$", ["a"], ["a\n", "ba", "\na"]),
    (r"^\d+$", ["09"], ["\u0663", ""]),
    (r"^\w$", ["_", "Z"], ["\u00e9"]),
    (r"^\W$", ["\u00e9", "-"], ["a"]),
    (r"^[\W]$", ["\u00e9", "-", "[", "^", "`", "{"], ["a", "_", "0", "Z"]),
    (r"^[^\D]$", ["5"], ["a", "\u0663"]),
    (r"^\s$", ["\u00a0", "\ufeff", "\u2028", " "], ["\u200b", "\x1c", "\x85"]),
    (r"^[\S]$", ["\u200b", "\x1c", "\x85", "a"], ["\u00a0", "\ufeff", "\u2028", " ", "\n"]),
    ("^.$", ["a", "\U0001f600", "\x85"], ["\n", "\r", "\u2028", "\u2029"]),
    (r"\bpat\b", ["a pat", "\u00e9pat"], ["pats", "_pat"]),
    (r"a\Bb", ["ab"], ["a b"]),
    (r"^\cC\cm$", ["\x03\r"], ["cC"]),
    (r"^\u{1f600}\ud83d\ude00$", ["\U0001f600\U0001f600"], []),
    (r"^\x41\u0042\t\0$", ["AB\t\x00"], []),
    ("^[a&&b~~c||d#--e]$", ["&", "~", "|", "a", "-", "%"], ["f", "!"]),
    ("^[[x]$", ["[", "x"], ["]"]),
    (r"^[\]\-\\\b]$", ["]", "-", "\\", "\b"], ["a"]),
    ("^[]$", [], ["", "a"]),
    ("^[^]$", ["\n", "a"], [""]),
    ("^(?:a|b){2,3}?c*$", ["abc", "aab"], ["a", "aaaa"]),
    ("^(?=ab)(?!abc)a", ["abd"], ["abc", "ac"]),
    ("^a{2}$|^(b)+$", ["aa", "bbb"], ["a", ""]),
    ("/ #-é", ["x/ #-é"], [""]),
]


@pytest.mark.parametrize(("pattern", "matching", "other"), PATTERNS, ids=[row[0] for row in PATTERNS])
def test_a_pattern_means_what_ecma_262_says(pattern: str, matching: list[str], other: list[str]) -> None:
    found = ecma_pattern.compiled(pattern)
    assert [text for text in matching if not found.search(text)] == []
    assert [text for text in other if found.search(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [r"a\Z", r"\Aa", "(?i)a", "(?P<n>a)", "(?<n>a)", "(?<=a)b", "(?<!a)b", r"(a)\1", r"\p{L}",
     r"\a", r"\e", r"\01", r"\-",
     "a++", "a**", "*a", "|*", "^*", "(?=a)*", "a{,3}", "a{", "}", "]", "[", "[b-a]", r"[\d-z]", "(", ")", "(?", "\\",
     r"\u{110000}", r"\ud800", r"\x4", "(?#x)", "(?>a)", "(?(1)a)", "a{99999}"],
)  # fmt: skip
def test_a_pattern_that_python_would_read_otherwise_is_refused(pattern: str) -> None:
    with pytest.raises(ecma_pattern.PatternError):
        ecma_pattern.compiled(pattern)


@given(st.text("ab01[]()^$.*+?{}|\\-,dDwWsS:=!/\n\u00e9", max_size=12))
def test_any_text_is_a_pattern_or_refused(pattern: str) -> None:
    try:
        found = ecma_pattern.compiled(pattern)
    except ecma_pattern.PatternError:
        return
    found.search("ab01")


@pytest.mark.parametrize(
    ("schema", "document", "code"),
    [
        (False, 1, "schema.forbidden"),
        ({"type": "string"}, 1, "schema.type"),
        ({"const": 2}, 1, "schema.const"),
        ({"enum": [2]}, 1, "schema.enum"),
        ({"minimum": 2}, 1, "schema.range"),
        ({"multipleOf": 2}, 1, "schema.multiple"),
        ({"minLength": 2}, "a", "schema.count"),
        ({"pattern": "b"}, "a", "schema.pattern"),
        ({"uniqueItems": True}, [1, 1.0], "schema.unique"),
        ({"required": ["a"]}, {}, "schema.required"),
        ({"additionalProperties": False}, {"a": 1}, "schema.unknown_key"),
    ],
)
def test_each_mistake_has_its_code(schema: Any, document: Any, code: str) -> None:
    assert [finding.code for finding in Schema(schema).findings(document)] == [code]

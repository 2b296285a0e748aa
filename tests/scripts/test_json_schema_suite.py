"""The validator against the official JSON Schema Test Suite (draft 2020-12) for the keywords that it claims.

The suite is third-party data and not part of this repository: `make test` fetches it, pinned by digest, as
requirements/schema_suite.py says. The counts stand for that version. Cases of our own cover the same ground and are
held against `jsonschema` too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from _skill.json_schema import Schema, SchemaError
from _skill.schema_form import ANNOTATIONS, KEYWORDS

OWN = json.loads((Path(__file__).parent / "json_schema_suite" / "cases.json").read_bytes())
SUITE = Path(__file__).resolve().parents[2] / ".venv" / "schema-suite"

CLAIMED = (
    *("additionalProperties boolean_schema const default defs dependentRequired enum exclusiveMaximum").split(),
    *("exclusiveMinimum infinite-loop-detection items maxItems maxLength maxProperties maximum minItems").split(),
    *("minLength minProperties minimum multipleOf pattern patternProperties prefixItems properties").split(),
    *("propertyNames ref required type uniqueItems optional/bignum optional/ecmascript-regex").split(),
    *("optional/float-overflow optional/no-schema optional/non-bmp-regex").split(),
)

REFUSED_SCHEMAS = {
    # What the message of the refusal says -> why this validator refuses the schema, and for how many tests it does.
    "unknown keyword": ("a keyword that is not claimed is an error, never ignored", 23),
    "only references inside the same schema": ("other documents are never fetched or looked up", 8),
    "stands at the root of a schema only": ("$id inside would change what references mean", 14),
    "unsupported escape \\p": ("Unicode properties have no counterpart in Python's re", 14),
    "Items: not a valid value": ("a count is an integer literal", 4),
    "Length: not a valid value": ("a count is an integer literal", 4),
    "Properties: not a valid value": ("a count is an integer literal", 4),
}
STRICTER = {
    # Accepted by the standard, refused here: an integer field takes integer literals only.
    ("type", "integer type matches integers", "a float with zero fractional part is an integer"),
    (
        "optional/float-overflow",
        "all integers are multiples of 0.5, if overflow is handled",
        "valid if optional overflow handling is implemented",
    ),
}
RUN = 636


@pytest.mark.parametrize("group", OWN, ids=lambda group: group["about"])
def test_our_own_cases_hold_and_jsonschema_agrees_where_we_are_not_stricter(group: dict[str, Any]) -> None:
    schema = Schema(group["schema"])
    theirs = jsonschema.Draft202012Validator(group["schema"])
    for document in group["valid"]:
        assert schema.findings(document) == [], document
        assert theirs.is_valid(document) or group.get("jsonschema_differs"), document
    for document in group["invalid"]:
        assert schema.findings(document), document
        assert not theirs.is_valid(document) or group.get("jsonschema_differs"), document
    for document in group.get("stricter", []):
        assert schema.findings(document), document
        assert theirs.is_valid(document), document


def keywords_in(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(keywords_in, schema))
    return set(schema).union(*map(keywords_in, schema.values())) if isinstance(schema, dict) else set()


def test_our_own_cases_cover_every_keyword_that_judges_a_document() -> None:
    covered: set[str] = set().union(*(keywords_in(group["schema"]) for group in OWN))
    assert KEYWORDS - ANNOTATIONS <= covered
    counts = [sum(len(group.get(key, [])) for group in OWN) for key in ("valid", "invalid", "stricter")]
    assert counts == [171, 190, 9]


def test_the_official_suite_passes_for_every_claimed_keyword_and_each_difference_is_listed() -> None:
    run, refused, stricter = 0, dict.fromkeys(REFUSED_SCHEMAS, 0), set()
    for name in CLAIMED:
        groups = json.loads((SUITE / f"{name}.json").read_bytes())
        for group in groups:
            try:
                schema = Schema(group["schema"])
            except SchemaError as error:
                (reason,) = (words for words in REFUSED_SCHEMAS if words in str(error))
                refused[reason] += len(group["tests"])
                continue
            for case in group["tests"]:
                found = schema.findings(case["data"])
                if bool(found) == case["valid"]:
                    assert case["valid"] and {finding.code for finding in found} == {"schema.type"}
                    stricter.add((name, group["description"], case["description"]))
                run += 1
    assert refused == {words: count for words, (_, count) in REFUSED_SCHEMAS.items()}
    assert stricter == STRICTER
    assert run == RUN

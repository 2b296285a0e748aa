"""FC-F07 · Approval checked by shape only.

The digest is computed from what will run. What anybody supplies, in an approval or in a plan, is only compared with it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from _skill.findings import Refusal
from _skill.gate import approval, digest
from _skill.plans import plan

from ..scripts.gate_bundle import ROOT, Bundle, build_bundle
from ..scripts.test_schemas import PLAN


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    made = build_bundle(tmp_path / "bundle")
    made.plan()
    made.plan("train.seed=5", name="other.json", run="other")
    made.plan("train.seed=5", name="same_name.json", run="r")
    return made


def sealed(document: dict[str, Any]) -> bytes:
    """An approval whose own checksum holds, as somebody would make it who has read the source."""
    return approval._written({**document, "sha256": approval._checksum(document)})


def refused(bundle: Bundle, data: bytes) -> list[str]:
    (bundle.work / "plan.approval.json").write_bytes(data)
    before = bundle.files()
    report = bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")
    assert report["exit_status"] == 1
    assert bundle.files() == before and not (bundle.work / "runs").exists()
    return [finding["code"] for finding in report["findings"]]


def good(bundle: Bundle, name: str = "plan.json") -> dict[str, Any]:
    path = bundle.approve(name)
    document: dict[str, Any] = json.loads(path.read_text())
    path.unlink()
    return document


def changed(document: dict[str, Any], **changes: Any) -> bytes:
    return sealed({**document, **changes})


def test_random_upper_case_shortened_and_padded_digests_are_refused(bundle: Bundle) -> None:
    document = good(bundle)
    right = document["digest"]
    assert right == digest.of(document["items"])
    for wrong in (os.urandom(32).hex(), right.upper(), right[:-1], right + "0", " " + right, right[:63] + "\u0660", ""):
        assert refused(bundle, changed(document, digest=wrong)) != []


def test_a_digest_that_fits_items_that_do_not_fit_what_is_there_is_refused(bundle: Bundle) -> None:
    document = good(bundle)
    items = {**document["items"], "plan": os.urandom(32).hex()}
    assert refused(bundle, changed(document, items=items, digest=digest.of(items))) == ["digest.changed"]
    fewer = {name: value for name, value in document["items"].items() if not name.startswith("gate ")}
    assert set(refused(bundle, changed(document, items=fewer, digest=digest.of(fewer)))) == {"digest.changed"}
    more = {**document["items"], "engine pufferlib/none.py": "0" * 64}
    assert refused(bundle, changed(document, items=more, digest=digest.of(more))) == ["digest.changed"]


def test_an_approval_of_another_plan_is_refused_even_under_the_same_run_name(bundle: Bundle) -> None:
    other = good(bundle, "other.json")
    assert refused(bundle, sealed(other))[0] == "approval.other"
    assert "digest.changed" in refused(bundle, changed(other, run="r"))
    assert refused(bundle, sealed(good(bundle, "same_name.json"))) == ["digest.changed"]


def test_an_approval_of_another_tier_or_purpose_is_refused(bundle: Bundle) -> None:
    document = good(bundle)
    assert refused(bundle, changed(document, tier="person")) == ["approval.tier"]
    assert refused(bundle, changed(document, purpose="resume")) == ["approval.other"]


def test_a_digest_inside_the_plan_counts_for_nothing(bundle: Bundle) -> None:
    document = good(bundle)
    made = json.loads((bundle.work / "plan.json").read_text())
    for key in ("digest", "approval", "approved_by", "sha256"):
        (bundle.work / "plan.json").write_text(json.dumps({**made, key: document["digest"]}))
        result = bundle.json("launch", "run", "--plan", "plan.json")
        assert result["exit_status"] == 1 and result["findings"]


def test_a_good_approval_still_launches(bundle: Bundle) -> None:
    bundle.approve()
    assert bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")["exit_status"] == 0


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b'"' + b"a" * 64 + b'"', b"a" * 64, b"null", b"\xff\xfe", b"{" * 9999]
)
def test_other_documents_are_no_approvals(bundle: Bundle, data: bytes) -> None:
    assert refused(bundle, data)


def test_digests_are_compared_in_constant_time_and_in_lower_case_only() -> None:
    right = digest.of({"plan": "x"})
    assert digest.same(right, right) and not digest.same(right, right.upper())
    source = (ROOT / "scripts/_skill/gate/digest.py").read_text()
    assert "hmac.compare_digest" in source


def test_the_approval_s_own_name_for_its_approver_proves_nothing_where_a_signature_is_asked_for() -> None:
    made = plan.parse(plan.written({**PLAN}), "plan")
    given = approval.create(made, {"plan": made.sha256}, "run", "person", "Ada", "", 60)
    with pytest.raises(Refusal):
        approval.parse(given.data.replace(b'"Ada"', b'"Bob"'), "approval")

"""FC-D10 · File names equal on one system, different on another.

A manifest is never made of names that collide after NFC and casefold; verifying compares exact code points and says
where only the form differs.
"""

from __future__ import annotations

import itertools
import unicodedata
from pathlib import Path

import pytest

from .conftest import Tool

COMPOSED, DECOMPOSED = "caf\u00e9.pt", "cafe\u0301.pt"
PAIRS = [
    ("Model.pt", "model.pt"),
    (COMPOSED, DECOMPOSED),
    ("STRASSE", "stra\u00dfe"),
    ("strasse", "stra\u1e9ee"),  # the capital sharp s
    ("\u03c3.bin", "\u03c2.bin"),  # sigma, and sigma at the end of a word
    ("\ufb01ne", "FINE"),  # a ligature
    ("K.txt", "\u212a.txt"),  # the Kelvin sign
    ("\u00c5", "a\u030a"),  # composed upper case, decomposed lower case
    ("\u212b", "\u00e5"),  # the Angstrom sign
    ("\uac00", "\u1100\u1161"),  # Hangul
    ("o\u0323\u0302", "\u1ed9"),  # two marks in another order
    ("dir/x", "DIR/y"),  # folders that are one
    ("dir/x", "DIR"),  # a folder and a file
    ("a/b/Model.pt", "a/B/model.pt"),
    ("\u0149", "\u02bcn"),
    ("\u0390", "\u03b9\u0308\u0301"),
]


def put(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


@pytest.mark.parametrize("pair", PAIRS, ids=ascii)
def test_creation_refuses_names_that_collide(tool: Tool, tmp_path: Path, pair: tuple[str, str]) -> None:
    put(tmp_path / "w", *pair)
    if len(list((tmp_path / "w").rglob("*"))) < 2:
        pytest.skip("this file system takes both names as one")
    answer = tool("manifest", "create", "w", "--out", "m.json")
    assert answer.exit_status == 1 and answer.codes == ["name.collision"]
    assert "U+" in answer.finding("name.collision")["got"] or "folder" in answer.text
    assert not (tmp_path / "m.json").exists()


def test_lower_case_alone_would_miss_the_sharp_s() -> None:
    assert "STRASSE".lower() != "stra\u00dfe".lower()
    assert all(a != b for a, b in PAIRS)


def test_names_that_only_look_alike_are_different_files_everywhere(tool: Tool, tmp_path: Path) -> None:
    names = ["model.pt", "mode1.pt", "m\u043edel.pt", "model.pth", "a/model.pt", "b/model.pt", "mod\u00e9l.pt"]
    put(tmp_path / "w", *names)
    assert tool("manifest", "create", "w", "--out", "m.json").exit_status == 0
    assert tool("manifest", "verify", "m.json").exit_status == 0


@pytest.mark.parametrize(
    ("listed", "there", "word"),
    [
        (COMPOSED, DECOMPOSED, "normalisation"),
        (DECOMPOSED, COMPOSED, "normalisation"),
        ("\uac00", "\u1100\u1161", "normalisation"),
        ("Model.pt", "model.pt", "case"),
        ("STRASSE", "stra\u00dfe", "case"),
        (f"{COMPOSED}/x", f"{DECOMPOSED}/x", "normalisation"),
    ],
    ids=ascii,
)
def test_verifying_compares_exact_code_points_and_hints_at_the_form(tool, tmp_path, listed, there, word) -> None:
    put(tmp_path / "w", listed)
    assert tool("manifest", "create", "w", "--out", "m.json").exit_status == 0
    (tmp_path / "w").rename(tmp_path / "before")
    put(tmp_path / "w", there)
    answer = tool("manifest", "verify", "m.json")
    assert answer.exit_status == 1 and answer.codes == ["manifest.missing", "manifest.unlisted"]
    assert all(word in answer.finding(code)["fix"] for code in answer.codes)


def test_a_manifest_that_lists_a_colliding_pair_is_refused_before_any_open(tool, tmp_path) -> None:
    from .test_fc_d08 import manifest_of

    for index, pair in enumerate(PAIRS):
        (tmp_path / f"{index}.json").write_bytes(manifest_of(*sorted(pair)))
        answer = tool("manifest", "verify", f"{index}.json", "--root", ".")
        assert answer.exit_status == 1 and "name.collision" in answer.codes, pair


def test_every_order_of_marks_and_cases_of_a_name_collides() -> None:
    from _skill.manifests import names

    for base in ("Ǟpsilon", "Große Straße", "ΐΰ", "İı"):
        forms = {unicodedata.normalize(form, base) for form in ("NFC", "NFD")}
        for left, right in itertools.combinations(sorted(forms | {name.casefold() for name in forms}), 2):
            assert names.collisions([left, right]), (left, right)

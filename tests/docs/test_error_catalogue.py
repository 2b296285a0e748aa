"""`references/errors.md` names every code that a finding can carry, and each code has a test that expects it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "references" / "errors.md"
CODE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")
PREFIX = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]*)+")
NOT_CODES = {"Option", "_derived"}
"""Calls whose words look like codes: fields of a plan."""


def called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def words(expression: ast.expr) -> Iterator[str]:
    """The texts that an argument can be: one, or either side of a choice."""
    if isinstance(expression, ast.IfExp):
        yield from words(expression.body)
        yield from words(expression.orelse)
    elif isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        yield expression.value


def makers(trees: list[ast.Module], known: set[str]) -> set[tuple[str, int]]:
    """Where codes stand: the calls, and which argument. Every call that is given a known code somewhere is one."""
    found = {("Finding", 0), ("could_not", 0)}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and called(node) not in NOT_CODES:
                found |= {
                    (called(node), place) for place, word in enumerate(node.args) if known.intersection(words(word))
                }
    return found


def code_arguments(tree: ast.Module, places: set[tuple[str, int]]) -> Iterator[ast.expr]:
    """What stands where a finding's code stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (word for place, word in enumerate(node.args) if (called(node), place) in places)
            yield from (word.value for word in node.keywords if word.arg == "code")


def codes_in_source() -> tuple[set[str], set[str]]:
    """Codes written out, and the fixed beginnings of codes that are put together."""
    codes: set[str] = set()
    beginnings: set[str] = set()
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "scripts").rglob("*.py")]
    places = makers(trees, set(catalogue()))
    for tree in trees:
        for node in ast.walk(tree):
            # A code that is put together with `+`.
            if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
                beginnings.update(re.findall(r"^[a-z_]+\.$", node.left.value))
        for argument in code_arguments(tree, places):
            for node in ast.walk(argument):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    if CODE.fullmatch(node.value):
                        codes.add(node.value)
                    elif isinstance(argument, ast.JoinedStr) and PREFIX.fullmatch(node.value):
                        beginnings.add(node.value)
    return codes, beginnings


def catalogue() -> dict[str, tuple[str, str]]:
    """Code -> (cause, fix), from the tables of the document."""
    rows = re.findall(r"^\| `([^`|]+)` \| (.+?) \| (.+?) \|$", CATALOGUE.read_text(encoding="utf-8"), re.MULTILINE)
    return {code: (cause, fix) for code, cause, fix in rows}


def test_every_code_in_the_source_is_explained() -> None:
    codes, beginnings = codes_in_source()
    known = catalogue()
    assert sorted(codes - known.keys()) == []
    assert [start for start in sorted(beginnings) if not any(code.startswith(start) for code in known)] == []


def test_every_explained_code_exists() -> None:
    codes, beginnings = codes_in_source()
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "scripts").rglob("*.py"))
    gone = [
        code
        for code in catalogue()
        if code not in codes and f'"{code}"' not in sources and not code.startswith(tuple(beginnings))
    ]
    assert gone == []


def test_codes_are_listed_once_and_in_order_within_their_table() -> None:
    tables = re.split(r"^## ", CATALOGUE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    seen: list[str] = []
    for table in tables:
        rows = re.findall(r"^\| `([^`|]+)` \|", table, re.MULTILINE)
        assert rows == sorted(rows)
        seen += rows
    assert len(seen) == len(set(seen))


@pytest.fixture(scope="module")
def tests() -> str:
    """The text of all tests but this one."""
    paths = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("code", sorted(catalogue()) if CATALOGUE.exists() else [])
def test_a_test_expects_it(code: str, tests: str) -> None:
    assert re.search(rf"(?<![\w.]){re.escape(code)}(?![\w.])", tests), f"no test names {code}"

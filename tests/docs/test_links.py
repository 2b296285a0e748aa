"""Every link between our documents leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "references").glob("*.md"), *(ROOT / "benchmarks").glob("**/*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def anchors(document: Path) -> set[str]:
    """The anchors that a Markdown viewer makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", document.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(document: Path) -> list[str]:
    """Links of a document that lead to no file or heading; addresses on the web are not followed."""
    found = []
    for link in LINK.findall(CODE.sub("", document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        missing = not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target))
        if missing or not target.is_relative_to(ROOT):
            found.append(link)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_resolve(document: Path) -> None:
    assert broken(document) == []


def test_a_broken_link_would_be_found(tmp_path: Path) -> None:
    document = tmp_path / "x.md"
    document.write_text("# A b\n[here](#a-b) [gone](missing.md) [no heading](#c) `[code](gone.md)`\n", encoding="utf-8")
    # The folder lies outside the repository, so a link within the document is the only one that may pass.
    assert {"missing.md", "#c"} <= set(broken(document))

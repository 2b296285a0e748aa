"""What a reader does not see but an agent reads: phrases, comments, styles, far-away text, in every text file.

Documents and the files that an agent is led to are held to it as errors. In program files that nothing leads to, such
as tests, the same is a warning: their text reaches a prompt only when somebody opens them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from .. import text
from ..findings import Finding
from . import characters, encoded, front_matter, links, markdown, phrases
from .bundle import ARCHIVES, DOCUMENTS, MARKDOWN, MEDIA, Bundle, File

REMARK = re.compile(r"<!--\s(?:not run|exits \d{1,3}|file): [^<>\n]{1,160}\s-->")
"""Remarks about code blocks: the only comments of a document that are no finding, with those of known tools."""
_TOOL_REMARK = re.compile(
    r"<!--\s*(?:markdownlint-(?:disable|enable|capture|restore)[\w-]*(?: MD\d{3})*|"
    r"prettier-ignore(?:-start|-end)?|toc|tocstop|"
    r"omit in toc|more|START doctoc[\w ,.]{0,120}|END doctoc[\w ,.]{0,120}|vale (?:on|off)|"
    r"SPDX-[\w:. -]{1,60})\s*-->"
)
_HIDING_STYLE = re.compile(
    r"(?:display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0?\.?0*(?![.\d])|"
    r"font-size\s*:\s*0|(?<![-\w])color\s*:\s*(?:white|transparent|"
    r"#fff(?:fff)?\b|rgba?\(\s*255[ ,]+255[ ,]+255)|text-indent\s*:\s*-\d{3,}|(?:left|"
    r"top)\s*:\s*-\d{3,}|height\s*:\s*0(?![.\d]))",
    re.IGNORECASE,
)
_STYLE = re.compile(r"\bstyle\s*=\s*(\"[^\"]{0,2000}\"|'[^']{0,2000}')", re.IGNORECASE)
_HIDING_TAG = re.compile(
    r"<[a-zA-Z][^<>]{0,300}?\s(?:hidden|aria-hidden\s*=\s*[\"']?true)(?=[\s/>=])|"
    r"<font[^<>]{0,200}color\s*=\s*[\"']?(?:white|#fff)",
    re.IGNORECASE,
)
_ACTIVE_TAG = re.compile(r"<(script|iframe|object|embed|form|meta|base|style|template|noscript)\b", re.IGNORECASE)
_HIDING_TEX = re.compile(
    r"\\(?:textcolor|color)\s*\{\s*(?:white|#?fff)|\\(?:h|v)?phantom\s*\{|\\tiny\b|\\scriptsize\b", re.IGNORECASE
)
_DETAILS = re.compile(r"<details\b(?![^<>]*\bopen\b)", re.IGNORECASE)
MAX_FINDINGS = 50
"""How many places of one kind a document is reported for."""
_LONG_TITLE = 120
_LONG_ALT = 250
_FAR_SPACES = re.compile(r"[ \t\u00a0\u2000-\u200a\u3000]{120,}\S")
_FAR_LINES = re.compile(r"\n(?:[ \t\r]*\n){60,}")


def check(bundle: Bundle) -> list[Finding]:
    """Every text file of the bundle, its file names, and the files that cannot be looked into."""
    found: list[Finding] = []
    led_to = links.reached(bundle)
    for file, content in bundle.texts():
        bundle.check_time()
        severe = is_read(file, led_to)
        found += _text(file, content) if severe else as_warnings(_text(file, content))
    found += _front_matter(bundle)
    for path in [*bundle.files, *bundle.folders]:
        for hit in phrases.find(path, markup=False):
            found.append(Finding(hit.code, "a name that is an order to the agent", text.escaped(path), hit.words))
    found += _not_text(bundle)
    return found


def _not_text(bundle: Bundle) -> list[Finding]:
    """One warning for the archives of each folder and one for its other binary files."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path in bundle.not_text:
        suffix = bundle.files[path].suffix
        kind = "bundle.archive" if suffix in ARCHIVES else "" if suffix in MEDIA else "bundle.binary"
        if kind:
            groups.setdefault((kind, path.rpartition("/")[0]), []).append(path)
    found = []
    for (kind, _), paths in groups.items():
        more = f" (and {len(paths) - 1} more in this folder)" if len(paths) > 1 else ""
        message, fix = "a binary file: nobody can review it", "ship its source"
        if kind == "bundle.archive":
            message, fix = "an archive: what it holds was not checked", "unpack it into the bundle"
        found.append(Finding(kind, message + more, text.escaped(paths[0]), fix=fix, severity="warning"))
    return found


def _front_matter(bundle: Bundle) -> list[Finding]:
    """The values of the front matter as a reader of YAML gets them: escapes can spell what the text does not show."""
    if bundle.skill is None or bundle.skill.text is None or "\\" not in bundle.skill.text:
        return []
    matter, _ = front_matter.read(bundle.skill.text, bundle.skill.data)
    found: list[Finding] = []
    for key, value in matter.fields.items() if matter else ():
        for part in value.values() if isinstance(value, dict) else [value]:
            place = f"SKILL.md:{matter.lines[key]}" if matter else ""
            for hit in phrases.find(part):
                words = text.shown(hit.words, 120)
                found.append(Finding(hit.code, "text that gives orders to the agent", place, words, "no such text"))
            found += [finding._replace(pointer=place) for finding in characters.check("SKILL.md", part, False)]
    return found


def is_read(file: File, led_to: set[str]) -> bool:
    """Whether an agent reads this file or runs it: a document, a script of the bundle, or one that SKILL.md names."""
    first = file.path.split("/")[0]
    return file.suffix in DOCUMENTS or first in ("scripts", "references", "assets", "templates") or file.path in led_to


def as_warnings(findings: Iterable[Finding]) -> list[Finding]:
    """The findings about a file that nothing leads to: warnings, one for each code, with how many more there are."""
    grouped: dict[str, list[Finding]] = {}
    for finding in findings:
        grouped.setdefault(finding.code, []).append(finding)
    result = []
    for group in grouped.values():
        more = f" (and {len(group) - 1} more in this file)" if len(group) > 1 else ""
        result.append(group[0]._replace(severity="warning", message=group[0].message + more))
    return result


def _text(file: File, content: str) -> list[Finding]:
    found = characters.check(file.path, content, file.suffix not in DOCUMENTS)
    is_markdown = file.suffix in MARKDOWN
    markup = is_markdown or file.suffix in (".html", ".htm", ".xml", ".svg")
    hits = phrases.find(content, markup)
    if "%" in content and re.search(r"(?:%[0-9A-Fa-f]{2}[\w.~-]{0,12}){3,}", content):
        plain = {(hit.code, hit.line) for hit in hits}
        decoded = phrases.find(encoded.percent_decoded(content), False)
        hits += [hit._replace(spelling="with percent escapes") for hit in decoded if (hit.code, hit.line) not in plain]
    for hit in hits:
        message = "text that gives orders to the agent" + (f", spelt {hit.spelling}" if hit.spelling else "")
        place = f"{text.escaped(file.path)}:{hit.line}"
        found.append(
            Finding(hit.code, message, place, text.shown(hit.words, 120), "no such text", "remove or reword it")
        )
    if file.suffix != ".lock":
        found += encoded.check(file.path, content)
    if markup:
        found += encoded.data_links(file.path, content)
    if is_markdown:
        found += _markdown(file, content)
    if file.suffix not in (".html", ".htm", ".svg", ".xml", ".json", ".jsonl", ".csv", ".lock"):
        found += _far(file, content)
    return found


def _markdown(file: File, content: str) -> list[Finding]:
    return list(itertools.islice(_markdown_findings(file, content), MAX_FINDINGS))


def _markdown_findings(file: File, content: str) -> Iterator[Finding]:
    document = markdown.parse(content)
    prose = document.prose
    for start, end in markdown.comments(prose):
        comment = prose[start:end]
        if not (REMARK.fullmatch(comment) or _TOOL_REMARK.fullmatch(comment)):
            yield _finding(file, prose, start, "hidden.comment", "a comment that no reader sees", comment)
    for label, target, rest, line in markdown.definitions(document):
        nowhere = target in ("#", "<>", "/", ".") or label.strip().lower() in ("//", "comment", "_", "hidden")
        if nowhere or len(rest) > _LONG_TITLE:
            message = "a link definition that is used as a comment"
            got = text.shown(f"[{label}]: {target} {rest}", 120)
            yield Finding("hidden.definition", message, f"{file.path}:{line}", got, "visible text")
    for link in markdown.links(document):
        if len(link.title) > _LONG_TITLE or (link.image and len(link.words) > _LONG_ALT):
            message = "long text in a title or alternative text, which is not shown"
            got = text.shown(link.title or link.words, 120)
            yield Finding("hidden.alt", message, f"{file.path}:{link.line}", got, severity="warning")
    for match in _STYLE.finditer(prose):
        if _HIDING_STYLE.search(match[1]):
            yield _finding(file, prose, match.start(), "hidden.style", "text that is styled away", match[0])
    for code, message, pattern in (
        ("hidden.style", "text that is not shown", _HIDING_TAG),
        ("hidden.style", "text in a colour or size that hides it", _HIDING_TEX),
        ("hidden.html", "HTML that acts or holds text apart", _ACTIVE_TAG),
    ):
        for match in pattern.finditer(prose):
            yield _finding(file, prose, match.start(), code, message, match[0])
    for match in _DETAILS.finditer(prose):
        finding = _finding(file, prose, match.start(), "hidden.details", "text that is folded away", match[0])
        yield finding._replace(severity="warning", fix="use a heading, or <details open>")


def _far(file: File, content: str) -> list[Finding]:
    found = []
    for code, message, pattern in (
        ("hidden.far", "text far to the right of a blank run", _FAR_SPACES),
        ("hidden.far", "text far below a blank run", _FAR_LINES),
    ):
        match = pattern.search(content)
        if match:
            found.append(_finding(file, content, match.start(), code, message, "")._replace(severity="warning"))
    return found


def _finding(file: File, content: str, at: int, code: str, message: str, got: str) -> Finding:
    place = f"{text.escaped(file.path)}:{content.count(chr(10), 0, at) + 1}"
    return Finding(code, message, place, text.shown(got, 120) if got else "", "visible text, or none", "remove it")

"""The parts of a Markdown document that the checks look at: fences, headings, links, comments and raw HTML."""

from __future__ import annotations

import bisect
import functools
import html
import re
import urllib.parse
from typing import NamedTuple

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*|[^\n]*)$")
# Bounded, so that backticks without a partner cannot make it scan a long line again and again.
_INLINE_CODE = re.compile(r"(?<!`)(`{1,8})(?!`)([^\n]{1,2000}?)(?<!`)\1(?!`)")
_LINK = re.compile(
    r"(!?)\[((?:[^\[\]\\\n]|\\.|\[[^\[\]\n]*\])*)\]\(\s*(<[^<>\n]*>|(?:[^\s()\\]|\\.|\([^\s()]*\))*)"
    r"(?:\s+(\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?\s*\)"
)
_DEFINITION = re.compile(r"^ {0,3}\[((?:[^\[\]\\\n]|\\.)+)\]:[ \t]*(<[^<>\n]*>|\S+)[ \t]*(.*)$", re.MULTILINE)
_AUTOLINK = re.compile(r"<([a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^<>\s]*)>")
_ATTRIBUTE = re.compile(
    r"<[a-zA-Z][^<>]*?\b(href|src|srcset|poster|action)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)", re.DOTALL
)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*)$", re.MULTILINE)
_ANCHOR_TAG = re.compile(r"<[a-zA-Z][^<>]*\b(?:id|name)\s*=\s*[\"']?([^\s\"'>]+)")


class Link(NamedTuple):
    """One link or image."""

    target: str
    """What it points to, with entities and percent escapes resolved."""
    line: int
    image: bool
    words: str
    """The text of the link, or the alternative text of the image."""
    title: str


class Block(NamedTuple):
    """One fenced block."""

    language: str
    text: str
    line: int
    """The line of its first line of text."""


class Document(NamedTuple):
    """A Markdown text, taken apart."""

    prose: str
    """The text with fenced blocks and inline code blanked; lines stay where they are."""
    blocks: list[Block]
    breaks: list[int]
    """Offsets of the line feeds in the prose."""

    def line_of(self, offset: int) -> int:
        """The line of an offset into the prose, from 1."""
        return bisect.bisect_left(self.breaks, offset) + 1


@functools.lru_cache(maxsize=512)
def parse(content: str) -> Document:
    """Takes a document apart; fences as CommonMark has them."""
    prose: list[str] = []
    blocks: list[Block] = []
    inside: list[str] = []
    fence, language, start = "", "", 0
    for number, line in enumerate(content.replace("\r\n", "\n").split("\n"), 1):
        match = _FENCE.match(line) or (None if fence else _FENCE.match(line.lstrip(" \t>")))
        if fence:
            stripped = line.strip(" \t>")
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                blocks.append(Block(language, "\n".join(inside) + "\n", start))
                fence = ""
            else:
                inside.append(line)
            prose.append("")
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            fence, language, start, inside = match[1], match[2].strip().split(" ")[0].lower(), number + 1, []
            prose.append("")
        else:
            prose.append(line)
    if fence:
        blocks.append(Block(language, "\n".join(inside) + "\n", start))
    text = "\n".join(prose)
    text = _INLINE_CODE.sub(lambda code: " " * len(code[0]), text)
    return Document(text, blocks, [match.start() for match in re.finditer("\n", text)])


def links(document: Document) -> list[Link]:
    """Every link, image, reference definition and HTML reference outside code."""
    found: list[Link] = []
    prose = document.prose
    parts, last = [], 0
    for start, end in comments(prose):
        parts += [prose[last:start], re.sub(r"[^\n]", " ", prose[start:end])]
        last = end
    prose = "".join([*parts, prose[last:]])
    waiting = [(0, prose)]
    while waiting:
        base, part = waiting.pop()
        for match in _LINK.finditer(part):
            line = document.line_of(base + match.start())
            found.append(Link(_clean(match[3]), line, match[1] == "!", match[2], (match[4] or "")[1:-1]))
            if "](" in match[2]:
                # An image inside a link: [![alt](image)](target).
                waiting.append((base + match.start(2), match[2]))
    for match in _DEFINITION.finditer(prose):
        if not match[1].startswith("^"):
            found.append(
                Link(_clean(match[2]), document.line_of(match.start()), False, match[1], match[3].strip(" \"'()"))
            )
    for match in _AUTOLINK.finditer(prose):
        found.append(Link(_clean(match[1]), document.line_of(match.start()), False, "", ""))
    for match in _ATTRIBUTE.finditer(prose):
        target = match[2].strip("\"'")
        found.append(Link(_clean(target), document.line_of(match.start()), match[1] != "href", "", ""))
    return sorted(found, key=lambda link: link.line)


def comments(content: str) -> list[tuple[int, int]]:
    """Where HTML comments begin and end; one without an end goes to the end of the text. At most 1000 are found."""
    found: list[tuple[int, int]] = []
    at = content.find("<!--")
    while at >= 0 and len(found) < 1000:
        close = content.find("-->", at + 2)
        end = len(content) if close < 0 else close + 3
        found.append((at, end))
        at = content.find("<!--", end)
    return found


def definitions(document: Document) -> list[tuple[str, str, str, int]]:
    """Reference definitions: label, target, the rest of the line, and the line."""
    return [
        (match[1], match[2], match[3].strip(), document.line_of(match.start()))
        for match in _DEFINITION.finditer(document.prose)
    ]


def headings(content: str) -> list[str]:
    """The texts of all headings outside fences."""
    plain = re.sub(r"`", "", content) if "```" not in content and "~~~" not in content else _without_fences(content)
    # Stripped here and not by the pattern, which would try a long run of blanks in every way.
    return [match[1].rstrip(" \t").rstrip("#").rstrip(" \t") for match in _HEADING.finditer(plain)]


def anchors(content: str) -> set[str]:
    """The anchors that a viewer makes of headings, and those that HTML tags name."""
    found: set[str] = set()
    # The next number of each heading that stands there several times, so that many equal ones take no longer each.
    numbers: dict[str, int] = {}
    for heading in headings(content):
        words = re.sub(r"\[([^\[\]]*)\]\([^()]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        base = anchor
        number = numbers.get(base, 1)
        while anchor in found:
            anchor, number = f"{base}-{number}", number + 1
        numbers[base] = number
        found.add(anchor)
    return found | set(_ANCHOR_TAG.findall(content))


def _without_fences(content: str) -> str:
    lines, fence = [], ""
    for line in content.replace("\r\n", "\n").split("\n"):
        stripped = line.strip(" \t>")
        match = re.match(r"(`{3,}|~{3,})", stripped)
        if fence:
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                fence = ""
        elif match and "`" not in stripped[len(match[1]) :]:
            fence = match[1]
        else:
            lines.append(line.replace("`", ""))
    return "\n".join(lines)


def _clean(target: str) -> str:
    if target.startswith("<") and target.endswith(">"):
        target = target[1:-1]
    target = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", html.unescape(target))
    return urllib.parse.unquote(target).strip()

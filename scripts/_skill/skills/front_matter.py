"""Reads the front matter of SKILL.md: the small part of YAML about which every reader agrees.

Plain and quoted strings, block scalars (`>-`, `|`) and one level of map. Whatever two readers take differently is an
error with its own code: flow style, anchors, tags, tabs, lists, an unquoted colon, a `#` that cuts a value off, three
hyphens (one public validator drops everything behind them), a byte order mark.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .. import text
from ..findings import Finding

MAX_LINES = 500

Value = str | dict[str, str]

_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)[ ]*:(?=[ ]|$)(.*)\Z", re.DOTALL)
_BLOCK = re.compile(r"([>|])([+-]?)\Z")
_NOT_TEXT = re.compile(
    r"(?:[-+]?(?:[0-9][0-9_]*)?\.?[0-9][0-9_]*\.?(?:[eE][-+]?[0-9]+)?|0[xob][0-9a-fA-F_]+|[-+]?\.(?:inf|nan)|"
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*|[0-9]+(?::[0-5]?[0-9])+|~|null|true|false|yes|no|on|off|y|n)\Z",
    re.IGNORECASE,
)
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"}
_ESCAPES |= {" ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)


class FrontMatter(NamedTuple):
    """What was read."""

    fields: dict[str, Value]
    lines: dict[str, int]
    """The line of each key, from 1."""
    not_text: set[str]
    """Keys (`metadata.version` for inner ones) whose unquoted value is a number, date or truth value to YAML."""
    body: str
    body_line: int
    """The line that the body starts on."""


def read(content: str, data: bytes) -> tuple[FrontMatter | None, list[Finding]]:
    """The front matter of a SKILL.md with every mistake in it; None where there is none to read."""
    if data.startswith(b"\xef\xbb\xbf"):
        fix = "save the file as UTF-8 without BOM"
        return None, [_wrong("bom", "SKILL.md starts with a byte order mark", 1, "EF BB BF", "---", fix)]
    lines = content.replace("\r\n", "\n").split("\n")
    if "\r" in "".join(lines):
        return None, [_wrong("line_end", "a carriage return that ends no line", 1, fix="end lines with a line feed")]
    if lines[0] != "---":
        fix = "start with a line of three hyphens and nothing else"
        return None, [_wrong("missing", "SKILL.md has no front matter", 1, text.shown(lines[0], 60), "---", fix)]
    end = next((number for number, line in enumerate(lines[1:MAX_LINES], 1) if line == "---"), None)
    if end is None:
        want = f"a line of three hyphens within {MAX_LINES} lines"
        return None, [_wrong("no_end", "the front matter has no end", 1, want=want)]
    reader = _Reader(lines[1:end])
    reader.read()
    body = "\n".join(lines[end + 1 :])
    return FrontMatter(reader.fields, reader.lines_of, reader.not_text, body, end + 2), reader.found


def _wrong(what: str, message: str, line: int, got: str = "", want: str = "", fix: str = "") -> Finding:
    return Finding(f"front_matter.{what}", message, f"SKILL.md:{line}", got, want, fix)


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.fields: dict[str, Value] = {}
        self.lines_of: dict[str, int] = {}
        self.not_text: set[str] = set()
        self.found: list[Finding] = []
        self.at = 0

    def wrong(self, what: str, message: str, at: int, want: str = "", fix: str = "") -> None:
        self.found.append(_wrong(what, message, at + 2, text.shown(self.lines[at], 80), want, fix))

    def read(self) -> None:
        """Reads all lines; each is refused for one reason at most."""
        for at, line in enumerate(self.lines):
            if "\t" in line:
                self.wrong("tab", "a tab in the front matter", at, "spaces")
            if "---" in line:
                fix = "write another dash: some readers end the front matter here and drop the rest"
                self.wrong("hyphens", "three hyphens inside the front matter", at, fix=fix)
        while self.at < len(self.lines):
            at, line = self.at, self.lines[self.at].rstrip(" ")
            if not line or line.lstrip().startswith("#"):
                if line:
                    self.comment(at)
                self.at += 1
                continue
            self.entry(at, line, None)

    def comment(self, at: int) -> None:
        finding = _wrong(
            "comment", "a comment in the front matter", at + 2, text.shown(self.lines[at], 80), fix="remove"
        )
        self.found.append(finding._replace(severity="warning"))

    def entry(self, at: int, line: str, parent: str | None) -> None:
        """One `key: value` at the top or, with `parent`, inside a map; moves behind it."""
        indent = len(line) - len(line.lstrip(" "))
        match = _KEY.match(line.strip(" "))
        if (indent and parent is None) or match is None:
            kind, want = _what(line)
            self.wrong(kind, "not a plain key and value", at, want, "write `key: value`")
            self.at += 1
            self.skip_deeper(0 if parent is None else indent)
            return
        key, rest = match[1], match[2].strip(" ")
        name = key if parent is None else f"{parent}.{key}"
        target = self.fields if parent is None else self.fields[parent]
        assert isinstance(target, dict)
        if key in target:
            self.wrong("duplicate", f"the key {text.shown(key)} stands twice", at, "each key once")
        self.lines_of.setdefault(name, at + 2)
        self.at += 1
        if rest == "" or rest.startswith("#"):
            if rest:
                self.comment(at)
            self.nested(at, key, name, indent, parent)
            return
        value = self.scalar(rest, at, indent, name)
        if value is not None:
            target[key] = value

    def nested(self, at: int, key: str, name: str, indent: int, parent: str | None) -> None:
        """What stands below a key without a value: a map at the top level, nothing else."""
        inner = self.peek_indent()
        if inner <= indent:
            self.store(parent, key, "")
            if self.at < len(self.lines) and self.lines[self.at].lstrip(" ").startswith("- "):
                self.wrong("list", f"{text.shown(name)} is a list", self.at, "one string or a flat map")
                self.at += 1
            return
        first = self.lines[self.at].strip(" ")
        if parent is not None or first.startswith("-"):
            what, want = ("list", "one string") if first.startswith("-") else ("nested", "a flat map")
            self.wrong(what, f"{text.shown(name)} is not plain text", self.at, want)
            self.store(parent, key, "")
            self.skip_deeper(indent)
            return
        if _KEY.match(first) is None:
            # A plain value that starts on the next line.
            value = self.scalar("", at, indent, name)
            self.store(parent, key, value or "")
            return
        self.fields[key] = {}
        while self.at < len(self.lines):
            line = self.lines[self.at].rstrip(" ")
            if not line or line.lstrip().startswith("#"):
                if line:
                    self.comment(self.at)
                self.at += 1
                continue
            depth = len(line) - len(line.lstrip(" "))
            if depth <= indent:
                return
            if depth != inner:
                self.wrong("indent", "an uneven indentation", self.at, f"{inner} spaces")
                self.at += 1
                continue
            self.entry(self.at, line, key)

    def store(self, parent: str | None, key: str, value: str) -> None:
        target = self.fields if parent is None else self.fields[parent]
        assert isinstance(target, dict)
        target[key] = value

    def peek_indent(self) -> int:
        """The indentation of the next line that is not empty; -1 at the end."""
        at = self.at
        while at < len(self.lines) and not self.lines[at].strip(" "):
            at += 1
        return len(self.lines[at]) - len(self.lines[at].lstrip(" ")) if at < len(self.lines) else -1

    def skip_deeper(self, indent: int) -> None:
        while self.at < len(self.lines) and (not self.lines[self.at].strip() or self.peek_indent() > indent):
            self.at += 1

    def continuation(self, indent: int) -> list[str]:
        """The following lines that are indented deeper, as they stand; moves behind them."""
        taken = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip(" ") and len(line) - len(line.lstrip(" ")) <= indent:
                break
            taken.append(line)
            self.at += 1
        return taken

    def scalar(self, rest: str, at: int, indent: int, name: str) -> str | None:
        """A value; None where it is refused."""
        block = _BLOCK.match(rest)
        if block:
            return _folded(self.continuation(indent), block[1] == "|", block[2])
        if rest[:1] in ("'", '"'):
            return self.quoted(rest, at, indent)
        more = [line.strip(" ") for line in self.continuation(indent)]
        if any(line.startswith("#") for line in more):
            self.wrong("comment_cut", "a line that starts with # ends the value for YAML readers", at, fix="use >-")
            return None
        value = " ".join([rest, *[line for line in more if line]]).strip(" ")
        kind, want = _what(value)
        if kind != "syntax":
            self.wrong(
                kind, f"the value of {text.shown(name)} is not plain text", at, want, "put it in quotes, or use >-"
            )
            return None
        if re.search(r":(?: |\Z)", value):
            self.wrong(
                "colon", "a colon in an unquoted value", at, "a value in quotes or below >-", "use a folded block: >-"
            )
            return None
        if " #" in value:
            self.wrong("comment_cut", "the value ends at # for YAML readers", at, fix="use a folded block: >-")
            return None
        if _NOT_TEXT.match(value):
            self.not_text.add(name)
        return value

    def quoted(self, rest: str, at: int, indent: int) -> str | None:
        mark = rest[0]
        pattern = r"'((?:[^']|'')*)'" if mark == "'" else r'"((?:[^"\\]|\\.)*)"'
        whole = rest
        if re.match(pattern, whole, re.DOTALL) is None:
            parts = [rest] + [line.strip(" ") for line in self.continuation(indent)]
            whole = " ".join(part for part in parts if part)
        match = re.match(pattern + r"(.*)\Z", whole, re.DOTALL)
        if match is None or match[2].strip(" "):
            after = match is not None and match[2].lstrip(" ").startswith("#")
            message = "a comment after the value" if after else "a quoted value that does not end with its line"
            self.wrong("comment" if after else "quote", message, at, f"text between two {mark}")
            return None
        if mark == "'":
            return match[1].replace("''", "'")
        try:
            return _ESCAPE.sub(_unescaped, match[1])
        except (KeyError, ValueError, OverflowError):
            self.wrong("escape", "an escape that YAML does not know", at, "\\n, \\t, \\xXX or \\uXXXX")
            return None


def _unescaped(match: re.Match[str]) -> str:
    number = match[1] or match[2] or match[3]
    return chr(int(number, 16)) if number else _ESCAPES[match[4]]


def _folded(lines: list[str], literal: bool, chomp: str) -> str:
    """The text of a block scalar (YAML 1.2, 8.1), without the finer points of more-indented lines."""
    filled = [line for line in lines if line.strip(" ")]
    margin = min((len(line) - len(line.lstrip(" ")) for line in filled), default=0)
    cut = [line[margin:].rstrip(" ") for line in lines]
    while cut and not cut[-1]:
        cut.pop()
    if literal:
        value = "\n".join(cut)
    else:
        value = re.sub(r"(?<!\n)\n(?!\n)", " ", "\n".join(cut)).replace("\n\n", "\n")
    return value if chomp == "-" or not value else value + "\n"


def _what(value: str) -> tuple[str, str]:
    """Which part of YAML a value that is not plain text uses, and what to write."""
    first = value.strip(" ")[:1]
    if first in "[{]}" and first:
        return "flow", "block style"
    if first in "&*" and first:
        return "anchor", "the text itself"
    if first == "!":
        return "tag", "the text itself"
    if first in "|>%@`," and first:
        return "reserved", "text in quotes"
    if first in "-?" and first and value.strip(" ")[1:2] in ("", " "):
        return "list" if first == "-" else "reserved", "one string"
    if value.startswith(("...", "<<")):
        return "reserved", "keys and values"
    return "syntax", "key: value"

"""Characters that are not seen: controls, zero-width and direction marks, tags, fillers, look-alike letters in a word.

What writing needs is left alone: emoji sequences with their joiners and selectors, the joiners of Arabic and Indic
scripts, direction marks beside right-to-left letters.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from .. import text
from ..findings import Finding

_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u0600-\u0605\u06dd\u070f\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\ue000-\uf8ff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe0e\ufe0f"
_MARKS = "\u200e\u200f\u061c"
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{5,6}\U000e007f")


class _Kind(NamedTuple):
    code: str
    message: str
    severity: str


_CONTROL = _Kind("hidden.control", "control characters", "error")
_INVISIBLE = _Kind("hidden.invisible", "invisible characters", "error")
_DIRECTION = _Kind("hidden.direction", "characters that change the direction of text", "error")
_TAGS = _Kind("hidden.tags", "tag characters, which spell text that nobody sees", "error")
_PRIVATE = _Kind("hidden.private_use", "characters without a meaning of their own", "warning")


def check(path: str, content: str, program: bool) -> list[Finding]:
    """One finding for each kind of hidden character in a text."""
    places: dict[_Kind, list[int]] = {}
    if not (content.isascii() and content.isprintable()):
        flags = [match.span() for match in _FLAG.finditer(content)] if "\U000e007f" in content else []
        for match in _SUSPECT.finditer(content):
            at = match.start()
            kind = _kind(content, at, program)
            if kind is not None and not any(start <= at < end for start, end in flags):
                places.setdefault(kind, []).append(at)
    found = []
    for kind, offsets in places.items():
        line = content.count("\n", 0, offsets[0]) + 1
        names = ", ".join(sorted({f"U+{ord(content[at]):04X}" for at in offsets[:1000]})[:6])
        got = f"{len(offsets)} of them: {names}"
        if kind is _TAGS:
            got += " spelling " + text.shown("".join(chr(ord(content[at]) & 0x7F) for at in offsets[:200]), 120)
        found.append(
            Finding(kind.code, kind.message, f"{path}:{line}", got, "visible text", "remove them", kind.severity)
        )
    if not content.isascii():
        found += _mixed(path, content)
    return found


def _kind(content: str, at: int, program: bool) -> _Kind | None:
    character = content[at]
    number = ord(character)
    before, after = content[at - 1 : at], content[at + 1 : at + 2]
    if number < 0x20 or 0x7F <= number <= 0x9F:
        # A form feed parts the sections of some programs; a carriage return ends lines.
        whole = character == "\r" and after == "\n"
        return None if whole or (character == "\f" and program) else _CONTROL
    if character in _SELECTORS:
        return (
            None
            if before
            and (unicodedata.category(before) in ("So", "Sk", "Sm", "Po") or before in "0123456789#*\u200d\u2139")
            else _INVISIBLE
        )
    if character in _JOINERS:
        return None if _joins(before, after) else _INVISIBLE
    if character in _MARKS:
        near = content[max(0, at - 3) : at] + content[at + 1 : at + 4]
        return None if any(unicodedata.bidirectional(c) in ("R", "AL") for c in near) else _DIRECTION
    if 0x202A <= number <= 0x202E or 0x2066 <= number <= 0x2069:
        return _DIRECTION
    if 0xE0000 <= number <= 0xE007F:
        return _TAGS
    if 0x0600 <= number <= 0x0605 or number in (0x06DD, 0x070F, 0x08E2):
        return None
    if 0xE000 <= number <= 0xF8FF or number >= 0xF0000:
        return _PRIVATE
    if character == "\ufeff" and at == 0:
        return _Kind("text.bom", "a byte order mark", "warning")
    return _INVISIBLE


def _joins(before: str, after: str) -> bool:
    """Whether a joiner stands where writing needs it: between emoji, or between letters of scripts that join."""
    if not before or not after:
        return False
    if "\u0600" <= before <= "\u0fff" and "\u0600" <= after <= "\u0fff":
        return True
    emoji = ("\u2190", "\u2bff"), ("\U0001f000", "\U0001faff")
    left = before in "\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff" or any(
        a <= before <= b for a, b in emoji
    )
    return left and any(a <= after <= b for a, b in emoji)


def _mixed(path: str, content: str) -> list[Finding]:
    """Words that mix Latin letters with look-alikes of Cyrillic or Greek."""
    words = []
    for match in _WORD.finditer(content):
        word = match[0]
        if (
            not word.isascii()
            and re.search(r"[A-Za-z]", word)
            and re.search("[\u0370-\u03ff\u0400-\u052f\u0530-\u058f]", word)
        ):
            # A Greek letter before or after a Latin name is mathematics: Δt, σx.
            if re.search(r"[A-Za-z]", word) and len(re.findall("[\u0370-\u03ff]", word)) == 1 and len(word) <= 4:
                continue
            words.append((content.count("\n", 0, match.start()) + 1, word))
    if not words:
        return []
    message = "words that mix scripts: letters that look alike but are others"
    got = ", ".join(text.shown(word.encode("ascii", "backslashreplace").decode(), 60) for _, word in words[:4])
    return [
        Finding(
            "hidden.mixed_script", message, f"{path}:{words[0][0]}", got, "one script in a word", severity="warning"
        )
    ]

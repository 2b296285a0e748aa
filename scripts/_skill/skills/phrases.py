"""Phrases that give orders over the head of the user, found however they are spelt.

A text is squeezed to its bare letters: case, accents, spaces, punctuation, invisible characters, emphasis and line
breaks go, look-alike letters of other scripts become Latin ones. The phrases are then searched in that one string, and
again with digits read as letters, with HTML tags and entities resolved, backwards, and shifted by thirteen.

What it does not do: understand. A new wording passes; see `references/safety.md`.
"""

from __future__ import annotations

import bisect
import codecs
import html
import itertools
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from .phrase_list import OTHER_WORDS, PHRASES, ROLE_MARKERS


class Hit(NamedTuple):
    """One phrase in a text."""

    code: str
    line: int
    words: str
    """The phrase, squeezed."""
    spelling: str
    """How it was spelt: empty where it can be read as it stands."""


_FORBIDS = re.compile(
    r"\b(?:never|don.?t|mustn.?t|cannot|can.?t|doesn.?t|won.?t|refus(?:e|es|al)|nothing|nobody|no one|not|no|nor)\b"
    r"[^.!?]{0,80}\Z",
    re.IGNORECASE,
)
"""A word that forbids what follows in the same sentence; whole words only: `now` and `note` forbid nothing."""
_LOOK_BACK = 120

# Letters of other scripts that look like Latin ones and are not folded by Unicode's own forms.
_PAIRS = (
    "аa еe оo рp сc уy хx іi ѕs јj ԁd ԛq ԝw һh вb кk мm нh тt гr пn зe ӏl ьb яr ѵv ґr ҝk қk ңh ҳx ґr ɡg "
    "αa βb γy εe ηn ιi κk νv οo ρp τt υu χx ωw σo ζz ϲc ϳj λa μu "
    "ɑa ıi ɩi łl øo đd ħh ŧt ɴn ɪi ʀr ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ᴊj ᴋk ʟl ᴍm ᴏo ᴘp ꜱs ᴛt ᴜu ᴠv "
    "ᴡw ʏy ᴢz ɐa ɔc ǝe əe ʇt ʌv "
    "օo սu հh ցg ոn ԛq գq ѡw օo Ꭵi ⅼl ⅰi ǃi"
)
_LOOK_ALIKE = {pair[0]: pair[1] for pair in _PAIRS.split()}
_LEET = {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "6": "g", "7": "t", "8": "b", "9": "g"}
_LEET |= {"@": "a", "$": "s", "!": "i", "|": "l", "+": "t", "€": "e", "£": "l", "¡": "i", "ß": "b"}


class _Fold(dict[int, str]):
    """Character to bare letters, worked out once a character."""

    def __init__(self, latin: bool, leet: dict[str, str]) -> None:
        super().__init__()
        self.latin = latin
        self.leet = leet

    def __missing__(self, number: int) -> str:
        character = chr(number)
        if character in self.leet:
            folded = self.leet[character]
        else:
            letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", character)).casefold()
            letters = "".join(c for c in letters if unicodedata.category(c)[0] == "L" and c not in _FILLERS)
            if self.latin:
                letters = "".join(_LOOK_ALIKE.get(c, c) for c in letters)
            folded = letters
        self[number] = folded
        return folded


MAX_HITS = 50
"""How many phrases of one text are reported."""

_FILLERS = "\u115f\u1160\u3164\uffa0\u02d0"
_PLAIN = _Fold(True, {})
_AS_LETTERS = _Fold(True, _LEET)
_AS_LETTERS_TOO = _Fold(True, _LEET | {"1": "l", "!": "l", "9": "q", "6": "b"})
_SCRIPT = _Fold(False, {})
# Folded like the text, so that accents and composed syllables agree.
_OTHER_SCRIPTS = [
    (code, re.compile("".join(c if c.isascii() else c.translate(_SCRIPT) for c in pattern)))
    for code, pattern in OTHER_WORDS
]


def find(content: str, markup: bool = True) -> list[Hit]:
    """The phrases in a text, each line once; `markup` also reads it without tags and with entities resolved."""
    found: dict[tuple[str, int], Hit] = {}

    def look(readable: str, fold: _Fold, spelling: str, strong: bool) -> None:
        squeezed = readable.translate(fold)
        for code, start, words in _search(squeezed, strong, _before(readable, fold)):
            _add(found, Hit(code, _line(readable, fold, start), words[:120], spelling))

    look(content, _PLAIN, "", False)
    squeezed = content.translate(_PLAIN)
    look(content, _AS_LETTERS, "with digits for letters", True)
    look(content, _AS_LETTERS_TOO, "with digits for letters", True)
    for spelling, other in (("backwards", squeezed[::-1]), ("shifted by 13", codecs.encode(squeezed, "rot13"))):
        for code, start, words in _search(other, True, lambda at: ""):
            at = len(squeezed) - start - len(words) if spelling == "backwards" else start
            _add(found, Hit(code, _line(content, _PLAIN, at), words[:120], spelling))
    if markup and ("<" in content or "&" in content):
        look(html.unescape(_without_tags(content)), _PLAIN, "between tags or as entities", True)
    if not content.isascii():
        script = content.translate(_SCRIPT)
        for code, pattern in _OTHER_SCRIPTS:
            for match in itertools.islice(pattern.finditer(script), MAX_HITS):
                _add(found, Hit(code, _line(content, _SCRIPT, match.start()), match[0][:120], ""))
    for match in itertools.islice(ROLE_MARKERS.finditer(content), MAX_HITS):
        _add(found, Hit("hidden.role_marker", content.count("\n", 0, match.start()) + 1, match[0].strip()[:60], ""))
    return sorted(found.values(), key=lambda hit: hit.line)


def _add(found: dict[tuple[str, int], Hit], hit: Hit) -> None:
    found.setdefault((hit.code, hit.line), hit)


def _before(readable: str, fold: _Fold) -> Callable[[int], str]:
    """What stands before a letter of the squeezed text, as it is written; worked out when first asked for."""
    ends: list[int] = []

    def before(offset: int) -> str:
        if not ends:
            ends.extend(itertools.accumulate(len(fold[ord(character)]) for character in readable))
        at = bisect.bisect_right(ends, offset)
        return readable[max(0, at - _LOOK_BACK) : at]

    return before


def _search(squeezed: str, strong: bool, before: Callable[[int], str]) -> list[tuple[str, int, str]]:
    found = []
    for phrase in PHRASES:
        if strong and not phrase.strong:
            continue
        for stem in phrase.stems:
            at = squeezed.find(stem)
            while at >= 0:
                match = phrase.rest.match(squeezed, at + len(stem))
                if match and (phrase.negated or not _FORBIDS.search(before(at))):
                    found.append((phrase.code, at, squeezed[at : match.end()]))
                    if len(found) >= MAX_HITS:
                        return found
                at = squeezed.find(stem, at + 1)
    return found


def _line(content: str, fold: _Fold, offset: int) -> int:
    """The line that holds a letter of the squeezed text; folding is by single characters, so lengths add up."""
    for number, line in enumerate(content.split("\n"), 1):
        offset -= len(line.translate(fold))
        if offset < 0:
            return number
    return content.count("\n") + 1


def _without_tags(content: str) -> str:
    """The text without comments and tags; line breaks stay."""
    from . import markdown

    parts, last = [], 0
    for start, end in markdown.comments(content):
        parts += [content[last:start], "\n" * content.count("\n", start, end)]
        last = end
    parts.append(content[last:])
    return re.sub(r"</?[a-zA-Z][^<>\n]{0,300}>", "", "".join(parts))

"""Encoded blocks: base64, base32, hexadecimal, binary digits, escapes and entities that decode to text.

Each is decoded, also where it is packed or encoded twice, and what comes out is searched for phrases. Decoding stops at
64 KiB of result and at three layers.
"""

from __future__ import annotations

import base64
import binascii
import html
import itertools
import re
import urllib.parse
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from .. import text
from ..findings import Finding
from . import phrases

MAX_DECODED = 1 << 16
LONG = 600
"""Encoded binary data of so many characters is worth a word."""
MAX_FINDINGS = 50
_LAYERS = 3

_BASE64 = re.compile(
    r"[A-Za-z0-9+/_-]{16,}(?:[\r\n]+[ \t>#*]*[A-Za-z0-9+/_-]{16,})*(?:[\r\n]+[ \t>#*]*[A-Za-z0-9+/_-]{2,15})?={0,2}"
)
_BASE32 = re.compile(r"\b[A-Z2-7]{32,}={0,6}")
_HEX = re.compile(r"\b(?:[0-9a-fA-F]{2}[ \t:,-]?){12,}(?![0-9a-zA-Z])|(?:(?:0x|\\x|%)[0-9a-fA-F]{2}[,; \t]*){6,}")
_BITS = re.compile(r"\b(?:[01]{8}[ \t,]*){6,}")
_UNICODE = re.compile(r"(?:\\u\{?[0-9a-fA-F]{2,6}\}?){6,}|(?:U\+[0-9a-fA-F]{4}[ ,]*){6,}")
_ENTITIES = re.compile(r"(?:&#(?:\d{2,7}|x[0-9a-fA-F]{2,6});){6,}")
_DECIMAL = re.compile(r"\b(?:1?\d{2}[ ,]+){12,}1?\d{2}\b")
_DATA = re.compile(r"data:([a-zA-Z0-9.+/-]{0,60})((?:;[a-zA-Z0-9=._-]{1,40}){0,4}),([^\s\"'()<>\\]{0,4096})")


class _Decoded(NamedTuple):
    start: int
    length: int
    words: str
    """What it says; empty where it is binary."""
    kind: str


def check(path: str, content: str) -> list[Finding]:
    """Encoded blocks of a text that decode to text; those with a phrase in them say so."""
    found: list[Finding] = []
    for block in _blocks(content):
        if len(found) >= MAX_FINDINGS:
            break
        line = content.count("\n", 0, block.start) + 1
        place = f"{path}:{line}"
        if not block.words:
            # One word a file about data that is only long; a file of data says it on every line.
            if block.length >= LONG and not any(finding.code == "hidden.encoded_data" for finding in found):
                message = "a long encoded block that is not text"
                got = f"{block.length} characters of {block.kind}"
                found.append(
                    Finding("hidden.encoded_data", message, place, got, "a file of its own", severity="warning")
                )
            continue
        hits = phrases.find(block.words)
        if hits:
            message = f"{block.kind} that decodes to an order to the agent"
            found.append(Finding(hits[0].code, message, place, text.shown(block.words, 120), "no such text"))
        elif len(block.words) >= 16 and block.kind != "character numbers":
            message = f"{block.kind} that decodes to text"
            found.append(
                Finding(
                    "hidden.encoded",
                    message,
                    place,
                    text.shown(block.words, 120),
                    "the text itself",
                    "write it plainly",
                )
            )
    return found


def data_links(path: str, content: str) -> list[Finding]:
    """`data:` addresses: whole documents inside a link."""
    found = []
    for match in itertools.islice(_DATA.finditer(content), MAX_FINDINGS):
        kind = match[1].lower()
        line = content.count("\n", 0, match.start()) + 1
        if (not kind and not match[2]) or len(match[3]) < 8:
            # Prose, or the beginning of an address that a program completes.
            continue
        picture = kind.startswith(("image/", "font/"))
        if picture and len(match[3]) < 2048:
            continue
        severity = "warning" if picture else "error"
        got = text.shown(match[0], 100)
        found.append(
            Finding("hidden.data_link", "a document inside a link", f"{path}:{line}", got, "a file", severity=severity)
        )
    return found


def _blocks(content: str) -> Iterator[_Decoded]:
    taken_to = -1
    candidates = []
    for kind, pattern, decode in (
        ("base64", _BASE64, _base64),
        ("base32", _BASE32, _base32),
        ("hexadecimal", _HEX, _hexadecimal),
        ("binary digits", _BITS, _bits),
        ("escapes", _UNICODE, _unicode),
        ("entities", _ENTITIES, _entities),
        ("character numbers", _DECIMAL, _decimal),
    ):
        for match in pattern.finditer(content):
            words = _layers(decode(match[0]), _LAYERS)
            if words is not None or (kind == "base64" and _is_dense(match[0])):
                candidates.append(_Decoded(match.start(), len(match[0]), words or "", kind))
    for block in sorted(candidates, key=lambda block: (block.start, not block.words)):
        if block.start >= taken_to:
            taken_to = block.start + block.length
            yield block


def _is_dense(block: str) -> bool:
    """Whether a run of letters looks like base64: both cases and digits, and no word separators."""
    return bool(re.search(r"[a-z]", block) and re.search(r"[A-Z]", block) and re.search(r"[0-9]", block)) and (
        block.count("_") + block.count("-") < len(block) / 20
    )


def _layers(data: bytes | None, layers: int) -> str | None:
    """The text in decoded bytes: as it is, unpacked, or encoded once more."""
    if not data:
        return None
    data = data[:MAX_DECODED]
    if data[:2] == b"\x1f\x8b" or data[:1] == b"\x78":
        try:
            data = zlib.decompressobj(47).decompress(data, MAX_DECODED)
        except zlib.error:
            return None
    words = _readable(data)
    if words is not None and layers > 1:
        inner = re.fullmatch(r"\s*([A-Za-z0-9+/_=\r\n-]{16,})\s*", words)
        deeper = _layers(_base64(inner[1]) or _hexadecimal(inner[1]), layers - 1) if inner else None
        return deeper or words
    return words


def _readable(data: bytes) -> str | None:
    """The text of the bytes where they are text: UTF-8 or UTF-16, nearly all of it printable, mostly letters."""
    for encoding in ("utf-8", "utf-16-le"):
        try:
            words = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if len(words) < 6:
            return None
        printable = sum(1 for c in words if c.isprintable() or c in "\n\t\r")
        letters = sum(1 for c in words if c.isalpha() or c == " ")
        # UTF-16 makes CJK letters of any bytes, so there only Latin text counts.
        latin = sum(1 for c in words if c.isascii())
        if (
            printable >= 0.97 * len(words)
            and letters >= 0.6 * len(words)
            and (encoding == "utf-8" or latin > 0.9 * len(words))
        ):
            return words
    return None


def _base64(block: str) -> bytes | None:
    letters = re.sub(r"[^A-Za-z0-9+/_-]", "", block).replace("-", "+").replace("_", "/")[: MAX_DECODED * 2]
    if len(letters) % 4 == 1:
        letters = letters[:-1]
    try:
        return base64.b64decode(letters + "=" * (-len(letters) % 4))
    except (binascii.Error, ValueError):
        return None


def _base32(block: str) -> bytes | None:
    letters = block.rstrip("=")[: MAX_DECODED * 2]
    letters = letters[:-1] if len(letters) % 8 in (1, 3, 6) else letters
    try:
        return base64.b32decode(letters + "=" * (-len(letters) % 8))
    except (binascii.Error, ValueError):
        return None


def _hexadecimal(block: str) -> bytes | None:
    digits = re.sub(r"0x|\\x|[^0-9a-fA-F]", "", block)[: MAX_DECODED * 2]
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _bits(block: str) -> bytes | None:
    digits = re.sub(r"[^01]", "", block)[: MAX_DECODED * 8]
    return bytes(int(digits[at : at + 8], 2) for at in range(0, len(digits) - 7, 8))


def _unicode(block: str) -> bytes | None:
    numbers = [int(word, 16) for word in re.findall(r"[0-9a-fA-F]{2,6}", block)[:MAX_DECODED]]
    return "".join(chr(n) for n in numbers if n < 0xD800 or 0xDFFF < n < 0x110000).encode()


def _entities(block: str) -> bytes | None:
    return html.unescape(block[:MAX_DECODED]).encode("utf-8", "replace")


def _decimal(block: str) -> bytes | None:
    return bytes(int(word) for word in re.findall(r"\d+", block)[:MAX_DECODED])


def percent_decoded(content: str) -> str:
    """The text with percent escapes resolved, to be searched for phrases."""
    return urllib.parse.unquote(content, errors="replace")

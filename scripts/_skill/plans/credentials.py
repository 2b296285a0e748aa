"""Literal credentials in a document: found by the name of a key or the form of a value, and never shown.

A plan is kept, approved, copied into a run's folder and logged, so a credential in it is given away. Programs read
credentials from the environment instead.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

from .. import text
from ..findings import Finding

HIDDEN = "(not shown)"
SHORTEST = 7
"""No form is shorter: `://:x@y`."""
MOST_CHARACTERS = 1 << 14
"""How much of a text is looked at: a longer one passes no schema here, and no message shows more of it."""
_FIX = "remove it from the plan, revoke it if the file was shared, and set it as an environment variable where it runs"

_KEY = re.compile(
    r"(?:^|[_.-])(?:api[_.-]?keys?|apikeys?|secrets?|tokens?|passw(?:or)?ds?|passwd|passphrases?|pwd|"
    r"credentials?|authorization|auth|bearer|cookies?|private[_.-]?keys?|access[_.-]?keys?|client[_.-]?secrets?|"
    r"session[_.-]?ids?)(?:$|[_.-])",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a private key (PEM)", re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|CERTIFICATE)")),
    ("a URL with a password", re.compile(r"://[^/\s:@]{0,256}:[^/\s@]{1,512}@")),
    ("a URL with a credential", re.compile(r"://[^/\s@:]{16,512}@")),
    ("a key of an AI provider", re.compile(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}")),
    ("a payment key", re.compile(r"(?<![A-Za-z0-9])[srp]k_(?:live|test)_[A-Za-z0-9]{10,}")),
    ("a GitHub token", re.compile(r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})")),
    ("a GitLab token", re.compile(r"(?<![A-Za-z0-9])gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_-]{16,}")),
    ("a Hugging Face token", re.compile(r"(?<![A-Za-z0-9])(?:hf|api_org)_[A-Za-z0-9]{16,}")),
    ("a wandb key", re.compile(r"(?<![A-Za-z0-9])wandb_v1_[A-Za-z0-9_-]{16,}")),
    ("an AWS key", re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])")),
    (
        "a Google key",
        re.compile(r"(?<![A-Za-z0-9])(?:AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[\w-]{20,})"),
    ),
    ("a Slack token", re.compile(r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("a package index token", re.compile(r"(?<![A-Za-z0-9])(?:pypi-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{20,})")),
    ("a Docker token", re.compile(r"(?<![A-Za-z0-9])dckr_pat_[A-Za-z0-9_-]{16,}")),
    ("a JSON web token", re.compile(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,256}\.[A-Za-z0-9_-]{8}")),
    ("a bearer credential", re.compile(r"\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)),
    (
        "an assignment of a credential",
        re.compile(
            r"(?:api[_-]?key|secret|token|passw(?:or)?d|pwd|authorization|access[_-]?key)[\"']?\s*[:=]\s*[^\s,;&]{4,}",
            re.IGNORECASE,
        ),
    ),
)
_RUN_OF_CHARACTERS = re.compile(r"[A-Za-z0-9+/_=.~-]{20,}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64})(?![0-9A-Za-z])")
_AWS_SECRET = re.compile(
    r"(?<![A-Za-z0-9/+=])(?=[A-Z0-9/+]*[a-z])(?=[a-z0-9/+]*[A-Z])(?=[A-Za-z/+]*[0-9])"
    r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
)
"""Forty characters of base64 with small letters, capitals and digits: often too regular to look random."""
_LONG_RUN = re.compile(r"[A-Za-z0-9+/_=-]{16,}")
_DIGESTS = frozenset({("start", "sha256")})
"""Where 64 hexadecimal digits are a digest by the schema."""
_PATHS = frozenset({("start", "checkpoint"), ("environment", "path"), ("environment", "source")})
"""Where a value is a file's path: parts of it may look random, as names of stores and caches do."""


def findings(document: Any, hide: Callable[[str], str] = str) -> list[Finding]:
    """One finding for each key or text that is, or looks like, a credential; no value is in any of them.

    `hide` replaces the values of secret variables in a text: a text that it changes holds one.
    """

    def kind(value: str, place: tuple[str | int, ...] = ()) -> str | None:
        found = kind_of(value, place)
        if found:
            return f"looks like {found}"
        return "is that of a secret variable, or holds it" if hide(value) != value else None

    found: list[Finding] = []
    # An explicit stack: the reader bounds the depth, but this does not depend on it.
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), document)]
    while stack:
        place, value = stack.pop()
        if isinstance(value, dict):
            for key, item in reversed(value.items()):
                what = kind(key)
                if what:
                    # The key itself cannot be shown either.
                    found.append(_finding(f"a key {what}", place))
                    continue
                if named_like_one(key) and _holds_something(item):
                    found.append(_finding(f"{text.shown(key, 60)} holds a literal credential", (*place, key)))
                    continue
                stack.append(((*place, key), item))
        elif isinstance(value, list):
            stack.extend(((*place, index), item) for index, item in reversed(list(enumerate(value))))
        elif isinstance(value, str):
            what = kind(value, place)
            if what:
                found.append(_finding(f"the value {what}", place))
    return sorted(found, key=lambda finding: finding.pointer)


def named_like_one(key: str) -> bool:
    """Whether a key is named like a credential: `api_key`, `wandbToken`, `PASSWORD`; not `tokens_per_step`."""
    plain = _CAMEL.sub("_", key[:200])
    if not _KEY.search(plain):
        return False
    # Counts and limits of tokens are no credentials.
    return not re.search(r"tokens?[_.-](?:per|count|size|limit)|(?:num|max|min|n)[_.-]tokens?\Z", plain, re.IGNORECASE)


def kind_of(value: str, place: tuple[str | int, ...] = ()) -> str | None:
    """What kind of credential a text looks like, or None."""
    if len(value) < SHORTEST:
        return None
    value = value[:MOST_CHARACTERS]
    for kind, pattern in _FORMS:
        if pattern.search(value):
            return kind
    if place in _DIGESTS or place in _PATHS:
        return None
    if _AWS_SECRET.search(value):
        return "a random key"
    if _HEX.search(value):
        return "a key of hexadecimal digits"
    if any(_looks_random(match[0]) for match in _RUN_OF_CHARACTERS.finditer(value)):
        return "a random key"
    return None


def without(finding: Finding, source: str = "") -> Finding:
    """A finding whose texts show no credential; used where the surroundings of a mistake are shown.

    `source` is the document's own name, which stands in the message and is no part of it.
    What is shown there is cut, so that a part of a key may stand alone: any long run of letters and digits is hidden.
    """
    around = f"{finding.got} {finding.fix}"
    words = re.split(r"[\"'\s:,{}\[\]=/]+", f"{around} {finding.pointer}")
    by_name = any(named_like_one(word) for word in words)
    message = finding.message.replace(source, "", 1) if source else finding.message
    if not by_name and not _partly_one(f"{around} {message} {finding.pointer}"):
        return finding
    if finding.code != "json.duplicate_key" or _partly_one(message):
        message = re.sub('"[^"]*"?', HIDDEN, message)
    pointer = HIDDEN if _partly_one(finding.pointer) else finding.pointer
    fix = HIDDEN if finding.fix else ""
    return finding._replace(got=HIDDEN, fix=fix, message=source + message, pointer=pointer)


def _partly_one(words: str) -> bool:
    runs = _LONG_RUN.findall(words)
    return kind_of(words) is not None or any(re.search("[0-9]", run) and re.search("[A-Za-z]", run) for run in runs)


def _looks_random(word: str) -> bool:
    """Whether the kinds of characters alternate as in a key: names change them where a word or a number starts.

    A capital before small letters starts a word and does not count. Measured on 2000 random keys of 20 to 43
    characters each: see the tests.
    """
    if not (re.search("[0-9]", word) and re.search("[A-Za-z]", word)):
        return False
    one_case = word.lower() == word or word.upper() == word
    # In one case alone names have separators, and keys have long runs without one.
    runs = re.findall("[A-Za-z0-9]{20,}", word) if one_case else [word]
    return any(_changes(run) > (0.22 if one_case else 0.28) and _bits(run) >= 3.2 for run in runs)


def _changes(word: str) -> float:
    """Changes between small letters, capitals and digits, for each character."""
    kinds = ["s" if c.islower() else "c" if c.isupper() else "d" if c.isdigit() else "" for c in word]
    changes = sum(a != b and bool(a and b) and (a, b) != ("c", "s") for a, b in itertools.pairwise(kinds))
    return changes / len(word)


def _bits(word: str) -> float:
    """Shannon's entropy of a text's characters: bits for each."""
    counts = [word.count(character) for character in set(word)]
    return -sum(count / len(word) * math.log2(count / len(word)) for count in counts)


def _holds_something(value: Any) -> bool:
    """Whether a value can be a credential: not null, a truth value or an empty text."""
    return not (value is None or isinstance(value, bool) or value in ("", [], {}))


def _finding(message: str, place: tuple[str | int, ...]) -> Finding:
    return Finding("credential.literal", message, text.pointer(place), HIDDEN, "no credential in a plan", _FIX)

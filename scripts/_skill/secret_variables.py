"""Secret values among the variables of the environment, and hiding them in whatever is printed.

A value is never shown: the variable's name stands in its place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

SHORTEST = 8
"""Values shorter than this are words that stand anywhere."""
LONGEST = 8192
_NAME = re.compile(
    r"(?:^|_)(?:\w*KEYS?|\w*TOKENS?|\w*SECRETS?|\w*PASSW(?:OR)?DS?|PASSPHRASES?|PASS|PWD|\w*CREDENTIALS?|AUTH|COOKIES?|PAT|DSN)"
    r"(?:_|$)",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:([^/\s@]+)@", re.IGNORECASE)


def values(parent: Mapping[str, str]) -> dict[str, str]:
    """The secret values among variables, each with the name of its variable; a secret of several lines has several."""
    found: dict[str, str] = {}
    for name, value in parent.items():
        for secret in _secrets(name, value):
            for part in (secret, *secret.splitlines()):
                if SHORTEST <= len(part.strip()) <= LONGEST:
                    found.setdefault(part.strip(), re.sub(r"[^A-Za-z0-9_]", "_", name)[:64])
    return found


def nothing(words: str) -> str:
    """Hides nothing: no variable holds a secret."""
    return words


def hider(parent: Mapping[str, str]) -> Callable[[str], str]:
    """A function that writes `[NAME]` in the place of every secret value of `parent`, in its usual spellings."""
    replacements: list[tuple[str, str]] = []
    for secret, name in values(parent).items():
        replacements.extend((spelling, f"[{name}]") for spelling in spellings(secret))
    if not replacements:
        return nothing
    # Long ones first: one secret can stand inside another.
    table = dict(sorted(replacements, key=lambda pair: -len(pair[0])))
    pattern = re.compile("|".join(re.escape(spelling) for spelling in table))
    return lambda words: pattern.sub(lambda match: table[match[0]], words)


def spellings(secret: str) -> list[str]:
    """A secret as itself and as messages carry it: escaped for JSON and Python, in a URL, in base64."""
    import base64
    import json
    from urllib.parse import quote

    raw = secret.encode("utf-8", "surrogateescape")
    ways = [secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(raw, safe=""), quote(raw)]
    coded = base64.b64encode(raw).decode().rstrip("=")
    # The last character may depend on what follows.
    ways += [coded[:-1], coded[:-1].replace("+", "-").replace("/", "_")]
    return [way for way in dict.fromkeys(ways) if len(way) >= SHORTEST]


def telling(parent: Mapping[str, str]) -> dict[str, str]:
    """The variables whose value cannot stand in a document by chance: one word or one number can."""
    return {name: value for name, value in parent.items() if not value.isalpha() and not value.isdigit()}


def _secrets(name: str, value: str) -> list[str]:
    if not SHORTEST <= len(value) <= LONGEST:
        return []
    found = [match[1] for match in _URL_PASSWORD.finditer(value)]
    # The path of a key file or socket is no secret.
    if _NAME.search(name) and not (os.path.isabs(value) and "\n" not in value):
        found.append(value)
    return found

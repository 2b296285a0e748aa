"""Credentials of the calling environment: which variables hold one, which of them a run is given, and hiding values.

A value is never shown, stored or put on a command line: only the variable's name is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence

from ..findings import Finding, Refusal, Report
from ..plans import credentials
from ..plans.loggers import LOGGERS
from ..plans.plan import Plan

SHORTEST = 8
"""Values shorter than this are words that stand anywhere."""
LONGEST = 8192
_NAME = re.compile(
    r"(?:^|_)(?:\w*KEYS?|\w*TOKENS?|\w*SECRETS?|\w*PASSW(?:OR)?DS?|PASSPHRASES?|PASS|PWD|\w*CREDENTIALS?|AUTH|COOKIES?|PAT|DSN)"
    r"(?:_|$)",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:([^/\s@]+)@", re.IGNORECASE)


def of(plan: Plan, parent: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the credentials that a plan's run is given: those of its online loggers, and nothing else."""
    names = []
    for logger in plan.document["loggers"]:
        known = LOGGERS.get(logger["kind"])
        if known is not None and known.variables and logger.get("mode", "online") in known.online:
            # One is enough; where none is set, the first is named.
            names.append(next((name for name in known.variables if parent.get(name)), known.variables[0]))
    return tuple(dict.fromkeys(names))


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


def protect(arguments: Sequence[str], report: Report) -> None:
    """First thing in a tool: refuses secrets on its command line, and hides those of its environment in its report."""
    report.hide = hider(os.environ)
    refuse_in_arguments(arguments, os.environ)


def refuse_in_arguments(arguments: Sequence[str], parent: Mapping[str, str]) -> None:
    """Refuses a command line that holds a secret: every user of the machine can read it, and shells keep it."""
    hide = hider(parent)
    for number, word in enumerate(arguments):
        held = hide(word) != word
        if held or _looks_like_one(word):
            raise Refusal(
                Finding(
                    "argument.secret",
                    f"argument {number + 1} holds {'the value of a secret variable' if held else 'a credential'}",
                    got=credentials.HIDDEN,
                    want="no credential on a command line",
                    fix="set it as a variable of the environment, and revoke it if the command line was shared",
                ),
                exit_status=2,
            )


def _looks_like_one(word: str) -> bool:
    """Forms of credentials only: digests, names of runs and paths are no secrets."""
    value = word.partition("=")[2] if word.startswith("-") else word
    kind = credentials.kind_of(value)
    return kind is not None and kind not in ("a random key", "a key of hexadecimal digits")


def _secrets(name: str, value: str) -> list[str]:
    if not SHORTEST <= len(value) <= LONGEST:
        return []
    found = [match[1] for match in _URL_PASSWORD.finditer(value)]
    # The path of a key file or socket is no secret.
    if _NAME.search(name) and not (os.path.isabs(value) and "\n" not in value):
        found.append(value)
    return found

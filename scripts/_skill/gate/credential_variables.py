"""Credentials of the calling environment: which of them a run is given, and none of them on a command line.

A value is never shown, stored or put on a command line: only the variable's name is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..findings import Finding, Refusal
from ..plans import credentials
from ..plans.loggers import LOGGERS
from ..plans.plan import Plan
from ..secret_variables import hider as hider
from ..secret_variables import nothing as nothing
from ..secret_variables import spellings as spellings
from ..secret_variables import telling as telling
from ..secret_variables import values as values


def of(plan: Plan, parent: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the credentials that a plan's run is given: those of its online loggers, and nothing else."""
    names = []
    for logger in plan.document["loggers"]:
        known = LOGGERS.get(logger["kind"])
        if known is not None and known.variables and logger.get("mode", "online") in known.online:
            # One is enough; where none is set, the first is named.
            names.append(next((name for name in known.variables if parent.get(name, "").strip()), known.variables[0]))
    return tuple(dict.fromkeys(names))


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

"""Names of parameters: prefixes that wrappers leave, mixed and colliding names."""

from __future__ import annotations

from .. import text
from .content import INCONSISTENT, Content

PREFIXES = ("module.", "_orig_mod.")
"""What data parallel training and compilation put before every name, in any order and number."""

_COUNTER = "n_averaged"
"""torch's averaged model keeps this one buffer beside the wrapped module's."""


def stripped(name: str) -> str:
    """The name without wrapper prefixes at its start."""
    while True:
        for prefix in PREFIXES:
            if name.startswith(prefix) and len(name) > len(prefix):
                name = name[len(prefix) :]
                break
        else:
            return name


def check(content: Content) -> None:
    """Reports prefixes of each state dict; a mixed set and a collision are errors."""
    for _, names in content.groups:
        prefixed = [name for name in names if stripped(name) != name]
        if not prefixed:
            continue
        plain = [name for name in names if stripped(name) == name and name != _COUNTER]
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(stripped(name), name)
            if other != name:
                content.add(
                    INCONSISTENT, "names.collision", "two names are one after wrapper prefixes are taken off",
                    got=f"{text.shown(other)} and {text.shown(name)}", want="each parameter once",
                    fix="find out which of the two is meant, and save that state dict alone",
                )  # fmt: skip
                break
        if plain:
            content.add(
                INCONSISTENT, "names.mixed", f"{len(prefixed)} names have a wrapper prefix and {len(plain)} have none",
                got=f"{text.shown(prefixed[0])} and {text.shown(plain[0])}",
                fix="save the state dict of one model, unwrapped: model.module.state_dict()",
            )  # fmt: skip
        else:
            first = prefixed[0]
            content.details["prefix"] = text.escaped(first[: len(first) - len(stripped(first))], 60)
            content.warn(
                "names.prefix", f"all {len(prefixed)} names begin with a wrapper prefix", got=text.shown(first),
                want=text.shown(stripped(first)), fix="conversion takes the prefix off",
            )  # fmt: skip


def renamed(content: Content) -> dict[str, str]:
    """Every tensor's full name without the wrapper prefixes of its state dict, where it has some."""
    result: dict[str, str] = {}
    for place, names in content.groups:
        start = f"{place}." if place else ""
        for name in names:
            result[start + name] = start + stripped(name)
    return result

"""A plan has the sections and keys of its profile, no more and no fewer: nothing is left to a default when it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import strict_json, text
from ...findings import Finding
from .. import profile as profiles
from . import Case


def findings(case: Case) -> Iterator[Finding]:
    """Keys that are missing or belong to another profile, and what the profile cannot do at all."""
    profile, document = case.profile, case.plan.document
    for section, defaults in (("train", profile.train_defaults), ("vectorization", profile.vectorization_defaults)):
        yield from _keys(case, (section,), document[section], defaults)
    optional = {"distributed", "compile", "fallbacks"}
    present = {key: document[key] for key in optional if key in document}
    yield from _keys(case, (), present, profile.section_defaults)
    supports = profile.supports
    facts: tuple[tuple[str, tuple[str, ...], str, tuple[str, ...]], ...] = (
        ("environment.api", ("environment", "api"), case.plan.api, supports.apis),
        ("vector.backend", ("vectorization", "backend"), case.plan.vectorization["backend"], supports.backends),
        ("policy.network", ("policy", "network"), document["policy"]["network"], supports.networks),
        ("device.profile", ("device",), case.plan.device, supports.devices),
    )
    for code, place, value, known in facts:
        if value not in known:
            near = text.nearest(value, known) or (known[0] if known else "")
            others = [name for name in _others(case) if _supports(name, place[-1], value)]
            ways = [f'use "{near}"'] if near else []
            ways += [f"profile {text.listed(others)}"] if others else []
            yield Finding(
                code,
                f"profile {profile.name} does not support {text.shown(value)} here",
                text.pointer(place),
                text.shown(value),
                text.listed(known) or "nothing",
                ", or ".join(ways),
            )
    if not profile.launchable:
        launchable = [name for name in _others(case) if profiles.load(name).launchable]
        yield Finding(
            "profile.not_launchable",
            f"a plan of profile {profile.name} can be checked, not started: {profile.reason}",
            "/profile",
            text.shown(profile.name),
            text.listed(launchable) or "no profile",
            f'plan for "{launchable[0]}" to train now' if launchable else "",
            "warning",
        )


def _keys(case: Case, place: tuple[str, ...], found: dict[str, Any], wanted: dict[str, Any]) -> Iterator[Finding]:
    for key in wanted:
        if key not in found:
            yield Finding(
                "profile.key_missing",
                f"a plan of profile {case.profile.name} has {text.shown(key)}",
                text.pointer((*place, key)),
                "nothing",
                text.listed(wanted),
                f"add {key}, by default {text.escaped(strict_json.canonical(wanted[key]).decode(), 400)}",
            )
    for key in sorted(found):
        if key not in wanted:
            others = [
                name
                for name in _others(case)
                if key
                in {
                    "train": profiles.load(name).train_defaults,
                    "vectorization": profiles.load(name).vectorization_defaults,
                    "": profiles.load(name).section_defaults,
                }["/".join(place)]
            ]
            yield Finding(
                "profile.key_unneeded",
                f"profile {case.profile.name} has no {text.shown(key)}",
                text.pointer((*place, key)),
                text.shown(found[key]),
                text.listed(wanted) or "no such section",
                "remove the key" + (f", or plan for profile {text.listed(others)}, which has it" if others else ""),
            )


def _others(case: Case) -> list[str]:
    return [name for name in profiles.names() if name != case.profile.name]


def _supports(name: str, what: str, value: str) -> bool:
    supports = profiles.load(name).supports
    known: dict[str, tuple[str, ...]] = {
        "api": supports.apis,
        "backend": supports.backends,
        "network": supports.networks,
        "device": supports.devices,
    }
    return value in known[what]

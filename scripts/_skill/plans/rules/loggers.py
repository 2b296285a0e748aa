"""Loggers exist, are of this profile, have a mode, and find their credential before anything starts."""

from __future__ import annotations

from collections.abc import Iterator

from ... import text
from ...findings import Finding
from ..loggers import LOGGERS, Logger
from . import Case

_INSTEAD = 'use "jsonl"; a program of its own can send metrics.jsonl on'


def findings(case: Case) -> Iterator[Finding]:
    """What is wrong with each logger; of credentials only the names of variables are said."""
    seen: set[str] = set()
    for index, entry in enumerate(case.plan.loggers):
        kind, place = entry["kind"], f"/loggers/{index}"
        known = [name for name, facts in LOGGERS.items() if not facts.refused]
        supported = [name for name in case.profile.supports.loggers if name in known]
        facts = LOGGERS.get(kind) or _closed(kind)
        if facts is not None and facts.refused:
            yield Finding(
                "logger.closed",
                f"{facts.title} cannot be used: {facts.refused}",
                f"{place}/kind",
                text.shown(kind),
                text.listed(supported),
                'use "jsonl", the log in the run\'s folder; no other service is taken in its place',
            )
            continue
        if kind not in LOGGERS:
            near = text.nearest(kind, known)
            yield Finding(
                "logger.kind",
                f"there is no logger called {text.shown(kind)}",
                f"{place}/kind",
                text.shown(kind),
                text.listed(known),
                f'did you mean "{near}"?' if near else _INSTEAD,
            )
            continue
        if kind in seen:
            yield Finding(
                "logger.twice",
                f"the logger {kind} stands twice",
                place,
                text.shown(kind),
                "each kind once",
                "remove one",
            )
        seen.add(kind)
        yield from _one(case, entry, place, supported)
    if "jsonl" not in {entry["kind"] for entry in case.plan.loggers}:
        yield Finding(
            "logger.local",
            "the local log is always written, so the plan says so",
            "/loggers",
            text.listed(entry["kind"] for entry in case.plan.loggers),
            'an entry {"kind": "jsonl"}',
            'add {"kind": "jsonl"}',
        )


def _closed(kind: str) -> Logger | None:
    """The service that closed, whatever its client is called: in another case, with a version or an ending."""
    return next((facts for name, facts in LOGGERS.items() if facts.refused and kind.lower().startswith(name)), None)


def _one(case: Case, entry: dict[str, str], place: str, supported: list[str]) -> Iterator[Finding]:
    kind, facts, mode = entry["kind"], LOGGERS[entry["kind"]], entry.get("mode")
    if kind not in supported:
        yield Finding(
            "logger.profile",
            f"profile {case.profile.name} does not write to {kind}",
            f"{place}/kind",
            text.shown(kind),
            text.listed(supported),
            _INSTEAD,
        )
    if not facts.modes:
        if mode is not None:
            yield Finding(
                "logger.mode_unneeded",
                f"the logger {kind} has no mode",
                f"{place}/mode",
                text.shown(mode),
                "no mode",
                "remove it",
            )
    elif mode is None or mode not in facts.modes:
        near = text.nearest(mode, facts.modes) if mode else None
        yield Finding(
            "logger.mode",
            f"the mode of {kind} is not said" if mode is None else f"{kind} has no mode {text.shown(mode)}",
            f"{place}/mode",
            text.shown(mode) if mode is not None else "nothing",
            text.listed(facts.modes),
            f'did you mean "{near}"?' if near else f'"{facts.modes[-1]}" and "offline" reach no service',
        )
        return
    if mode in facts.online:
        yield from _online(case, kind, place)
    if facts.package and mode != "disabled" and kind in supported and facts.package not in case.machine.packages:
        yield Finding(
            "logger.package",
            f"the package of the logger {kind} is not installed here",
            f"{place}/kind",
            "not installed",
            facts.package,
            f"install {facts.package} where the run starts, or leave the logger out",
            severity="warning",
        )


def _online(case: Case, kind: str, place: str) -> Iterator[Finding]:
    facts = LOGGERS[kind]
    if not set(facts.variables) & set(case.machine.variables):
        yield Finding(
            "logger.credential",
            f"{kind} online needs a credential; without one it asks for a login, or stalls where nobody can answer",
            f"{place}/mode",
            '"online" and none of the variables is set',
            " or ".join(facts.variables),
            f'set {facts.variables[0]} where the run starts (never in the plan), or use the mode "offline"',
        )
    if not case.plan.network:
        yield Finding(
            "logger.network",
            f"{kind} online reaches a service, and the plan names no host",
            "/network",
            "[]",
            "the host of the service",
            'name the host in network, for example "api.wandb.ai", or use the mode "offline"',
        )

"""Profiles: the engines that a plan can name, one file of facts each in `native_profile/pins/`.

Rules read these facts and never a profile's name, so that a new engine is a new file.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from .. import layout, strict_json, text
from ..findings import Finding, Refusal
from ..json_schema import Schema


class Supports(NamedTuple):
    """What an engine can do."""

    apis: tuple[str, ...] = ("c",)
    devices: tuple[str, ...] = ("cpu",)
    backends: tuple[str, ...] = ("threads",)
    even_workers: tuple[str, ...] = ()
    """Backends where every worker gets the same number of environments."""
    auto_workers: bool = True
    """Whether num_workers 0 lets the engine choose."""
    networks: tuple[str, ...] = ("mlp",)
    loggers: tuple[str, ...] = ("jsonl",)
    start_kinds: tuple[str, ...] = ("fresh",)
    max_world_size: int = 1
    action_offset: bool = False
    minibatch_unit: str = "slice"
    """`slice` (of a tile) or `segment` (of one agent)."""
    instead: dict[str, str] = {}  # noqa: RUF012 - never written to
    """What to do in place of a kind of start that is not supported."""


class Profile(NamedTuple):
    """One engine, with the facts that rules need."""

    name: str
    path: str
    tile_lanes: int
    """Agents that one tile holds at most; 0 for an engine without tiles."""
    slice_steps: int
    """Steps of one tile that a minibatch takes or leaves as a whole."""
    module: str
    """The module that the child process runs."""
    train_defaults: dict[str, Any]
    policy_defaults: dict[str, Any]
    vectorization_defaults: dict[str, Any]
    section_defaults: dict[str, Any]
    """Defaults of the sections that only some profiles have: distributed, compile, fallbacks."""
    supports: Supports
    requires: tuple[str, ...] = ()
    """Packages that must be installed where a plan of this profile runs."""
    launchable: bool = True
    reason: str = ""
    """Why the gate does not start plans of this profile."""
    title: str = ""

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices that it trains on."""
        return self.supports.devices


def names() -> list[str]:
    """The profiles of this bundle."""
    return sorted(name[:-5] for name in os.listdir(layout.PINS) if name.endswith(".json"))


def load(name: str) -> Profile:
    """The profile called `name`; an unknown one is refused with the nearest known one."""
    known = names()
    if name not in known:
        near = text.nearest(name, known)
        raise Refusal(
            Finding(
                "plan.profile",
                f"unknown profile {text.shown(name)}",
                "/profile",
                text.shown(name),
                text.listed(known),
                f'use "{near or known[-1]}"' if known else "",
            )
        )
    path = os.path.join(layout.PINS, f"{name}.json")
    document = strict_json.loads(strict_json.read_file(path), f"pins/{name}.json")
    findings = Schema.shipped("profile").findings(document)
    if findings:
        raise Refusal(*findings, exit_status=2)
    supports: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in document["supports"].items()
    }
    return Profile(
        name=name,
        path=path,
        tile_lanes=document.get("tile_lanes", 0),
        slice_steps=document.get("slice_steps", 1),
        module=document["module"],
        train_defaults=document["train_defaults"],
        policy_defaults=document["policy_defaults"],
        vectorization_defaults=document["vectorization_defaults"],
        section_defaults=document["section_defaults"],
        supports=Supports(**supports),
        requires=tuple(document["requires"]),
        launchable=document["launchable"],
        reason=document["reason"],
        title=document["title"],
    )

"""Profiles: the engines that a plan can name, one file each in `native_profile/pins/`."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from .. import layout, strict_json, text
from ..findings import Finding, Refusal
from ..json_schema import Schema


class Profile(NamedTuple):
    """One engine, with the facts that rules need."""

    name: str
    path: str
    tile_lanes: int
    """Agents that one tile holds at most."""
    slice_steps: int
    """Steps of one tile that a minibatch takes or leaves as a whole."""
    module: str
    """The module that the child process runs."""
    train_defaults: dict[str, Any]
    policy_defaults: dict[str, Any]
    devices: tuple[str, ...]


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
                want=text.listed(known),
                fix=f'use "{near or known[-1]}"' if known else "",
            )
        )
    path = os.path.join(layout.PINS, f"{name}.json")
    document = strict_json.loads(strict_json.read_file(path), f"pins/{name}.json")
    findings = Schema.shipped("profile").findings(document)
    if findings:
        raise Refusal(*findings, exit_status=2)
    return Profile(
        name=name,
        path=path,
        tile_lanes=document["tile_lanes"],
        slice_steps=document["slice_steps"],
        module=document["module"],
        train_defaults=document["train_defaults"],
        policy_defaults=document["policy_defaults"],
        devices=tuple(document.get("devices", ["cpu"])),
    )

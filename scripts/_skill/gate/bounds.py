"""The bounds of one launch: no network, writing only to its own folders; and a plain statement where there is none."""

from __future__ import annotations

import os
from typing import NamedTuple

from .. import text
from ..findings import Finding
from ..plans.plan import Plan
from ..process import file_isolation, network_isolation
from ..process.isolation import Isolation
from . import child_command

SHARED_MEMORY = "/dev/shm"


class Bounds(NamedTuple):
    """What the child of a launch is cut off from, and why it is not where it is not."""

    network: str
    """`cut off`, or why the network is open."""
    files: str
    """`bounded`, or why the child may write wherever its user may."""
    missing: dict[str, str]
    """Bounds that this system does not give, with the reason: network, files."""
    isolation: Isolation

    @property
    def items(self) -> dict[str, str]:
        """The digest's items: an approval with bounds allows no launch without them."""
        return {"bounds network": self.network, "bounds files": self.files}

    def findings(self, required: frozenset[str]) -> list[Finding]:
        """Why a launch is refused where the policy requires a bound that there is not."""
        return [
            Finding(
                "isolation.required",
                f"the launch policy requires the bound {name}, and this system does not give it",
                got=self.missing[name],
                want=name,
                fix="launch on a system that allows it, or have the policy changed",
            )
            for name in sorted(required & self.missing.keys())
        ]


def plan_bounds(plan: Plan, run_folder: str, snapshot: str, cache: str) -> Bounds:
    """The bounds for a plan on this system; tries out what the kernel allows."""
    missing = {}
    no_network = False
    if plan.network:
        # Names are for people: every host can be reached then, and the statement says so.
        network = f"open: the plan names {text.listed(plan.network)}; any host can be reached"
    else:
        reason = network_isolation.unavailable()
        no_network = reason is None
        network = "cut off" if reason is None else f"open: {reason}"
        if reason is not None:
            missing["network"] = reason
    reason = file_isolation.unavailable()
    writable: tuple[str, ...] | None = None
    if reason is None:
        writable = (run_folder, os.path.join(snapshot, "tmp"), os.path.join(cache, child_command.ENGINE_CACHE))
        if plan.vectorization["backend"] == "processes":
            writable += (SHARED_MEMORY,)
        if plan.device != "cpu":
            writable += _devices()
    else:
        missing["files"] = reason
    files = "bounded" if reason is None else f"open: {reason}"
    return Bounds(network, files, missing, Isolation(no_network, writable))


def _devices() -> tuple[str, ...]:
    """Device files of accelerators, which a driver opens for writing."""
    try:
        return tuple(sorted(f"/dev/{name}" for name in os.listdir("/dev") if name.startswith("nvidia")))
    except OSError:
        return ()

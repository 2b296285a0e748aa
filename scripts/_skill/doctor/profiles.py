"""What each profile can do here: found in `native_profile/pins/`, judged by the lines of the other checks."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..plans import profile as profiles
from . import packages
from .row import COULD_NOT, MISSING, Request, Row

_ALWAYS = ("python", "system", "disk", "cache")


class Verdict(NamedTuple):
    """What one profile can do here."""

    profile: str
    state: str
    """`ok`, `missing` or `could not`."""
    devices: dict[str, str]
    """Device to `ok`, or to what it lacks."""
    lacks: list[Row]
    """What keeps it from running, the first to be mended first."""
    reason: str
    """Why it cannot be launched by this bundle at all; empty where it can."""

    def as_json(self) -> dict[str, Any]:
        """The verdict as a JSON object."""
        return {
            "profile": self.profile,
            "state": self.state,
            "devices": self.devices,
            "lacks": [row.name for row in self.lacks],
            "fixes": [row.fix for row in self.lacks if row.fix],
            "reason": self.reason,
        }


def judge(request: Request, rows: list[Row], name: str) -> Verdict:
    """The verdict about one profile; an unknown name is refused with the nearest."""
    engine = profiles.load(name)
    found = {row.name: row for row in rows}
    needed = [found[part] for part in _ALWAYS]
    if "c" in engine.supports.apis and not engine.requires:
        # A profile that needs no package is compiled here; others can use C environments, and do not have to.
        needed.append(found["compiler"])
    for package in engine.requires:
        row = found.get(f"package {package}")
        needed.append(row or Row(f"package {package}", MISSING, "not installed", packages.install(package)))
    needed += [row for row in rows if row.name.startswith("extension ") and engine.requires and row.state == MISSING]
    lacks = [row for row in needed if row.state == MISSING]
    unknown = [row for row in needed if row.state == COULD_NOT]
    devices = {device: _device(request, device, bool(lacks or unknown)) for device in engine.supports.devices}
    reason = "" if engine.launchable else engine.reason
    state = MISSING if lacks or reason else COULD_NOT if unknown else "ok"
    return Verdict(name, state, devices, lacks + unknown, reason)


def _device(request: Request, device: str, stopped: bool) -> str:
    if stopped:
        return "what the profile itself lacks"
    if device == "cuda":
        if not request.machine.visible("cuda"):
            return "no CUDA device"
        if "torch" in request.machine.packages and "CPU only" in packages.torch_build():
            return f"torch is built for the CPU only; {packages.INSTALL['torch']}"
    return "ok"

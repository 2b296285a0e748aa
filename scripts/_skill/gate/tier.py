"""Tiers: which plans may be approved by their own `--opt-in`, and which need a person."""

from __future__ import annotations

from .. import text
from ..plans.plan import Plan

SELF = "self"
PERSON = "person"

MOST_STEPS = 1_000_000_000
MOST_WALL_SECONDS = 3600
MOST_MEMORY_MB = 8192
MOST_DISK_MB = 4096


def of(plan: Plan) -> tuple[str, list[str]]:
    """The tier, and the reasons why it needs a person (none for the low tier)."""
    reasons = []
    if plan.environment_path is not None:
        reasons.append(f"the environment is not built in: {text.escaped(plan.environment_path)}")
    if plan.device != "cpu":
        reasons.append(f"the device is {text.escaped(plan.device)}, not cpu")
    if plan.network:
        reasons.append(f"it names the network: {text.listed(plan.network)}")
    bounds = (
        ("train.total_timesteps", plan.train["total_timesteps"], MOST_STEPS),
        ("limits.wall_seconds", plan.limits.wall_seconds, MOST_WALL_SECONDS),
        ("limits.memory_mb", plan.limits.memory_mb, MOST_MEMORY_MB),
        ("limits.disk_mb", plan.limits.disk_mb, MOST_DISK_MB),
    )
    reasons.extend(f"{name} is {value}, more than {most}" for name, value, most in bounds if value > most)
    return (PERSON if reasons else SELF), reasons

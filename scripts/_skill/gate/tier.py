"""Tiers: what a plan needs before it may run, by the launch policies that hold here.

In each policy the first tier applies whose caps all hold. Of several policies the stricter one counts, rule by rule.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from .. import clock, text
from ..findings import Finding, Refusal
from ..plans.plan import Plan
from . import credential_variables, launch_policy
from .launch_policy import Policy

OPT_IN = "opt_in"
PERSON = "person"
SIGNATURE = "signature"

_NUMBERS = (
    ("total_timesteps", "train.total_timesteps"),
    ("wall_seconds", "limits.wall_seconds"),
    ("memory_mb", "limits.memory_mb"),
    ("disk_mb", "limits.disk_mb"),
    ("world_size", "distributed.world_size"),
)


class Demand(NamedTuple):
    """What one policy asks for."""

    policy: Policy
    tier: str
    consent: str
    signatures: int
    """How many different people must sign; 0 where the tier needs no signature."""
    principals: tuple[str, ...]
    """Who may sign; empty for everybody in the allowed signers file."""
    requester_may_sign: bool
    longest_expiry: int
    """Seconds."""


class Decision(NamedTuple):
    """What a plan needs, all policies together."""

    tier: str
    """Name of the strictest tier that applies."""
    consent: str
    reasons: list[str]
    """Why a tier with more freedom does not apply; empty for the first tier."""
    demands: list[Demand]
    longest_expiry: int
    """Seconds that an approval may live at most."""
    require_isolation: frozenset[str]

    def in_words(self) -> str:
        """What is needed, for people."""
        if self.consent == OPT_IN:
            return "low, its own --opt-in is enough"
        if self.consent == PERSON:
            return "a person must approve"
        signed = [demand for demand in self.demands if demand.signatures]
        most = max(demand.signatures for demand in signed)
        names = {name for demand in signed for name in demand.principals}
        who = f" of {text.listed(names)}" if names else ""
        return f"{most} signed approval{'s' if most > 1 else ''}{who}"


def of(plan: Plan) -> tuple[str, list[str]]:
    """The tier, and the reasons why it is not a freer one."""
    decision = decide(plan, launch_policy.load())
    return decision.tier, decision.reasons


def decide(plan: Plan, policies: list[Policy]) -> Decision:
    """What the policies ask of a plan; a plan that one of them never allows is refused."""
    demands, reasons, refusals = [], [], []
    for policy in policies:
        for index, logger in enumerate(plan.document["loggers"]):
            if logger["kind"] not in policy.document["loggers"]:
                refusals.append(
                    Finding(
                        "policy.logger",
                        f"the {policy.origin} policy does not allow this logger",
                        f"/loggers/{index}/kind",
                        text.shown(logger["kind"]),
                        text.listed(policy.document["loggers"]),
                    )
                )
        demand, found = _demand(plan, policy)
        reasons.extend(found)
        if demand is None:
            refusals.append(
                Finding(
                    "policy.no_tier",
                    f"no tier of the {policy.origin} policy allows this plan",
                    policy.path,
                    "; ".join(found[:4]),
                    "a plan within the caps of a tier",
                )
            )
        else:
            demands.append(demand)
    if refusals:
        raise Refusal(*refusals)
    strictest = max(demands, key=lambda demand: (launch_policy.rank(demand.consent), demand.signatures))
    return Decision(
        tier=strictest.tier,
        consent=strictest.consent,
        reasons=list(dict.fromkeys(reasons)),
        demands=demands,
        longest_expiry=min(demand.longest_expiry for demand in demands),
        require_isolation=frozenset(name for policy in policies for name in policy.document["require_isolation"]),
    )


def _demand(plan: Plan, policy: Policy) -> tuple[Demand | None, list[str]]:
    """What the first tier that fits asks for, and why those before it do not fit."""
    reasons: list[str] = []
    for tier in policy.tiers:
        over = _over(plan, tier["caps"])
        if not over:
            signed = tier["consent"] == SIGNATURE
            return Demand(
                policy=policy,
                tier=tier["name"],
                consent=tier["consent"],
                signatures=tier.get("signatures", 1) if signed else 0,
                principals=tuple(tier.get("principals", ())),
                requester_may_sign=tier.get("requester_may_sign", True),
                longest_expiry=clock.duration(tier["longest_expiry"]),
            ), reasons
        reasons.extend(over)
    return None, reasons


def _over(plan: Plan, caps: dict[str, Any]) -> list[str]:
    """What a plan asks for beyond the caps of a tier, in words."""
    reasons = []
    if "environments" in caps and not _environment_allowed(plan, caps["environments"]):
        where = plan.document["environment"].get("path") or plan.document["environment"].get("source") or plan.api
        reasons.append(f"the environment is not built in: {text.escaped(where)}")
    kind = plan.device.partition(":")[0]
    if "devices" in caps and kind not in caps["devices"]:
        reasons.append(f"the device is {text.escaped(plan.device)}, not {text.listed(caps['devices'])}")
    hosts = [host for host in plan.network if host not in caps.get("network", plan.network)]
    if hosts:
        reasons.append(f"it names the network: {text.listed(hosts)}")
    for cap, what in (("profiles", "profile"), ("start_kinds", "kind of start")):
        value = plan.profile if cap == "profiles" else plan.start["kind"]
        if cap in caps and value not in caps[cap]:
            reasons.append(f"the {what} is {text.escaped(value)}, not {text.listed(caps[cap])}")
    given = [name for name in credential_variables.of(plan, os.environ) if name not in caps.get("credentials", (name,))]
    if given:
        reasons.append(f"it is given credentials: {text.listed(given)}")
    for cap, name in _NUMBERS:
        section, _, field = name.partition(".")
        value = plan.document.get(section, {}).get(field, 1)
        if cap in caps and value > caps[cap]:
            reasons.append(f"{name} is {value}, more than {caps[cap]}")
    return reasons


def _environment_allowed(plan: Plan, allowed: list[str]) -> bool:
    environment = plan.document["environment"]
    outside = environment.get("path") or environment.get("source")
    if plan.api == "c" and outside is None:
        return "built_in" in allowed
    if "outside" in allowed:
        return True
    if outside is None:
        return False
    # Links resolved, and compared part by part: /envs does not allow /envs-x.
    parts = os.path.realpath(outside).split(os.sep)
    folders = (os.path.realpath(word).rstrip(os.sep).split(os.sep) for word in allowed if word.startswith("/"))
    return any(parts[: len(folder)] == folder for folder in folders)

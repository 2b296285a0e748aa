"""Rules between a plan's fields, its environment, its profile and this machine.

Every rule that fails is one finding with the nearest value that would pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import machine, text
from ..findings import Finding
from . import plan_numbers
from .environment_header import EnvironmentHeader
from .plan import Plan
from .plan_numbers import PlanNumbers
from .profile import Profile


def findings(plan: Plan, profile: Profile, header: EnvironmentHeader) -> list[Finding]:
    """Everything that is wrong with a plan whose form is right."""
    numbers = plan_numbers.derive(plan, profile, header)
    return [
        *_settings(plan, header),
        *_batch(plan, profile, header, numbers),
        *_budget(plan, numbers),
        *_machine(plan, profile, numbers),
    ]


def _settings(plan: Plan, header: EnvironmentHeader) -> Iterator[Finding]:
    for name, value in plan.settings.items():
        place = text.pointer(("environment", "settings", name))
        setting = header.settings.get(name)
        if setting is None:
            near = text.nearest(name, header.settings)
            yield Finding(
                "environment.setting",
                f"{plan.environment} has no setting {text.shown(name)}",
                place,
                text.shown(value),
                text.listed(header.settings) or "no setting at all",
                f"did you mean {near}?" if near else "remove it",
            )
        elif setting.type == "int" and not isinstance(value, int):
            yield Finding(
                "environment.setting_type",
                f"the setting {name} is an integer",
                place,
                text.shown(value),
                "an integer literal",
                f"write {round(value)}",
            )
        elif not setting.least <= value <= setting.most:
            bound = setting.least if value < setting.least else setting.most
            yield Finding(
                "environment.setting_range",
                f"the setting {name} is out of range",
                place,
                text.shown(value),
                f"{setting.least} to {setting.most}",
                f"the nearest valid value is {bound}",
            )


def _broken_relation(num_envs: int, horizon: int, minibatch: int, profile: Profile, agents_per_env: int) -> str:
    """The first relation between the sizes of a batch that does not hold, or an empty text."""
    batch = num_envs * agents_per_env * horizon
    if minibatch > batch:
        return "exceeds"
    if batch % minibatch:
        return "divides"
    if batch == minibatch:
        return ""
    envs_per_tile = max(1, profile.tile_lanes // agents_per_env)
    if num_envs % envs_per_tile:
        return "tile"
    if horizon % profile.slice_steps:
        return "slice"
    slices = num_envs // envs_per_tile * (horizon // profile.slice_steps)
    return "slices" if slices % (batch // minibatch) else ""


def _batch(plan: Plan, profile: Profile, header: EnvironmentHeader, numbers: PlanNumbers) -> Iterator[Finding]:
    num_envs, horizon, minibatch = (plan.train[name] for name in ("num_envs", "horizon", "minibatch_size"))

    def broken(envs: int, steps: int, size: int) -> str:
        return _broken_relation(envs, steps, size, profile, header.agents)

    relation = broken(num_envs, horizon, minibatch)
    if not relation:
        return
    batch = numbers.batch
    derived = f"{numbers.agents} agents x {horizon} steps = a batch of {batch}"
    options = []
    sizes = [size for size in _divisors(batch) if not broken(num_envs, horizon, size)]
    if sizes:
        options.append(f"minibatch_size {min(sizes, key=lambda size: abs(size - minibatch))}")
    near_envs = _nearest_valid(num_envs, 1 << 24, lambda envs: not broken(envs, horizon, minibatch))
    near_horizon = _nearest_valid(horizon, 65536, lambda steps: not broken(num_envs, steps, minibatch))
    options.extend(f"num_envs {value}" for value in near_envs)
    options.extend(f"horizon {value}" for value in near_horizon)
    # Whole tiles and whole slices near what was asked for, and the minibatch that goes with them.
    envs = max(1, round(num_envs / numbers.envs_per_tile)) * numbers.envs_per_tile
    steps = max(1, round(horizon / profile.slice_steps)) * profile.slice_steps
    sizes = [size for size in _divisors(envs * header.agents * steps) if not broken(envs, steps, size)]
    together = min(sizes, key=lambda size: abs(size - minibatch))
    options.append(f"together num_envs {envs}, horizon {steps}, minibatch_size {together}")
    name, message, got, want = {
        "exceeds": ("minibatch_size", "the minibatch is larger than the batch", str(minibatch), f"at most {batch}"),
        "divides": (
            "minibatch_size",
            f"the batch is not a whole number of minibatches ({batch % minibatch} steps would be left over)",
            f"{minibatch}; {derived}",
            f"a divisor of {batch}",
        ),
        "tile": (
            "num_envs",
            "with more than one minibatch the environments must fill whole tiles",
            str(num_envs),
            f"a multiple of {numbers.envs_per_tile} environments ({profile.tile_lanes} lanes a tile)",
        ),
        "slice": (
            "horizon",
            "with more than one minibatch the horizon must be whole slices",
            str(horizon),
            f"a multiple of {profile.slice_steps} steps",
        ),
        "slices": (
            "minibatch_size",
            "the minibatches cannot share the slices of a batch evenly",
            f"{numbers.minibatches} minibatches, {numbers.slices} slices",
            "slices = tiles x horizon / slice_steps, a multiple of the number of minibatches",
        ),
    }[relation]
    fix = "the nearest valid: " + ", or ".join(options)
    yield Finding(f"batch.{relation}", message, f"/train/{name}", got, want, fix)


def _divisors(number: int) -> list[int]:
    found: list[int] = []
    candidate = 1
    # Bounded: a batch above 2^40 is refused by the memory rule anyway.
    while candidate * candidate <= number and candidate <= 1 << 20:
        if number % candidate == 0:
            found.extend((candidate, number // candidate))
        candidate += 1
    return found


def _nearest_valid(value: int, most: int, valid: Callable[[int], bool], reach: int = 2048) -> list[int]:
    """The nearest value that is valid, below or above, in a list; an empty list where none is near."""
    for distance in range(1, reach):
        for candidate in (value - distance, value + distance):
            if 1 <= candidate <= most and valid(candidate):
                return [candidate]
    return []


def _budget(plan: Plan, numbers: PlanNumbers) -> Iterator[Finding]:
    total = plan.train["total_timesteps"]
    if total < numbers.batch:
        yield Finding(
            "budget.batch",
            "the budget is smaller than one batch",
            "/train/total_timesteps",
            str(total),
            f"at least {numbers.batch}",
            f"total_timesteps {numbers.batch}, or fewer num_envs or a shorter horizon",
        )
    seed = plan.document["evaluation"]["seed"]
    if seed == plan.train["seed"]:
        yield Finding(
            "evaluation.seed",
            "evaluation would play the episodes that were trained on",
            "/evaluation/seed",
            str(seed),
            "a seed other than train.seed",
            f"seed {seed + 1_000_000}",
        )


def _machine(plan: Plan, profile: Profile, numbers: PlanNumbers) -> Iterator[Finding]:
    if plan.device not in profile.devices:
        yield Finding(
            "device.profile",
            f"profile {profile.name} does not train on this device",
            "/device",
            text.shown(plan.device),
            text.listed(profile.devices),
            f'use "{profile.devices[0]}"',
        )
    limit = plan.limits.memory_mb << 20
    if numbers.rollout_bytes > limit:
        yield Finding(
            "memory.rollout",
            "one batch does not fit into the memory limit",
            "/limits/memory_mb",
            f"{numbers.rollout_bytes} bytes ({text.byte_count(numbers.rollout_bytes)}) for one batch, "
            f"{numbers.observation_bytes} of them observations",
            f"at most {limit} bytes ({plan.limits.memory_mb} MiB)",
            "lower num_envs or horizon (minibatch_size does not change this), or raise memory_mb",
        )
    memory = machine.usable_memory()
    if memory is not None and limit > memory:
        yield Finding(
            "memory.machine",
            "the memory limit is larger than what this process may use",
            "/limits/memory_mb",
            f"{plan.limits.memory_mb} MiB",
            f"at most {memory >> 20} MiB here",
            severity="warning",
        )
    workers = plan.document["num_workers"]
    cores = machine.usable_cores()
    if workers > cores:
        yield Finding(
            "workers.cores",
            "more workers than cores that this process may use",
            "/num_workers",
            str(workers),
            f"at most {cores} here, or 0 for all of them",
            f"num_workers {cores}",
        )
    elif workers > numbers.tiles:
        yield Finding(
            "workers.tiles",
            "some workers would have no tile to run",
            "/num_workers",
            str(workers),
            f"at most {numbers.tiles} tiles of {numbers.envs_per_tile} environments",
            f"num_workers {numbers.tiles}",
            severity="warning",
        )

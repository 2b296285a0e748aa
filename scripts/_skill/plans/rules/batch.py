"""Sizes of a batch: agents x horizon, minibatches, tiles and slices, or segments and passes.

Every broken relation names, for each size that could be changed alone, the nearest value that passes, and one
combination that passes together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...findings import Finding
from ..profile import Profile
from . import Case

_REACH = 2048
"""How far from a value the nearest valid one is looked for."""


def findings(case: Case) -> Iterator[Finding]:
    """The first relation that does not hold, as one finding."""
    if case.profile.supports.minibatch_unit == "segment":
        yield from _segments(case)
    else:
        yield from _slices(case)


def _broken_slices(num_envs: int, horizon: int, minibatch: int, profile: Profile, agents_per_env: int) -> str:
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


def _slices(case: Case) -> Iterator[Finding]:
    profile, numbers, agents = case.profile, case.numbers, case.environment.agents
    num_envs, horizon, minibatch = (case.plan.train[name] for name in ("num_envs", "horizon", "minibatch_size"))

    def broken(envs: int, steps: int, size: int) -> str:
        return _broken_slices(envs, steps, size, profile, agents)

    relation = broken(num_envs, horizon, minibatch)
    if not relation:
        return
    batch = numbers.batch
    derived = f"{numbers.agents} agents x {horizon} steps = a batch of {batch}"
    options = []
    sizes = [size for size in divisors(batch) if not broken(num_envs, horizon, size)]
    if sizes:
        options.append(f"minibatch_size {min(sizes, key=lambda size: abs(size - minibatch))}")
    near_envs = nearest_valid(num_envs, 1 << 20, lambda envs: not broken(envs, horizon, minibatch))
    near_horizon = nearest_valid(horizon, 65536, lambda steps: not broken(num_envs, steps, minibatch))
    options.extend(f"num_envs {value}" for value in near_envs)
    options.extend(f"horizon {value}" for value in near_horizon)
    # Whole tiles and whole slices near what was asked for, and the minibatch that goes with them.
    envs_per_tile = numbers.envs_per_tile or 1
    envs = max(1, round(num_envs / envs_per_tile)) * envs_per_tile
    steps = max(1, round(horizon / profile.slice_steps)) * profile.slice_steps
    sizes = [size for size in divisors(envs * agents * steps) if not broken(envs, steps, size)]
    together = min(sizes, key=lambda size: abs(size - minibatch))
    options.append(f"together num_envs {envs}, horizon {steps}, minibatch_size {together}")
    name, message, got, want = {
        "exceeds": (
            "minibatch_size",
            "the minibatch is larger than the batch",
            f"{minibatch}; {derived}",
            f"at most {batch}",
        ),
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
            f"a multiple of {envs_per_tile} environments ({profile.tile_lanes} lanes a tile)",
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


def _segments(case: Case) -> Iterator[Finding]:
    """A batch is whole rounds of all agents; a minibatch whole segments; a pass an equal part of a minibatch."""
    train, numbers = case.plan.train, case.numbers
    agents, horizon, minibatch = numbers.agents, train["horizon"], train["minibatch_size"]
    batch, most = numbers.batch, train.get("max_minibatch_size", minibatch)
    round_of_all = agents * horizon
    whole = True
    if batch % round_of_all:
        whole = False
        segments = batch // horizon
        near = _near_multiples(batch, round_of_all)
        horizons = nearest_valid(horizon, 65536, lambda steps: batch % (agents * steps) == 0)
        envs = nearest_valid(
            train["num_envs"], 1 << 20, lambda count: batch % (count * case.environment.agents * horizon) == 0
        )
        options = [f"batch_size {value}" for value in near]
        options += [f"horizon {value}" for value in horizons] + [f"num_envs {value}" for value in envs]
        yield Finding(
            "batch.multiple",
            "the batch is not a whole number of rounds of all agents"
            + (
                f" ({batch % horizon} steps would be dropped: {segments} x {horizon} = {segments * horizon})"
                if batch % horizon
                else ""
            ),
            "/train/batch_size",
            str(batch),
            f"a multiple of agents x horizon = {agents} x {horizon} = {round_of_all}",
            "the nearest valid: " + ", or ".join(options),
        )
    place = "/train/minibatch_size"
    # Where the batch itself has to change, the sizes that its nearest valid value allows are named.
    basis = batch if whole else _near_multiples(batch, round_of_all)[-1]
    sizes = [size for size in divisors(basis) if size % horizon == 0] or [horizon]
    fix = f"the nearest valid: minibatch_size {min(sizes, key=lambda size: (abs(size - minibatch), size))}"
    if not whole:
        fix += f" with batch_size {basis}"
    if minibatch > batch:
        yield Finding(
            "batch.exceeds", "the minibatch is larger than the batch", place, str(minibatch), f"at most {batch}", fix
        )
    elif batch % minibatch:
        yield Finding(
            "batch.divides",
            f"the batch is not a whole number of minibatches ({batch % minibatch} steps would be left over)",
            place,
            f"{minibatch}; {batch} / {minibatch} = {batch / minibatch:.3f}",
            f"a divisor of {batch}",
            fix,
        )
    if minibatch % horizon:
        yield Finding(
            "batch.segment",
            "a minibatch is not a whole number of segments",
            place,
            f"{minibatch} = {minibatch / horizon:.3f} segments of {horizon} steps",
            f"a multiple of the horizon {horizon}",
            fix,
        )
    if minibatch > most and (minibatch % most or most % horizon):
        valid = [size for size in divisors(minibatch) if size % horizon == 0 and size <= minibatch]
        near_most = min(valid or [minibatch], key=lambda size: abs(size - most))
        yield Finding(
            "batch.passes",
            "a minibatch above the most of one pass must be equal parts of whole segments",
            "/train/max_minibatch_size",
            f"{most}, minibatch_size {minibatch}",
            f"a divisor of {minibatch} that is a multiple of {horizon}, or at least {minibatch}",
            f"the nearest valid: max_minibatch_size {near_most}"
            + (f", or minibatch_size {most // horizon * horizon}" if most >= horizon else ""),
        )


def _near_multiples(value: int, unit: int) -> list[int]:
    """The multiples of `unit` below and above a value, without 0."""
    below = value // unit * unit
    return [multiple for multiple in (below, below + unit) if multiple]


def divisors(number: int) -> list[int]:
    """The divisors of a number, in no order."""
    found: list[int] = []
    candidate = 1
    # Bounded: a batch above 2^40 is refused by the memory rule anyway.
    while candidate * candidate <= number and candidate <= 1 << 20:
        if number % candidate == 0:
            found.extend((candidate, number // candidate))
        candidate += 1
    return found


def nearest_valid(value: int, most: int, valid: Callable[[int], bool]) -> list[int]:
    """The nearest value that is valid, below or above, in a list; an empty list where none is near."""
    for distance in range(1, _REACH):
        for candidate in (value - distance, value + distance):
            if 1 <= candidate <= most and valid(candidate):
                return [candidate]
    return []

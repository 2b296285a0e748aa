"""Ranks: as many as devices, equal shares of the batch, a backend that fits the device, a finite wait."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ... import text
from ...findings import Finding
from . import Case
from .batch import divisors

LONGEST_WAIT = 3600
"""Above this a hang costs more than it saves; a warning."""


def findings(case: Case) -> Iterator[Finding]:
    """What would make ranks wait for one another, or for devices that are not there."""
    section = case.plan.document.get("distributed")
    if section is None:
        return
    world, nodes, backend = section["world_size"], section["nodes"], section["backend"]
    most = case.profile.supports.max_world_size
    if world > most:
        yield Finding(
            "distributed.profile",
            f"profile {case.profile.name} runs at most {most} ranks",
            "/distributed/world_size",
            str(world),
            f"at most {most}",
            f"world_size {most}",
        )
    if world % nodes:
        yield Finding(
            "distributed.nodes",
            "every machine must run the same number of ranks",
            "/distributed/nodes",
            f"{world} ranks on {nodes} machines",
            f"a divisor of {world}",
            f"the nearest valid: nodes {_nearest(divisors(world), nodes)}, or world_size "
            f"{max(1, round(world / nodes)) * nodes}",
        )
    yield from _backend(case, world, backend)
    yield from _devices(case, world, nodes)
    yield from _shares(case, world)
    if section["timeout_seconds"] > LONGEST_WAIT:
        yield Finding(
            "distributed.timeout",
            "a rank that hangs would be noticed only after this time",
            "/distributed/timeout_seconds",
            str(section["timeout_seconds"]),
            f"at most {LONGEST_WAIT} in most cases",
            "timeout_seconds 300",
            severity="warning",
        )


def _backend(case: Case, world: int, backend: str) -> Iterator[Finding]:
    place = "/distributed/backend"
    if world > 1 and backend == "none":
        right = "nccl" if case.plan.device == "cuda" else "gloo"
        yield Finding(
            "distributed.backend",
            "several ranks need a backend to exchange gradients",
            place,
            f'"none" with {world} ranks',
            "gloo or nccl",
            f'"{right}", or world_size 1',
        )
    if backend == "nccl" and case.plan.device != "cuda":
        right = "gloo" if world > 1 else "none"
        yield Finding(
            "distributed.nccl",
            "nccl exchanges between cuda devices only",
            place,
            f'"nccl" with the device {text.shown(case.plan.device)}',
            'gloo, or the device "cuda"',
            f'use "{right}"',
        )


def _devices(case: Case, world: int, nodes: int) -> Iterator[Finding]:
    """One device for each rank of a machine."""
    device, here = case.plan.device, -(-world // nodes)
    if device == "cpu":
        return
    visible = len(case.machine.visible(device))
    if not visible and world == 1:
        # device.missing says it, and whether the plan allows another device instead.
        return
    if here > visible:
        options = [f"world_size {visible * nodes}"] if visible else []
        if visible:
            options.append(f"nodes {-(-world // visible)}")
        options.append("make more devices visible (CUDA_VISIBLE_DEVICES)")
        yield Finding(
            "distributed.devices",
            "there are more ranks than visible devices",
            "/distributed/world_size",
            f"{world} ranks on {nodes} machines, {here} on each",
            f"at most {visible} {device} devices on each machine",
            ", or ".join(options),
        )


def _shares(case: Case, world: int) -> Iterator[Finding]:
    """Ranks with different counts would wait for one another at the end of an epoch."""
    if world == 1:
        return
    train = case.plan.train
    units = {"batch_size": case.numbers.agents * train["horizon"], "minibatch_size": train["horizon"]}
    for name, what in (
        ("batch_size", "the batch"),
        ("num_envs", "the environments"),
        ("minibatch_size", "the minibatch"),
    ):
        value = train.get(name)
        if value is not None and value % world:
            # A value that fits the other sizes goes on doing so.
            fits = units.get(name, 1)
            step = math.lcm(world, 1 if value % fits else fits)
            below, above = value // step * step, (value // step + 1) * step
            options = [f"{name} {count}" for count in (below, above) if count]
            options.append(f"world_size {_nearest(divisors(value), world)}")
            yield Finding(
                "distributed.shares",
                f"{what} cannot be shared evenly among the ranks",
                f"/train/{name}",
                f"{value} / {world} ranks = {value / world:.3f}",
                f"a multiple of {world}",
                "the nearest valid: " + ", or ".join(options),
            )


def _nearest(values: list[int], wanted: int) -> int:
    return min(values, key=lambda value: (abs(value - wanted), value))

"""The numbers that follow from a plan: batch, segments, minibatches, gradient steps, bytes of storage and disk."""

from __future__ import annotations

import os
from typing import NamedTuple

from . import plan_environment
from .environment_header import EnvironmentHeader
from .plan import Plan
from .plan_environment import PlanEnvironment
from .profile import Profile

STEP_VALUES = 5
"""float32 values of each agent step beside observation and action: reward, terminal, value, log-prob, advantage."""
SHARED_MARGIN_BYTES = 4 << 20
"""What shared memory needs beside the buffers: flags, alignment and the pages of the allocator."""
METRICS_BYTES = 600
"""Bytes of one line of metrics.jsonl, rounded up."""
REPLAY_BYTES = 8 << 20
"""Bytes of the replay, the report and the other files of a run together, rounded up."""


class PlanNumbers(NamedTuple):
    """Derived numbers; counts are of agents, steps and bytes over all ranks."""

    agents: int
    batch: int
    segments: int
    """Stretches of `horizon` steps of one agent in a batch."""
    minibatches: int
    """Whole minibatches in a batch: gradient steps of one epoch."""
    minibatch_segments: int | None
    """Segments in a minibatch; None where a minibatch is made of parts of segments."""
    passes: int
    """Forward and backward passes of one minibatch."""
    iterations: int
    """Iterations until total_timesteps is reached."""
    gradient_steps: int
    """Gradient steps in the whole budget."""
    envs_per_tile: int | None
    tiles: int | None
    slices: int | None
    """Pieces of a batch (one tile for slice_steps steps) that minibatches are made of; None without tiles."""
    envs_per_worker: int | None
    """Environments of one worker; None where the engine shares them out by itself."""
    observation_bytes: int
    """Bytes of all observations of one batch."""
    observation_bytes_float32: int
    """The same, were every element a float32."""
    rollout_bytes: int
    """Bytes of one batch: observations, actions and five float32 values for each agent step."""
    shared_memory_bytes: int
    """Bytes of the buffers that worker processes share, with a margin; 0 without processes."""
    parameters: int
    """Parameters of the network."""
    checkpoint_bytes: int
    """Bytes of one checkpoint: weights, two moments, environments and counters, rounded up."""
    disk_bytes: int
    """Bytes that the run's folder needs: two checkpoints at times, metrics, replay, a warm start's file."""


def derive(plan: Plan, profile: Profile, environment: PlanEnvironment | EnvironmentHeader) -> PlanNumbers:
    """The numbers of a plan of the right form; floors where a rule is broken, which `plan_rules` reports."""
    if isinstance(environment, EnvironmentHeader):
        environment = plan_environment.of_header(environment)
    num_envs, horizon, minibatch = (plan.train[name] for name in ("num_envs", "horizon", "minibatch_size"))
    agents = num_envs * environment.agents
    batch = plan.train.get("batch_size", agents * horizon)
    minibatches = batch // minibatch
    iterations = -(-plan.train["total_timesteps"] // batch)
    most = plan.train.get("max_minibatch_size", minibatch)
    observation_bytes = batch * environment.observation_bytes
    envs_per_tile = tiles = slices = None
    if profile.tile_lanes:
        envs_per_tile = max(1, profile.tile_lanes // environment.agents)
        tiles = -(-num_envs // envs_per_tile)
        slices = tiles * (horizon // profile.slice_steps)
    workers = plan.vectorization["num_workers"]
    even = plan.vectorization["backend"] in profile.supports.even_workers
    parameters = network_parameters(plan, environment)
    # States of environments are not known from a header; 4 KiB for each is generous for those of the bundle.
    checkpoint_bytes = 12 * parameters + num_envs * 4096 + agents * 16 + (1 << 16)
    lines = min(iterations, plan.limits.wall_seconds * 10)
    return PlanNumbers(
        agents=agents,
        batch=batch,
        segments=batch // horizon,
        minibatches=minibatches,
        minibatch_segments=None if minibatch % horizon else minibatch // horizon,
        passes=max(1, minibatch // most),
        iterations=iterations,
        gradient_steps=iterations * minibatches * plan.train["update_epochs"],
        envs_per_tile=envs_per_tile,
        tiles=tiles,
        slices=slices,
        envs_per_worker=num_envs // workers if even and workers else None,
        observation_bytes=observation_bytes,
        observation_bytes_float32=batch * environment.observation_elements * 4,
        rollout_bytes=observation_bytes + batch * 4 * (environment.action_components + STEP_VALUES),
        shared_memory_bytes=_shared_memory(plan, environment, agents),
        parameters=parameters,
        checkpoint_bytes=checkpoint_bytes,
        disk_bytes=2 * checkpoint_bytes + lines * METRICS_BYTES + REPLAY_BYTES + _start_bytes(plan),
    )


def network_parameters(plan: Plan, environment: PlanEnvironment) -> int:
    """Weights and biases of the hidden layers, the policy head and the value head."""
    count = 0
    before = environment.observation_elements
    for width in plan.document["policy"]["hidden"]:
        count += (before + 1) * width
        before = width
    outputs = sum(sum(leaf.sizes) if leaf.sizes else 2 * leaf.components for leaf in environment.action)
    return count + (before + 1) * (outputs + 1)


def _start_bytes(plan: Plan) -> int:
    """The checkpoint of a warm start is copied into the run's folder; one that is not there is a finding elsewhere."""
    try:
        return os.stat(plan.start["checkpoint"]).st_size if plan.start["kind"] == "warm" else 0
    except OSError:
        return 0


def _shared_memory(plan: Plan, environment: PlanEnvironment, agents: int) -> int:
    """One step of every agent: observation, action, float32 reward, and a byte each of terminal, truncated, mask."""
    if plan.vectorization["backend"] != "processes":
        return 0
    return agents * (environment.observation_bytes + environment.action_bytes + 7) + SHARED_MARGIN_BYTES

"""The numbers that follow from a plan: batch, minibatches, tiles, slices, bytes of rollout storage."""

from __future__ import annotations

from typing import NamedTuple

from .environment_header import EnvironmentHeader
from .plan import Plan
from .profile import Profile


class PlanNumbers(NamedTuple):
    """Derived numbers; counts are of agents, steps and bytes."""

    agents: int
    batch: int
    minibatches: int
    """Whole minibatches in a batch."""
    iterations: int
    """Iterations until total_timesteps is reached."""
    gradient_steps: int
    """Gradient steps in the whole budget."""
    envs_per_tile: int
    tiles: int
    slices: int
    """Pieces of a batch (one tile for slice_steps steps) that minibatches are made of."""
    observation_bytes: int
    """Bytes of all observations of one batch."""
    rollout_bytes: int
    """Bytes of one batch: observations, actions and five float32 values for each agent step."""


def derive(plan: Plan, profile: Profile, header: EnvironmentHeader) -> PlanNumbers:
    """The numbers of a plan of the right form; floors where a rule is broken, which `plan_rules` reports."""
    num_envs, horizon = plan.train["num_envs"], plan.train["horizon"]
    agents = num_envs * header.agents
    batch = agents * horizon
    minibatches = batch // plan.train["minibatch_size"]
    iterations = -(-plan.train["total_timesteps"] // batch)
    envs_per_tile = max(1, profile.tile_lanes // header.agents)
    tiles = -(-num_envs // envs_per_tile)
    observation_bytes = batch * header.observation_bytes
    return PlanNumbers(
        agents=agents,
        batch=batch,
        minibatches=minibatches,
        iterations=iterations,
        gradient_steps=iterations * minibatches * plan.train["update_epochs"],
        envs_per_tile=envs_per_tile,
        tiles=tiles,
        slices=tiles * (horizon // profile.slice_steps),
        observation_bytes=observation_bytes,
        rollout_bytes=observation_bytes + batch * 4 * (len(header.action_sizes) + 5),
    )

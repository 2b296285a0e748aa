"""What a plan's environment is to the rules: agents and leaves, from a C header or from the plan itself."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from . import environment_folder
from .environment_header import EnvironmentHeader
from .plan import Plan

ITEM_BYTES = {
    "bool": 1, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "float16": 2, "uint32": 4, "int32": 4, "float32": 4,
    "uint64": 8, "int64": 8, "float64": 8,
}  # fmt: skip
"""Bytes of one element of each type."""


class ObservationLeaf(NamedTuple):
    """One leaf of an observation."""

    path: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Elements of one agent's leaf."""
        return math.prod(self.shape)

    @property
    def byte_count(self) -> int:
        """Bytes of one agent's leaf."""
        return self.elements * ITEM_BYTES[self.dtype]


class ActionLeaf(NamedTuple):
    """One leaf of an action."""

    path: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    """Choices of each component, in row order; empty for a box."""
    start: tuple[int, ...]
    """Lowest value of each component."""

    @property
    def components(self) -> int:
        """Numbers that one action of this leaf consists of."""
        return math.prod(self.shape)


class PlanEnvironment(NamedTuple):
    """One environment as rules see it."""

    name: str
    api: str
    agents: int
    """Agents per environment."""
    observation: tuple[ObservationLeaf, ...]
    action: tuple[ActionLeaf, ...]
    header: EnvironmentHeader | None
    """The C header; None for other environments."""

    @property
    def observation_bytes(self) -> int:
        """Bytes of one agent's observation."""
        return sum(leaf.byte_count for leaf in self.observation)

    @property
    def observation_elements(self) -> int:
        """Elements of one agent's observation."""
        return sum(leaf.elements for leaf in self.observation)

    @property
    def action_components(self) -> int:
        """Numbers of one agent's action."""
        return sum(leaf.components for leaf in self.action)

    @property
    def action_bytes(self) -> int:
        """Bytes of one agent's action as the environment gets it."""
        return sum(leaf.components * ITEM_BYTES[leaf.dtype] for leaf in self.action)


def load(plan: Plan) -> PlanEnvironment:
    """The environment of a plan; a C environment's header is read, others are described by the plan."""
    if plan.api == "c":
        return of_header(environment_folder.load(plan.environment, plan.environment_path).header)
    return of_document(plan.document["environment"])


def of_header(header: EnvironmentHeader) -> PlanEnvironment:
    """A C environment by its header: one observation leaf, one action leaf of int32 choices."""
    sizes = header.action_sizes
    discrete = header.action_kind == "DISCRETE"
    action = ActionLeaf(
        "",
        "discrete" if discrete else "multi_discrete",
        "int32",
        () if discrete else (len(sizes),),
        sizes,
        (0,) * len(sizes),
    )
    observation = ObservationLeaf("", header.observation_type, header.observation_shape)
    return PlanEnvironment(header.name, "c", header.agents, (observation,), (action,), header)


def of_document(document: dict[str, Any]) -> PlanEnvironment:
    """An environment that the plan describes; the form has been checked."""
    observation = tuple(
        ObservationLeaf(leaf["path"], leaf["dtype"], tuple(leaf["shape"])) for leaf in document["observation"]
    )
    action = []
    for leaf in document["action"]:
        shape, sizes = tuple(leaf["shape"]), tuple(leaf.get("sizes", ()))
        start = tuple(leaf.get("start", ())) or (0,) * len(sizes)
        action.append(ActionLeaf(leaf["path"], leaf["kind"], leaf["dtype"], shape, sizes, start))
    return PlanEnvironment(document["name"], document["api"], document["agents"], observation, tuple(action), None)

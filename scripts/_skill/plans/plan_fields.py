"""The fields of a plan by name: meaning, type and bounds from the schema, and what each interacts with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import text
from ..json_schema import Schema

INTERACTIONS: dict[str, str] = {
    "compile": "device and fallbacks; needs a C++ compiler, on cuda also triton",
    "device": "the profile's devices; distributed.world_size; on cuda one batch must fit into the device's memory",
    "distributed.backend": "nccl needs device cuda; several ranks need a backend",
    "distributed.nodes": "distributed.world_size is a multiple of it",
    "distributed.world_size": "divides train.num_envs, train.batch_size and train.minibatch_size; one device a rank",
    "environment.action_offset": "environment.action: needed where a space starts at another number than 0",
    "environment.autoreset": "the mode that the environment was checked in; disabled needs the serial backend",
    "evaluation.episodes": "evaluation.seed: one seed an episode",
    "evaluation.seed": "train.seed: at least num_envs and episodes away from it",
    "fallbacks": "device and compile: a fallback that is not listed is not taken",
    "limits.disk_mb": "policy.hidden and train.num_envs, which set the size of a checkpoint (two at times)",
    "limits.memory_mb": "train.num_envs and train.horizon, which set the size of one batch",
    "limits.wall_seconds": "train.total_timesteps is the budget; this ends a run from outside",
    "loggers": "network for hosted ones; wandb online needs its credential in the environment",
    "network": "loggers that are online",
    "policy.hidden": "the size of checkpoints; a warm start needs the widths of its checkpoint",
    "start.checkpoint": "start.sha256 and policy.hidden",
    "start.kind": "the profile's kinds of start; an interrupted run goes on with launch.py resume",
    "train.batch_size": "a multiple of num_envs x agents x horizon; minibatch_size divides it",
    "train.horizon": "batch = num_envs x agents x horizon; tiles and slices, or whole segments in a minibatch",
    "train.max_minibatch_size": "divides minibatch_size where that is larger",
    "train.minibatch_size": "divides the batch; does not change the memory of a batch",
    "train.num_envs": "batch = num_envs x agents x horizon; memory; whole tiles; vectorization.num_workers",
    "train.seed": "evaluation.seed",
    "train.target_return": "ends training before total_timesteps",
    "train.total_timesteps": "at least one batch; annealing runs over it",
    "vectorization.backend": "processes need shared memory and start_method",
    "vectorization.envs_per_batch": "a multiple of num_envs / num_workers; with zero_copy it divides num_envs",
    "vectorization.num_workers": "divides train.num_envs (by backend); at most the usable cores",
    "vectorization.oversubscribe": "vectorization.num_workers above the usable cores",
    "vectorization.start_method": "backend processes; loggers with threads, cuda and compile forbid fork",
    "vectorization.zero_copy": "vectorization.envs_per_batch divides train.num_envs",
}


class Field(NamedTuple):
    """One field of a plan."""

    name: str
    """Dotted, for example `train.seed`; items of lists are left out."""
    meaning: str
    kind: str
    bounds: str
    interacts: str


def every() -> dict[str, Field]:
    """Every field by its dotted name, in the schema's order."""
    return {field.name: field for field in _walk(Schema.shipped("plan").document, "")}


def _walk(schema: dict[str, Any], prefix: str) -> Iterator[Field]:
    for name, child in schema["properties"].items():
        dotted = f"{prefix}{name}"
        if child.get("properties"):
            yield Field(dotted, child["description"], "object", "", INTERACTIONS.get(dotted, ""))
            yield from _walk(child, f"{dotted}.")
        else:
            yield Field(dotted, child["description"], _kind(child), _bounds(child), INTERACTIONS.get(dotted, ""))


def _kind(schema: dict[str, Any]) -> str:
    kinds = schema.get("type", "text" if "const" in schema else "")
    names: list[str] = kinds if isinstance(kinds, list) else [kinds]
    plain = [{"string": "text", "array": "list", "boolean": "true or false"}.get(name, name) for name in names]
    return " or ".join(plain)


def _bounds(schema: dict[str, Any]) -> str:
    if "const" in schema:
        return text.shown(schema["const"])
    if "enum" in schema:
        return ", ".join(text.shown(value) for value in schema["enum"])
    if schema.get("type") == "array":
        inner = _bounds(schema["items"]) or _kind(schema["items"])
        return f"{schema.get('minItems', 0)} to {schema.get('maxItems', 'any')} items of {inner}"
    if "minimum" in schema:
        return f"{schema['minimum']} to {schema['maximum']}"
    return f"matches {schema['pattern']}" if "pattern" in schema else ""

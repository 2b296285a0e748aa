"""Plans and machines for the cases: whole documents that pass, and a way to change one field of them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

PLAN_4: dict[str, Any] = {
    "schema": "plan/2",
    "run": "first",
    "profile": "4.0",
    "start": {"kind": "fresh"},
    "environment": {"name": "cartpole", "api": "c", "settings": {}},
    "policy": {"network": "mlp", "hidden": [64], "activation": "tanh"},
    "train": {
        "seed": 1, "total_timesteps": 20000000, "target_return": 475.0, "num_envs": 128, "horizon": 64,
        "minibatch_size": 2048, "update_epochs": 4, "learning_rate": 0.002, "anneal_lr": "linear", "min_lr_ratio": 0.0,
        "gamma": 0.99, "gae_lambda": 0.95, "clip_coef": 0.2, "vf_coef": 0.5, "vf_clip_coef": 10.0, "ent_coef": 0.002,
        "max_grad_norm": 0.5, "adam_beta1": 0.9, "adam_beta2": 0.999, "adam_eps": 1e-08, "checkpoint_interval": 50,
    },
    "evaluation": {"episodes": 128, "seed": 1000001},
    "vectorization": {"backend": "threads", "num_workers": 0},
    "device": "cpu",
    "loggers": [{"kind": "jsonl"}],
    "network": [],
    "limits": {"wall_seconds": 300, "memory_mb": 2048, "disk_mb": 256},
}  # fmt: skip
"""Profile 4.0: 128 agents x 64 steps = 8192, 4 minibatches."""

PLAN_3: dict[str, Any] = {
    **copy.deepcopy(PLAN_4),
    "profile": "3.0",
    "environment": {
        "name": "Counter-v0", "api": "gymnasium", "source": None, "agents": 1,
        "observation": [{"path": "", "dtype": "float32", "shape": [4]}],
        "action": [{"path": "", "kind": "discrete", "dtype": "int64", "shape": [], "sizes": [2], "start": [0]}],
        "autoreset": "next_step", "settings": {},
    },
    "train": {
        **PLAN_4["train"], "batch_size": 8192, "max_minibatch_size": 32768, "optimizer": "adam", "precision": "float32",
        "cpu_offload": False, "vtrace_rho_clip": 1.0, "vtrace_c_clip": 1.0, "prio_alpha": 0.8, "prio_beta0": 0.2,
    },
    "vectorization": {
        "backend": "processes", "num_workers": 4, "envs_per_batch": 128, "zero_copy": True, "start_method": "spawn",
        "oversubscribe": False,
    },
    "distributed": {"world_size": 1, "nodes": 1, "backend": "none", "timeout_seconds": 300},
    "compile": False,
    "fallbacks": [],
}  # fmt: skip
"""Profile 3.0: a Gymnasium environment in 4 processes."""

MACHINE: dict[str, Any] = {
    "schema": "machine/1",
    "system": "Linux",
    "architecture": "x86_64",
    "python": "3.11.7",
    "cores": 16,
    "memory_bytes": 64 << 30,
    "shared_memory_free_bytes": 8 << 30,
    "disk_free_bytes": 100 << 30,
    "devices": [{"kind": "cuda", "name": "some card", "memory_bytes": 24 << 30}],
    "compiler": "g++ 12.2.0",
    "packages": {"numpy": "2.4.6", "torch": "2.9.0", "triton": "3.5.0", "wandb": "0.22", "trackio": "0.9"},
    "variables": [],
}
"""A machine on which both plans pass."""


def changed(document: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy with fields set by dotted name; `...` as a value removes the field."""
    result = copy.deepcopy(document)
    for name, value in changes.items():
        target: Any = result
        *parts, last = name.split(".")
        for part in parts:
            target = target[int(part)] if isinstance(target, list) else target[part]
        if value is ...:
            del target[last]
        elif isinstance(target, list):
            target[int(last)] = value
        else:
            target[last] = value
    return result


def write(folder: Path, document: dict[str, Any], name: str = "plan.json") -> Path:
    """The document in a file."""
    path = folder / name
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def machine(folder: Path, **changes: Any) -> Path:
    """A machine/1 file like MACHINE but for `changes`."""
    return write(folder, {**copy.deepcopy(MACHINE), **changes}, "machine.json")

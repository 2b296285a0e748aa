"""Plans for tests, and what a run folder must hold at any moment."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from pufferlib.plan import make_plan

# A short run with many checkpoints: two minibatches an iteration, several tiles, and no goal that ends it early.
SHORT: dict[str, Any] = {
    "total_timesteps": 128 * 16 * 40,
    "target_return": None,
    "num_envs": 128,
    "horizon": 16,
    "minibatch_size": 1024,
    "update_epochs": 2,
    "checkpoint_interval": 1,
}


def short_plan(
    name: str = "cartpole",
    path: Path | None = None,
    *,
    hidden: tuple[int, ...] = (16,),
    activation: str = "tanh",
    settings: dict[str, Any] | None = None,
    workers: int = 1,
    **train: Any,
) -> dict[str, Any]:
    """A checked plan for a short run of an environment; ``train`` overrides SHORT."""
    policy = {"hidden": list(hidden), "activation": activation}
    env_path = None if path is None else str(path)
    plan = make_plan(name, env_path, f"{name}-test", {**SHORT, **train}, policy, settings or {}, workers)
    plan["evaluation"] = {"episodes": 4, "seed": 7}
    return copy.deepcopy(plan)


def write_plan(folder: Path, plan: dict[str, Any]) -> Path:
    """``<folder>/plan.json``, as a gate leaves it in a run folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "plan.json"
    path.write_text(json.dumps(plan, indent=2) + "\n", encoding="utf-8")
    return path


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest, parsed; empty when there is none yet. A torn one fails the test here."""
    path = folder / "manifest.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def assert_verifies(folder: Path) -> dict[str, Any]:
    """The manifest names a checkpoint whose size and digest are as it says, made from this folder's plan."""
    manifest = read_manifest(folder)
    assert manifest, f"{folder} has no manifest"
    named = manifest["checkpoint"]
    content = (folder / named["file"]).read_bytes()
    assert len(content) == named["bytes"]
    assert hashlib.sha256(content).hexdigest() == named["sha256"]
    assert manifest["plan_sha256"] == hashlib.sha256((folder / "plan.json").read_bytes()).hexdigest()
    assert named["file"] == f"checkpoint-{manifest['step']:016d}.safetensors"
    return manifest


def assert_log_is_whole(folder: Path) -> list[dict[str, Any]]:
    """metrics.jsonl: every line whole, steps strictly increasing. Returns the lines."""
    content = (folder / "metrics.jsonl").read_bytes()
    assert content.endswith(b"\n")
    lines = [json.loads(line) for line in content.splitlines()]
    steps = [line["step"] for line in lines]
    assert steps == sorted(set(steps)), "steps of metrics.jsonl do not strictly increase"
    return lines


def checkpoints(folder: Path) -> list[str]:
    """Names of the checkpoints in a run folder."""
    return sorted(p.name for p in folder.iterdir() if re.fullmatch(r"checkpoint-\d{16}\.safetensors", p.name))


def parts(folder: Path) -> list[str]:
    """Names of files that are still being written, or were left so."""
    return sorted(p.name for p in folder.iterdir() if p.name.endswith(".part"))

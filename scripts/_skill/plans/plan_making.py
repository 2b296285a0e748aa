"""Makes a plan from a few choices: profile defaults, then the environment's shipped settings, then the choices."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from .. import strict_json, text
from ..findings import COULD_NOT, Finding, Refusal
from . import environment_folder
from . import profile as profiles
from .environment_folder import EnvironmentFolder

DEFAULT_PROFILE = "4.0"
EVALUATION_EPISODES = 128
EVALUATION_SEED_OFFSET = 1_000_000
DEFAULT_LIMITS = {"wall_seconds": 300, "memory_mb": 2048, "disk_mb": 256}

_CHOSEN_ELSEWHERE = ("schema", "run", "profile", "environment.name", "environment.path")


def make(
    environment: str, path: str | None, choices: Sequence[str], run: str | None = None, profile: str = DEFAULT_PROFILE
) -> dict[str, Any]:
    """A plan's document; `choices` are texts `train.learning_rate=1e-3`. Unknown names are refused (exit 2)."""
    try:
        engine = profiles.load(profile)
        folder = environment_folder.load(environment, os.path.realpath(path) if path is not None else None)
    except Refusal as refusal:
        # Here the names come from the command line, so a wrong one is wrong use.
        raise Refusal(*refusal.findings, exit_status=COULD_NOT) from None
    document: dict[str, Any] = {
        "schema": "plan/1",
        "run": run or run_name(environment),
        "profile": engine.name,
        "environment": {"name": environment, "settings": {}},
        "policy": dict(engine.policy_defaults),
        "train": dict(engine.train_defaults),
        "evaluation": {"episodes": EVALUATION_EPISODES, "seed": 0},
        "device": "cpu",
        "num_workers": 0,
        "network": [],
        "limits": dict(DEFAULT_LIMITS),
    }
    if path is not None:
        document["environment"] = {"name": environment, "path": folder.path, "settings": {}}
    _overlay_shipped(document, folder)
    chosen = {_assign(document, choice, folder) for choice in choices}
    if "evaluation.seed" not in chosen and isinstance(document["train"]["seed"], int):
        document["evaluation"]["seed"] = document["train"]["seed"] + EVALUATION_SEED_OFFSET
    return document


def run_name(environment: str) -> str:
    """A new name: `cartpole-20261130-130512-1a2b`, in UTC."""
    return f"{environment[:48]}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(2).hex()}"


def _overlay_shipped(document: dict[str, Any], folder: EnvironmentFolder) -> None:
    goal = folder.training.get("goal", {})
    if "return" in goal:
        document["train"]["target_return"] = goal["return"]
    if isinstance(goal.get("wall_seconds"), int):
        # The goal says how long it should take; the limit stops what went wrong, so it leaves room.
        document["limits"]["wall_seconds"] = max(DEFAULT_LIMITS["wall_seconds"], 5 * goal["wall_seconds"])
    for part in ("policy", "train"):
        for name, value in folder.training.get(part, {}).items():
            if name not in document[part]:
                near = text.nearest(name, document[part])
                raise Refusal(
                    Finding(
                        "environment.training",
                        f"train.json of {folder.name}: unknown key {text.shown(name)}",
                        text.pointer((part, name)),
                        fix=f"did you mean {near}?" if near else "",
                    )
                )
            document[part][name] = value


def _assign(document: dict[str, Any], choice: str, folder: EnvironmentFolder) -> str:
    name, equals, literal = choice.partition("=")
    known = _names(document, folder)
    if not equals or name not in known:
        near = text.nearest(name, known)
        message = f"there is nothing to set called {text.shown(name)}"
        if name in _CHOSEN_ELSEWHERE:
            message, near = f"{name} is not chosen with --set", None
        elif not equals:
            message = f"--set {text.escaped(choice, 60)} has no value"
        raise Refusal(
            Finding(
                "use.set",
                message,
                want="NAME=VALUE with a NAME such as train.learning_rate",
                fix=f"did you mean --set {near}={text.escaped(literal, 40) or 'VALUE'}?" if near else "",
            ),
            exit_status=COULD_NOT,
        )
    parts = name.split(".")
    target = document
    for part in parts[:-1]:
        target = target[part]
    target[parts[-1]] = _value(name, literal)
    return name


def _names(document: dict[str, Any], folder: EnvironmentFolder) -> set[str]:
    """Every name that --set takes."""
    names = {f"environment.settings.{setting}" for setting in folder.header.settings}
    for key, value in document.items():
        if key != "environment" and key not in _CHOSEN_ELSEWHERE:
            names.update(f"{key}.{inner}" for inner in value) if isinstance(value, dict) else names.add(key)
    return names


def _value(name: str, literal: str) -> Any:
    """The value that a choice names: JSON, or a bare word for a text such as `cosine`."""
    if literal.replace("_", "").isalpha() and literal not in ("true", "false", "null", "NaN", "Infinity"):
        return literal
    return strict_json.loads(literal.encode("utf-8", "surrogateescape"), f"--set {name}", max_bytes=4096)

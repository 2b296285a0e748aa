"""The plan of a run as the engine takes it: read from a file, or put together from defaults and a command line.

The gate has checked a plan long before; the engine checks again whatever it depends on, since it also runs without
a gate.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .environments import find_header, shipped_settings
from .errors import MISUSE, PufferError, unknown
from .files import read_json
from .train_settings import TRAIN_SETTINGS, check_policy, check_setting

SCHEMA = "plan/1"
_KEYS = (
    "schema",
    "run",
    "profile",
    "environment",
    "policy",
    "train",
    "evaluation",
    "device",
    "num_workers",
    "network",
    "limits",
)
_POLICY = {"network": "mlp", "hidden": [64], "activation": "tanh"}


def read_plan(path: Path) -> dict[str, Any]:
    """A plan from its file, checked."""
    try:
        plan = read_json(path)
    except FileNotFoundError:
        raise PufferError(f"there is no plan at {path}", MISUSE) from None
    return check_plan(plan, str(path))


def make_plan(
    name: str,
    env_path: str | None,
    run: str,
    train: dict[str, Any],
    policy: dict[str, Any],
    settings: dict[str, Any],
    workers: int,
) -> dict[str, Any]:
    """A plan for an environment: defaults, then what its folder recommends, then what was chosen."""
    shipped = shipped_settings(find_header(name, env_path))
    defaults = {s.name: s.default for s in TRAIN_SETTINGS.values()}
    goal = {"target_return": shipped["goal"]["return"]} if "return" in shipped.get("goal", {}) else {}
    merged = {**defaults, **shipped.get("train", {}), **goal, **train}
    plan: dict[str, Any] = {
        "schema": SCHEMA,
        "run": run,
        "profile": "4.0",
        "environment": {"name": name, "settings": settings},
        "policy": {**_POLICY, **shipped.get("policy", {}), **policy},
        "train": merged,
        "evaluation": {"episodes": 128, "seed": merged["seed"] + 1_000_000},
        "device": "cpu",
        "num_workers": workers,
        "network": [],
        "limits": {"wall_seconds": 86400, "memory_mb": 8192, "disk_mb": 4096},
    }
    if env_path is not None:
        plan["environment"]["path"] = str(Path(env_path).resolve())
    return check_plan(plan, "the command line")


def check_plan(plan: dict[str, Any], where: str) -> dict[str, Any]:
    """The plan with every setting in its type. Raises PufferError for what is missing, unknown or out of bounds."""
    for key in plan:
        if key not in _KEYS:
            raise unknown(f"key in {where}", key, _KEYS)
    for key in _KEYS:
        if key not in plan:
            raise PufferError(f"{where} has no {key!r}", MISUSE)
    if plan["schema"] != SCHEMA:
        raise PufferError(f"{where} has schema {plan['schema']!r}, expected {SCHEMA!r}", MISUSE)
    if plan["profile"] != "4.0":
        raise PufferError(f"{where} asks for profile {plan['profile']!r}; this engine is profile '4.0'", MISUSE)
    if plan["device"] != "cpu":
        raise PufferError(f"{where} asks for device {plan['device']!r}; this engine trains on 'cpu'", MISUSE)
    environment = plan["environment"]
    if (
        not isinstance(environment, dict)
        or not isinstance(environment.get("name"), str)
        or not isinstance(environment.get("settings"), dict)
    ):
        raise PufferError(f"{where}: environment needs a name and settings", MISUSE)
    train = plan["train"]
    if not isinstance(train, dict):
        raise PufferError(f"{where}: train is {train!r}, expected an object", MISUSE)
    for name in train:
        if name not in TRAIN_SETTINGS:
            raise unknown("training setting", name, TRAIN_SETTINGS)
    for setting in TRAIN_SETTINGS.values():
        if setting.name not in train:
            raise PufferError(f"{where} has no train.{setting.name}", MISUSE)
    evaluation = plan["evaluation"]
    if not isinstance(evaluation, dict) or not all(
        _whole(evaluation.get(k), low) for k, low in (("episodes", 1), ("seed", 0))
    ):
        raise PufferError(f"{where}: evaluation is {evaluation!r}, expected whole numbers episodes and seed", MISUSE)
    if not _whole(plan["num_workers"], 0) or plan["num_workers"] > 1024:
        raise PufferError(
            f"{where}: num_workers is {plan['num_workers']!r}, expected 0 (all usable cores) to 1024", MISUSE
        )
    checked = {s.name: check_setting(s, train[s.name], f"train.{s.name}") for s in TRAIN_SETTINGS.values()}
    return {**plan, "train": checked, "policy": check_policy(plan["policy"])}


def _whole(value: object, low: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= low

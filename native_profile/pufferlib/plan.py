"""The plan of a run as the engine takes it: read from a file, or put together from defaults and a command line.

The gate has checked a plan long before; the engine checks again whatever it depends on, since it also runs without
a gate.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from .environments import find_header, shipped_settings
from .errors import MISUSE, PufferError, unknown
from .files import read_json
from .train_settings import TRAIN_SETTINGS, check_policy, check_setting

SCHEMA = "plan/2"
_KEYS = (
    "schema",
    "run",
    "profile",
    "start",
    "environment",
    "policy",
    "train",
    "evaluation",
    "vectorization",
    "device",
    "loggers",
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
    start_from: Path | None = None,
) -> dict[str, Any]:
    """A plan for an environment: defaults, then what its folder recommends, then what was chosen.

    ``start_from``: a checkpoint whose weights the run starts from.
    """
    shipped = shipped_settings(find_header(name, env_path))
    defaults = {s.name: s.default for s in TRAIN_SETTINGS.values()}
    goal = {"target_return": shipped["goal"]["return"]} if "return" in shipped.get("goal", {}) else {}
    merged = {**defaults, **shipped.get("train", {}), **goal, **train}
    plan: dict[str, Any] = {
        "schema": SCHEMA,
        "run": run,
        "profile": "4.0",
        "start": {"kind": "fresh"} if start_from is None else _warm(start_from),
        "environment": {"name": name, "api": "c", "settings": settings},
        "policy": {**_POLICY, **shipped.get("policy", {}), **policy},
        "train": merged,
        "evaluation": {"episodes": 128, "seed": merged["seed"] + 1_000_000},
        "vectorization": {"backend": "threads", "num_workers": workers},
        "device": "cpu",
        "loggers": [{"kind": "jsonl"}],
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
    if environment.get("api") != "c":
        raise PufferError(
            f"{where}: environment.api is {environment.get('api')!r}; this engine runs C environments, 'c'", MISUSE
        )
    _check_start(plan["start"], where)
    vectorization = plan["vectorization"]
    if not isinstance(vectorization, dict) or vectorization.get("backend") != "threads":
        raise PufferError(f"{where}: vectorization is {vectorization!r}; this engine's backend is 'threads'", MISUSE)
    if plan["loggers"] != [{"kind": "jsonl"}]:
        raise PufferError(f"{where}: loggers are {plan['loggers']!r}; this engine writes jsonl", MISUSE)
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
    workers: Any = vectorization.get("num_workers")
    if not _whole(workers, 0) or workers > 1024:
        raise PufferError(
            f"{where}: vectorization.num_workers is {workers!r}, expected 0 (all usable cores) to 1024", MISUSE
        )
    checked = {s.name: check_setting(s, train[s.name], f"train.{s.name}") for s in TRAIN_SETTINGS.values()}
    return {**plan, "train": checked, "policy": check_policy(plan["policy"])}


def _warm(path: Path) -> dict[str, str]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PufferError(f"{path} cannot be read: {error.strerror}", MISUSE) from error
    return {"kind": "warm", "checkpoint": str(path.resolve()), "sha256": hashlib.sha256(content).hexdigest()}


def _check_start(start: object, where: str) -> None:
    """``fresh``, or ``warm`` from a checkpoint of a known digest; resuming is a flag and no kind of plan."""
    if not isinstance(start, dict) or start.get("kind") not in ("fresh", "warm"):
        raise PufferError(
            f"{where}: start is {start!r}, expected kind 'fresh' or 'warm'; an interrupted run goes on with --resume",
            MISUSE,
        )
    if start["kind"] == "warm" and not all(isinstance(start.get(key), str) for key in ("checkpoint", "sha256")):
        raise PufferError(f"{where}: a warm start needs checkpoint and sha256", MISUSE)


def _whole(value: object, low: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= low

"""How our own programs are started for a benchmark, and how much arithmetic their training needs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from _bench.contenders import CARTPOLE_TARGET, ROOT, Contender, dense_flop, read_ours, training_flop
from _bench.process import measure

ENGINE = ROOT / "native_profile"
# Long enough that starting the threads and touching memory first do not count.
SUSTAINED_STEPS = 20_000_000
# Settings for speed rather than for few steps: large minibatches, half the epochs. A longer run, as a step is shorter.
FAST_STEPS = 60_000_000
FAST = {"num_envs": 2048, "minibatch_size": 16384, "update_epochs": 2}


def shipped_settings(environment: str) -> dict[str, Any]:
    """The training settings that an environment ships, over the profile's defaults; empty when there are none."""
    settings: dict[str, Any] = {}
    for path in (
        ENGINE / "pins" / "4.0.json",
        ENGINE / "pufferlib" / "ocean" / environment / "train.json",
    ):
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        found = value.get("train_defaults", value) if path.parent.name == "pins" else value
        for section, values in found.items():
            if isinstance(values, dict):
                settings.setdefault(section, {}).update(values)
    return settings


def space_sizes(environment: str) -> tuple[int, int] | None:
    """Features observed and logits needed, read from the environment's header; None when it has another form."""
    header = ENGINE / "pufferlib" / "ocean" / environment / f"{environment}.h"
    try:
        text = header.read_text(encoding="utf-8")
    except OSError:
        return None
    numbers = r"\(([\d,\s]+)\)"
    seen = re.search(r"^#define ENV_OBSERVATION \w+" + numbers, text, re.MULTILINE)
    done = re.search(r"^#define ENV_ACTION \w+" + numbers, text, re.MULTILINE)
    if seen is None or done is None:
        return None
    features = 1
    for size in seen.group(1).split(","):
        features *= int(size)
    return features, sum(int(size) for size in done.group(1).split(","))


def flop_per_step(environment: str, epochs: int | None = None) -> float | None:
    """Operations for one environment step with the shipped MLP, whose hidden layers actions and value share."""
    settings, sizes = shipped_settings(environment), space_sizes(environment)
    hidden = settings.get("policy", {}).get("hidden")
    epochs = epochs or settings.get("train", {}).get("update_epochs")
    if sizes is None or not isinstance(hidden, list) or not isinstance(epochs, int):
        return None
    features, logits = sizes
    first = dense_flop((features, hidden[0]))
    return training_flop(dense_flop((features, *hidden, logits + 1)), epochs, first)


def engine(
    key: str, label: str, environment: str, target: float | None, *arguments: str, epochs: int | None = None
) -> Contender:
    """The engine's own command line, without the gate; ``epochs`` where the arguments change them."""
    there = (ENGINE / "pufferlib" / "__main__.py").exists()

    def command(seed: int, folder: Path) -> list[str]:
        run = folder / "run"
        return [sys.executable, "-m", "pufferlib", "train", environment, "--run-dir", str(run),
                "--train.seed", str(seed), *arguments]  # fmt: skip

    return Contender(
        key,
        label,
        True,
        environment,
        command,
        read_ours(target, lambda folder: folder / "run"),
        variables={"PYTHONPATH": str(ENGINE)},
        missing=None if there else "not in this checkout: native_profile/pufferlib",
        flop_per_step=flop_per_step(environment, epochs),
        target=target,
    )


def newest_run(folder: Path) -> Path:
    """The only run of a launch whose working folder this was."""
    runs = sorted((folder / "runs").glob("*/metrics.jsonl"))
    return runs[-1].parent if runs else folder / "runs"


def quickstart(key: str, label: str, environment: str, target: float | None) -> Contender:
    """The one command of the README: plan, check, approve, launch, evaluate, report."""
    launch = ROOT / "scripts" / "launch.py"

    def command(seed: int, _: Path) -> list[str]:
        choices = ["--env", environment, "--set", f"train.seed={seed}"]
        return [sys.executable, str(launch), "quickstart", "--opt-in", *choices]

    return Contender(
        key,
        label,
        True,
        environment,
        command,
        read_ours(target, newest_run),
        missing=None if launch.exists() else "not in this checkout: scripts/launch.py",
        flop_per_step=flop_per_step(environment),
        target=target,
    )


def ours_in_cartpole() -> list[Contender]:
    """Ours on CartPole-v1: the whole gate, the engine alone, and the engine without a goal for its steady speed."""
    fast = [word for name, value in FAST.items() for word in (f"--train.{name}", str(value))]
    no_goal = ["--train.target_return", "none", "--train.total_timesteps"]
    return [
        quickstart("quickstart", "ours, quickstart (the whole gate)", "cartpole", CARTPOLE_TARGET),
        engine("engine", "ours, engine alone", "cartpole", CARTPOLE_TARGET),
        engine("engine-sustained", "ours, shipped settings, no goal", "cartpole", None, *no_goal, str(SUSTAINED_STEPS)),
        engine("engine-fast", f"ours, minibatch {FAST['minibatch_size']}, {FAST['update_epochs']} epochs, no goal",
               "cartpole", None, *no_goal, str(FAST_STEPS), *fast, epochs=FAST["update_epochs"]),
    ]  # fmt: skip


def ours_in_breakout() -> list[Contender]:
    """Ours on Breakout, through the whole gate."""
    return [quickstart("quickstart-breakout", "ours, quickstart --env breakout", "breakout", None)]


def slowest_help(repetitions: int = 5) -> float | None:
    """Wall seconds of ``--help`` of the slowest script of the gate, each the best of a few; None without scripts."""
    best = [
        min(measure([sys.executable, str(script), "--help"], limit=30.0).seconds for _ in range(repetitions))
        for script in sorted((ROOT / "scripts").glob("*.py"))
    ]
    return max(best, default=None)

"""stable-baselines3 PPO on CartPole-v1 with the settings that its zoo tuned for it; stops when solved.

SB3/bin/python benchmarks/peers/sb3_cartpole.py --seed 1
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from harness import RecentReturns, report, training_parser

ENVIRONMENTS = 8


def falling(start: float) -> Callable[[float], float]:
    """A value that falls linearly to zero; called with the share of the training that remains."""
    return lambda remaining: remaining * start


def main() -> None:
    """Train until solved, print the result."""
    options = training_parser("Train CartPole-v1 with stable-baselines3.", steps=150_000).parse_args()
    warnings.filterwarnings("ignore")
    torch: Any = import_module("torch")
    torch.set_num_threads(options.threads)
    library: Any = import_module("stable_baselines3")
    env_util: Any = import_module("stable_baselines3.common.env_util")

    environments = env_util.make_vec_env("CartPole-v1", n_envs=ENVIRONMENTS, seed=options.seed)
    model = library.PPO(
        "MlpPolicy",
        environments,
        seed=options.seed,
        device="cpu",
        n_steps=32,
        batch_size=256,
        n_epochs=20,
        gamma=0.98,
        gae_lambda=0.8,
        ent_coef=0.0,
        learning_rate=falling(0.001),
        clip_range=falling(0.2),
    )
    start = time.perf_counter()
    recent = RecentReturns(options.target, lambda: time.perf_counter() - start)

    def note_episodes(local_names: dict[str, Any], _: dict[str, Any]) -> bool:
        """Called after every step of all environments; False stops the training."""
        for information in local_names["infos"]:
            if "episode" in information:
                recent.add(float(information["episode"]["r"]), int(model.num_timesteps))
        return not recent.solved

    model.learn(options.steps, callback=note_episodes)
    seconds = time.perf_counter() - start
    report(
        {
            "peer": "stable-baselines3",
            "version": library.__version__,
            "environment": "CartPole-v1",
            "settings": "zoo-tuned",
            "seed": options.seed,
            "threads": options.threads,
            "steps": int(model.num_timesteps),
            "train_seconds": seconds,
            "compile_seconds": 0.0,
            "steps_per_second": model.num_timesteps / seconds,
            "return": recent.mean(),
            "solved": recent.solved,
            "solved_seconds": recent.solved_seconds,
            "solved_steps": recent.solved_steps,
        }
    )


if __name__ == "__main__":
    main()

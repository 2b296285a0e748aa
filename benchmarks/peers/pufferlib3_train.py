"""pufferlib 3.0.0 training on the CPU with its own settings, to measure its training steps per second.

    PUFFERLIB3/bin/python benchmarks/peers/pufferlib3_train.py cartpole --network mlp --steps 1572864

`--network lstm` is its default policy; `--network mlp` is the same without the recurrence and is its fastest setting
here. Steps per second leave out the first epoch, in which memory is first touched. Its own schedule of `--steps` is
kept: the learning rate falls to nothing at the end of them.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import sys
import time
import warnings
from importlib import import_module
from typing import Any

from harness import report, training_parser


def do_nothing(*_: Any, **__: Any) -> str:
    """Stands in for the dashboard and for checkpoints, which are not measured."""
    return ""


def mean_score(statistics: dict[str, list[float]]) -> float | None:
    """Mean score of the episodes that ended in a rollout, weighted by how many each entry stands for."""
    scores = [float(score) for score in statistics.get("score", [])]
    weights = [float(weight) for weight in statistics.get("n", [])]
    if len(weights) != len(scores):
        weights = [1.0] * len(scores)
    total = sum(weights)
    return sum(s * w for s, w in zip(scores, weights, strict=True)) / total if total > 0 else None


def main() -> None:
    """Train for the given steps, print the result."""
    parser = training_parser("Train an environment of pufferlib 3.0.0 on the CPU.", steps=1_572_864)
    parser.add_argument("environment", choices=("cartpole", "squared", "breakout"))
    parser.add_argument("--network", choices=("lstm", "mlp"), default="lstm")
    parser.add_argument("--max-seconds", type=float, default=240.0, help="stop after the epoch in which this passes")
    parser.set_defaults(target=None, threads=2)
    options = parser.parse_args()
    sys.argv = sys.argv[:1]  # its configuration reader looks at the arguments too

    torch: Any = import_module("torch")
    torch.set_num_threads(options.threads)
    numpy: Any = import_module("numpy")
    with contextlib.redirect_stderr(io.StringIO()):
        trainer: Any = import_module("pufferlib.pufferl")
    warnings.resetwarnings()  # it turns some warnings of the libraries that it uses into errors
    warnings.filterwarnings("ignore")
    random.seed(options.seed)
    numpy.random.seed(options.seed)
    torch.manual_seed(options.seed)
    trainer.PuffeRL.print_dashboard = do_nothing
    trainer.PuffeRL.save_checkpoint = do_nothing

    name = f"puffer_{options.environment}"
    settings = trainer.load_config(name)
    settings["vec"] = {"backend": "Serial", "num_envs": settings["vec"]["num_envs"], "seed": options.seed}
    settings["train"].update(device="cpu", seed=options.seed, total_timesteps=options.steps)
    if options.network == "mlp":
        settings["rnn_name"] = None
        settings["train"]["use_rnn"] = False
    vectorized = trainer.load_env(name, settings)
    policy = trainer.load_policy(settings, vectorized)
    training = trainer.PuffeRL(dict(settings["train"], env=name), vectorized, policy)

    start = time.perf_counter()
    first: tuple[int, float] | None = None
    score: float | None = None
    best: float | None = None
    solved: tuple[int, float] | None = None
    while training.global_step < options.steps and time.perf_counter() - start < options.max_seconds:
        latest = mean_score(training.evaluate())
        if latest is not None:
            score = latest
            best = latest if best is None else max(best, latest)
            if options.target is not None and latest >= options.target and solved is None:
                solved = (training.global_step, time.perf_counter() - start)
        training.stats.clear()
        training.train()
        training.stats.clear()
        if first is None:
            first = (training.global_step, time.perf_counter())
        if solved is not None:
            break
    end = time.perf_counter()
    later_steps = training.global_step - first[0] if first else 0
    report(
        {
            "peer": "pufferlib",
            "version": "3.0.0",
            "environment": options.environment,
            "settings": options.network,
            "seed": options.seed,
            "threads": options.threads,
            "parameters": training.model_size,
            "agents": training.total_agents,
            "steps": training.global_step,
            "train_seconds": end - start,
            "compile_seconds": 0.0,
            "steps_per_second": later_steps / (end - first[1]) if first and later_steps else None,
            "score": score,
            "best_score": best,
            "return": None,
            "solved": solved is not None,
            "solved_seconds": solved[1] if solved else None,
            "solved_steps": solved[0] if solved else None,
        }
    )
    os._exit(0)  # its environments and libraries may hold on at the end; nothing is left to be written


if __name__ == "__main__":
    main()

"""gymnasium's own vectorized CartPole-v1 (NumPy arrays, one process), stepping alone with random actions.

    SB3/bin/python benchmarks/peers/gymnasium_step.py --environments 4096 --seconds 2

A reset takes a step of its own there: with random actions about one step in 23.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from typing import Any

from harness import report

ACTION_SETS = 64
WARM_CALLS = 32


def main() -> None:
    """Step for a while, print the rate."""
    parser = argparse.ArgumentParser(description="Step gymnasium's vectorized CartPole-v1 with random actions.")
    parser.add_argument("--environments", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    numpy: Any = import_module("numpy")
    gymnasium: Any = import_module("gymnasium")
    environment = gymnasium.make_vec(
        "CartPole-v1", num_envs=options.environments, vectorization_mode="vector_entry_point"
    )
    environment.reset(seed=options.seed)
    generator = numpy.random.default_rng(options.seed)
    actions = generator.integers(0, 2, (ACTION_SETS, options.environments))
    for call in range(WARM_CALLS):
        environment.step(actions[call % ACTION_SETS])
    calls = 0
    start = time.perf_counter()
    while (seconds := time.perf_counter() - start) < options.seconds:
        environment.step(actions[calls % ACTION_SETS])
        calls += 1
    report(
        {
            "peer": "gymnasium",
            "version": gymnasium.__version__,
            "environment": "cartpole",
            "environments": options.environments,
            "workers": 1,
            "steps_per_second": calls * options.environments / seconds,
        }
    )


if __name__ == "__main__":
    main()

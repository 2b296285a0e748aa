"""pufferlib 3.0.0, environment stepping alone: one process, one core, random actions drawn beforehand.

PUFFERLIB3/bin/python benchmarks/peers/pufferlib3_step.py cartpole --environments 4096 --seconds 2
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import time
from importlib import import_module
from typing import Any

from harness import report

# What its configuration files give each environment; cartpole writes its log at every step unless told otherwise.
ARGUMENTS: dict[str, dict[str, int]] = {"cartpole": {}, "squared": {}, "breakout": {"frameskip": 4}}
ACTION_SETS = 64
WARM_CALLS = 32


def main() -> None:
    """Step for a while, print the rate."""
    parser = argparse.ArgumentParser(description="Step an environment of pufferlib 3.0.0 with random actions.")
    parser.add_argument("environment", choices=sorted(ARGUMENTS))
    parser.add_argument("--environments", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    numpy: Any = import_module("numpy")
    with contextlib.redirect_stderr(io.StringIO()):
        creators: Any = import_module("pufferlib.ocean.environment")
    arguments = dict(ARGUMENTS[options.environment])
    if options.environment == "cartpole":
        arguments["report_interval"] = 128  # its best case: by default it writes its log at every step
    environment = creators.env_creator(f"puffer_{options.environment}")(num_envs=options.environments, **arguments)
    environment.reset(options.seed)
    generator = numpy.random.default_rng(options.seed)
    actions = generator.integers(0, environment.single_action_space.n, (ACTION_SETS, environment.num_agents))
    actions = actions.astype(numpy.int32)
    for call in range(WARM_CALLS):
        environment.step(actions[call % ACTION_SETS])
    calls = 0
    start = time.perf_counter()
    while (seconds := time.perf_counter() - start) < options.seconds:
        environment.step(actions[calls % ACTION_SETS])
        calls += 1
    report(
        {
            "peer": "pufferlib",
            "version": "3.0.0",
            "environment": options.environment,
            "environments": options.environments,
            "workers": 1,
            "steps_per_second": calls * environment.num_agents / seconds,
        }
    )
    os._exit(0)  # as in pufferlib3_train.py


if __name__ == "__main__":
    main()

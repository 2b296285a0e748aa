"""Our environments stepped alone by the timing loop of the engine; `benchmarks/step.py` starts this program.

    PYTHONPATH=native_profile python3 benchmarks/step_ours.py cartpole --seconds 1

Prints one line of JSON, as the programs of the peers do.
"""

from __future__ import annotations

import argparse
import json
import sys

LAYOUTS = ("rows", "lanes", "none")


def main() -> int:
    """Step for a while, print the rate."""
    parser = argparse.ArgumentParser(description="Step one of our environments with random actions.")
    parser.add_argument("environment")
    parser.add_argument("--environments", type=int, default=4096, help="stepped side by side (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="threads (default: %(default)s)")
    parser.add_argument("--layout", choices=LAYOUTS, default="rows", help="of the observations (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of the measurement (default: %(default)s)")
    options = parser.parse_args()
    from pufferlib import environments
    from pufferlib.engine import benchmark_steps
    from pufferlib.errors import PufferError

    try:
        environment = environments.load(environments.find_header(options.environment))
        # Once for the page faults, not counted.
        benchmark_steps(environment, options.environments, options.workers, options.layout, 0.05)
        rate = benchmark_steps(environment, options.environments, options.workers, options.layout, options.seconds)
    except PufferError as error:
        print(f"step_ours: {error}", file=sys.stderr)
        return 1
    fields = {"environment": options.environment, "environments": options.environments, "workers": options.workers}
    print(json.dumps(fields | {"layout": options.layout, "steps_per_second": rate}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Trains the same plan with several seeds through the gate, and prints a table with median and spread.

    python3 sweep_seeds.py cartpole --seeds 5 --opt-in
    python3 sweep_seeds.py cartpole --seeds 3 --set train.learning_rate=0.001 --opt-in

One good seed proves nothing: report the median and the spread. Runs that are there already are not trained again.
Exit status: 0 every seed trained and verified, 1 some did not, 2 could not be done.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

BUNDLE = Path("@BUNDLE@")
"""The folder of the skill that holds scripts/."""


def tool(name: str, *words: str) -> dict[str, Any]:
    """The JSON report of one of the skill's scripts; values are words of a list and never reach a shell."""
    command = [sys.executable, str(BUNDLE / "scripts" / f"{name}.py"), *words, "--json"]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    try:
        report: dict[str, Any] = json.loads(result.stdout)
    except ValueError:
        raise SystemExit(2) from None
    return report


def train(environment: str, run: str, seed: int, choices: list[str]) -> dict[str, Any] | None:
    """The manifest of a run that ended and verifies; None where it was refused or did not reach its goal."""
    plan = f"{run}.json"
    if not Path(plan).exists():
        words = [f"--set={choice}" for choice in (f"train.seed={seed}", *choices)]
        report = tool("make_plan", environment, f"--run={run}", *words, f"--out={plan}")
    else:
        report = tool("validate_plan", plan)
    if report["exit_status"] == 0 and not Path("runs", run).exists():
        # Each plan is approved for itself: --opt-in is refused where the plan's tier asks for a person.
        report = tool("launch", "run", f"--plan={plan}", "--opt-in")
    if report["exit_status"] == 0:
        report = tool("audit", "verify", f"runs/{run}")
    if report["exit_status"] != 0:
        for finding in report["findings"]:
            print(f"seed {seed}: {finding['message']} [{finding['code']}] {finding['fix']}", file=sys.stderr)
        return None
    manifest: dict[str, Any] = json.loads(Path("runs", run, "manifest.json").read_text(encoding="utf-8"))
    return manifest


def main() -> int:
    """All seeds, one after another: each run uses the whole machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", help="a built-in environment")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="how many seeds, from 1 (default 3)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="change one field of each plan"
    )
    parser.add_argument("--name", default="sweep", help="first part of the names of the runs (default sweep)")
    parser.add_argument("--opt-in", action="store_true", help="train; without it the seeds and commands are only shown")
    options = parser.parse_args()
    if not 1 <= options.seeds <= 1000:
        parser.error("--seeds is 1 to 1000")
    runs = {
        seed: f"{options.name}-{options.environment.replace('_', '-')}-{seed}" for seed in range(1, options.seeds + 1)
    }
    if not options.opt_in:
        print(f"would train {len(runs)} runs: {', '.join(runs.values())}; nothing was started; add --opt-in")
        return 1
    results = {seed: train(options.environment, run, seed, options.set) for seed, run in runs.items()}
    done = {seed: manifest for seed, manifest in results.items() if manifest is not None}
    print("seed  return       steps  seconds")
    for seed, manifest in done.items():
        mean, step = manifest["evaluation"]["return_mean"], manifest["step"]
        print(f"{seed:>4}  {mean:>6.2f}  {step:>10}  {manifest['seconds']['train']:>7.1f}")
    if done:
        returns = sorted(manifest["evaluation"]["return_mean"] for manifest in done.values())
        steps = sorted(manifest["step"] for manifest in done.values())
        middle = statistics.median(returns)
        print(f"return  median {middle:.2f}, {returns[0]:.2f} to {returns[-1]:.2f}, of {len(done)} runs")
        print(f"steps   median {statistics.median(steps):.0f}, {steps[0]} to {steps[-1]}")
    if len(done) < len(results):
        print(f"{len(results) - len(done)} of {len(results)} runs did not end well", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

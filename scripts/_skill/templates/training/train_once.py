"""Trains one policy through the gate: plan, check, approval, launch, audit, result.

    python3 train_once.py cartpole                      shows the plan and what it needs; starts nothing
    python3 train_once.py cartpole --opt-in             trains, if the plan may be approved by whoever starts it
    python3 train_once.py my_env --env-path my_env --approval my_env-1.approval.json

Exit status: 0 trained and verified, 1 refused or not solved, 2 could not be done.
"""

from __future__ import annotations

import argparse
import json
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


def stop(report: dict[str, Any]) -> int:
    """Says why a script refused, and gives its exit status."""
    for finding in report["findings"]:
        print(f"{finding['severity']}: {finding['message']} [{finding['code']}]", file=sys.stderr)
        if finding["fix"]:
            print(f"  fix  {finding['fix']}", file=sys.stderr)
    print(report["summary"], file=sys.stderr)
    return int(report["exit_status"])


def main() -> int:
    """One run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", help="a built-in environment, or the name of one in --env-path")
    parser.add_argument("--env-path", metavar="FOLDER", help="folder of a C environment of your own")
    parser.add_argument("--seed", type=int, default=1, help="seed of the run (default 1)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change one field of the plan")
    parser.add_argument("--approval", metavar="FILE", help="approval that a person wrote with approve.py")
    parser.add_argument("--opt-in", action="store_true", help="approve it yourself, where the plan's tier allows that")
    options = parser.parse_args()

    run = f"{options.environment.replace('_', '-')}-{options.seed}"
    plan = f"{run}.json"
    outside = ["--env-path", options.env_path] if options.env_path else []
    choices = [f"--set={choice}" for choice in (f"train.seed={options.seed}", *options.set)]
    # A plan that is there is kept: an approval holds for exactly its bytes.
    if not Path(plan).exists():
        made = tool("make_plan", options.environment, *outside, f"--run={run}", *choices, f"--out={plan}")
        if made["exit_status"] != 0:
            return stop(made)
    checked = tool("validate_plan", plan)
    if checked["exit_status"] != 0:
        return stop(checked)
    print(f"plan {plan} is valid; tier {checked['tier']}")

    consent = [f"--approval={options.approval}"] if options.approval else ["--opt-in"] if options.opt_in else []
    launched = tool("launch", "run", f"--plan={plan}", *consent)
    if launched["exit_status"] != 0:
        status = stop(launched)
        if launched.get("next"):
            print("next", *(f"  {line}" for line in launched["next"]), sep="\n", file=sys.stderr)
        return status
    verified = tool("audit", "verify", f"runs/{run}")
    if verified["exit_status"] != 0:
        return stop(verified)
    manifest = json.loads(Path("runs", run, "manifest.json").read_text(encoding="utf-8"))
    evaluation = manifest["evaluation"]
    print(f"{manifest['status']} after {manifest['step']} steps; the log verifies")
    print(f"return {evaluation['return_mean']:.3f} over {evaluation['episodes']} episodes; see runs/{run}/report.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())

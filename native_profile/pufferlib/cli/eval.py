"""``puffer eval``: play the policy of a run, without learning."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

from .. import checkpoint
from ..cores import usable_cores
from ..engine import Trainer
from ..environments import find_header, load
from ..errors import MISUSE, PufferError
from ..plan import read_plan

if TYPE_CHECKING:
    from . import Parser

HELP = """Play the trained policy of a run and report its returns. The checkpoint is verified first.

  puffer eval runs/cartpole-20260101-120000
  puffer eval runs/cartpole-20260101-120000 --episodes 1000 --sampled --json"""


def run(parser: Parser, words: list[str]) -> int:
    """Evaluates."""
    parser.add_argument("run", metavar="RUN", help="folder of a run")
    parser.add_argument("--episodes", type=int, default=128, metavar="N", help="whole episodes to play (128)")
    parser.add_argument("--seed", type=int, default=2_000_000, metavar="N", help="seed of the environments (2000000)")
    parser.add_argument("--sampled", action="store_true", help="draw actions from the policy instead of its likeliest")
    parser.add_argument(
        "--max-steps", type=int, default=100_000, metavar="N", help="cut an episode after so many steps (100000)"
    )
    parser.add_argument("--env-path", metavar="DIR", help="folder that holds the environment's header")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args(words)
    if arguments.episodes < 1 or arguments.max_steps < 1 or arguments.seed < 0:
        parser.error("--episodes and --max-steps are at least 1, --seed at least 0")
    run_dir = Path(arguments.run)
    if not run_dir.is_dir():
        raise PufferError(f"there is no run at {run_dir}", MISUSE)
    plan = read_plan(run_dir / "plan.json")
    found = checkpoint.latest(run_dir)
    if found is None:
        raise PufferError(f"{run_dir} has no checkpoint yet", MISUSE)
    environment = load(find_header(plan["environment"]["name"], arguments.env_path or plan["environment"].get("path")))
    trainer = Trainer(environment, plan, usable_cores())
    try:
        trainer.restore(found[1].fill)
        played = trainer.evaluate(arguments.episodes, arguments.seed, not arguments.sampled, arguments.max_steps)
    finally:
        trainer.close()
    summary = {
        "run": plan["run"],
        "environment": environment.name,
        "checkpoint": found[0]["checkpoint"]["file"],
        "weights_sha256": found[0]["weights_sha256"],
        "episodes": arguments.episodes,
        "seed": arguments.seed,
        "actions": "sampled" if arguments.sampled else "greedy",
        "return_mean": statistics.fmean(played.returns),
        "return_std": statistics.pstdev(played.returns),
        "return_min": min(played.returns),
        "return_max": max(played.returns),
        "length_mean": statistics.fmean(played.lengths),
        "statistics": {k: v if v == v else None for k, v in played.statistics.items()},
    }
    if arguments.json:
        print(json.dumps(summary, indent=2))
    else:
        print(
            f"{environment.title}, {arguments.episodes} episodes, {summary['actions']} actions, {summary['checkpoint']}"
        )
        print(
            f"  return  {summary['return_mean']:.6g} +- {summary['return_std']:.4g}"
            f"  ({summary['return_min']:.6g} to {summary['return_max']:.6g})"
        )
        print(f"  length  {summary['length_mean']:.6g} steps")
        for info in environment.statistics:
            print(f"  {info.name}  {played.statistics[info.name]:.6g}  {info.help}")
    return 0

"""``puffer train``: a run from a plan, or from an environment's name and flags."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MISUSE, PufferError
from ..files import write_atomically
from ..plan import make_plan, read_plan
from ..train_settings import TRAIN_SETTINGS, TrainSetting

if TYPE_CHECKING:
    from . import Parser

HELP = """Train a policy on a C environment.

  puffer train cartpole                                       settings that the environment ships
  puffer train breakout --train.seed 7 --policy.hidden 256    any setting of the table below
  puffer train cartpole --env.max_steps 200                   any setting of the environment
  puffer train mine --env-path ~/mine                         an environment outside this package
  puffer train --plan plan.json --run-dir runs/x              a plan; --resume takes an interrupted run up again"""


def run(parser: Parser, words: list[str]) -> int:
    """Parses and trains."""
    parser.add_argument("env", nargs="?", help="environment; `puffer envs` lists them")
    parser.add_argument("--plan", metavar="FILE", help="train this plan instead of flags")
    parser.add_argument("--run-dir", metavar="DIR", help="folder of the run (default runs/<env>-<time>)")
    parser.add_argument("--resume", action="store_true", help="go on where the run in --run-dir was interrupted")
    parser.add_argument("--start-from", metavar="FILE", help="checkpoint whose weights alone are taken")
    parser.add_argument("--env-path", metavar="DIR", help="folder that holds the environment's header")
    parser.add_argument(
        "--workers", type=int, default=0, metavar="N", help="threads (default: the cores this process may use)"
    )
    group = parser.add_argument_group("training")
    for setting in TRAIN_SETTINGS.values():
        flag = f"--train.{setting.name.replace('_', '-')}"
        default = "none" if setting.default is None else setting.default
        group.add_argument(flag, dest=f"train.{setting.name}", metavar="X", help=f"{setting.help} ({default})")
    policy = parser.add_argument_group("policy")
    policy.add_argument("--policy.hidden", dest="policy.hidden", metavar="N[,N]", help="widths of the hidden layers")
    policy.add_argument("--policy.activation", dest="policy.activation", metavar="X", help="tanh, relu or gelu")
    settings, rest = _environment_settings(parser, words)
    arguments = parser.parse_args([_dashed(word) for word in rest])
    chosen = {
        key[6:]: value for key, value in vars(arguments).items() if key.startswith("train.") and value is not None
    }
    train = {name: _value(TRAIN_SETTINGS[name], text) for name, text in chosen.items()}
    given = [word for word in (arguments.env, *train, *settings) if word]
    given += [flag for flag in ("policy.hidden", "policy.activation") if vars(arguments)[flag] is not None]
    given += ["workers"] if arguments.workers else []

    from ..training import Run

    if arguments.plan:
        if given:
            raise PufferError(f"--plan holds every setting: leave {given[0]} out", MISUSE)
        if not arguments.run_dir:
            raise PufferError("--plan needs --run-dir", MISUSE)
        path = Path(arguments.plan)
        plan, content = read_plan(path), path.read_bytes()
        run_dir = Path(arguments.run_dir)
        run_dir.mkdir(parents=True, exist_ok=True)
        start_from = Path(arguments.start_from) if arguments.start_from else None
        return Run(plan, content, run_dir, arguments.env_path, arguments.resume, start_from).execute()
    if arguments.resume:
        given += ["start-from"] if arguments.start_from else []
        if not arguments.run_dir or given:
            raise PufferError("--resume takes --run-dir alone: the run's plan.json holds every setting", MISUSE)
        run_dir = Path(arguments.run_dir)
        plan = read_plan(run_dir / "plan.json")
        return Run(plan, (run_dir / "plan.json").read_bytes(), run_dir, arguments.env_path, True).execute()
    if not arguments.env:
        parser.error("which environment? `puffer envs` lists them")
    return _fresh(arguments, train, settings)


def _fresh(arguments: Any, train: dict[str, Any], settings: dict[str, Any]) -> int:
    """A new run folder with the plan that the flags make."""
    from .. import checkpoint, metrics
    from ..environments import find_header, load
    from ..training import Run

    policy: dict[str, Any] = {}
    if vars(arguments)["policy.hidden"] is not None:
        try:
            policy["hidden"] = [int(n) for n in vars(arguments)["policy.hidden"].split(",")]
        except ValueError:
            raise PufferError(
                f"--policy.hidden is {vars(arguments)['policy.hidden']!r}, expected widths like 128 or 64,64", MISUSE
            ) from None
    if vars(arguments)["policy.activation"] is not None:
        policy["activation"] = vars(arguments)["policy.activation"]
    name = f"{arguments.env}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    run_dir = Path(arguments.run_dir) if arguments.run_dir else Path("runs") / name
    start_from = Path(arguments.start_from) if arguments.start_from else None
    plan = make_plan(
        arguments.env, arguments.env_path, run_dir.name, train, policy, settings, arguments.workers, start_from
    )
    load(find_header(arguments.env, arguments.env_path)).settings_bytes(settings)
    try:
        run_dir.mkdir(parents=True)
    except FileExistsError:
        raise PufferError(
            f"{run_dir} exists; name another --run-dir, or go on with it: --resume --run-dir {run_dir}", MISUSE
        ) from None
    content = json.dumps(plan, indent=2).encode() + b"\n"
    write_atomically(run_dir / "plan.json", [content])
    try:
        status = Run(plan, content, run_dir, arguments.env_path, False).execute()
    except PufferError:
        if not (run_dir / checkpoint.MANIFEST).exists():
            # Refused before anything was trained: leave the name free for the corrected command.
            for name in ("plan.json", metrics.FILE):
                (run_dir / name).unlink(missing_ok=True)
            run_dir.rmdir()
        raise
    print(run_dir / "report.html")
    return status


def _dashed(word: str) -> str:
    """`--train.learning_rate` and `--train.learning-rate` are one flag; an environment's settings keep their names."""
    name, equals, value = word.partition("=")
    return name.replace("_", "-") + equals + value if name.startswith(("--train.", "--policy.")) else word


def _value(setting: TrainSetting, text: str) -> Any:
    if setting.kind == "choice":
        return text
    if setting.kind == "return" and text in ("none", "null"):
        return None
    try:
        # 1e6 is how a person writes a count of steps.
        number = float(text)
        return (
            int(text)
            if setting.kind == "int" and text.lstrip("+-").isdigit()
            else int(number)
            if setting.kind == "int" and number == int(number)
            else number
        )
    except (ValueError, OverflowError):
        raise PufferError(f"train.{setting.name} is {text!r}, expected a number", MISUSE) from None


def _environment_settings(parser: Parser, words: list[str]) -> tuple[dict[str, float], list[str]]:
    """What `--env.NAME VALUE` and `--env.NAME=VALUE` say, and the other words. Taken out first: argparse knows no such
    flags, and would take their values for the environment's name."""
    settings: dict[str, float] = {}
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        flag, equals, value = word.partition("=")
        if not flag.startswith("--env."):
            others.append(word)
            continue
        if not equals:
            value = next(rest, "")
        try:
            settings[flag[6:].replace("-", "_")] = int(value) if value.lstrip("+-").isdigit() else float(value)
        except ValueError:
            parser.error(f"{flag} is {value!r}, expected a number")
    return settings, others

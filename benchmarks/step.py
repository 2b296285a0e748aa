#!/usr/bin/env python3
"""Measure environment stepping alone, random actions: ours, a plain C loop, and what a user would pick instead.

    python3 benchmarks/step.py --peers DIR                    # 5 repetitions of everything
    python3 benchmarks/step.py --env cartpole --repetitions 3 # without peers
    python3 benchmarks/step.py --json report.json

Every program steps as many environments and writes observations, rewards and both kinds of episode end. One core unless
a row says otherwise. Interleaved, after a wait for a quiet machine; a run on one core counts as disturbed only when the
other cores are busy too.
Exit status: 0 measured, 1 one of ours failed, 2 wrong use or nothing could be measured, 130 or 143 interrupted (what
was measured until then is still reported).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _bench import host, limits
from _bench.contenders import Contender, peer, read_peer
from _bench.goals import Goal, goals_table
from _bench.ours import ENGINE
from _bench.report import deliver, problem_with, until_interrupted
from _bench.schedule import Quiet, best_of_each_seed, run_interleaved, to_standard_error
from _bench.summary import NOTHING, Spread, clean_or_all, plain, ratio, spread, table, with_spread

OURS = Path(__file__).resolve().parent / "step_ours.py"
ENVIRONMENTS = ("cartpole", "squared", "breakout")
BARE_LOOPS = (
    ("plain", "a plain C loop, -O2", "cartpole_loop_plain", "scalar"),
    ("fast", "a plain C loop, -O3 -march=native -ffast-math", "cartpole_loop", "scalar"),
    ("lanes", "a C loop over lanes, the same flags", "cartpole_loop", "lanes"),
)
WANTED_ON_ONE_CORE = {"cartpole": 80e6, "squared": 80e6, "breakout": 13e6}
WANTED_FROM_TWO_WORKERS = 1.8


def ours(environment: str, environments: int, seconds: float, workers: int, layout: str) -> Contender:
    """Ours, by the timing loop in the engine.

    Observations in rows, one agent's after another, are what the peers write too. In lanes, as our learner reads them,
    64 steps of them are kept, as in a rollout, so that memory counts as well.
    """
    there = (ENGINE / "pufferlib" / "engine.py").exists()

    def command(_: int, __: Path) -> list[str]:
        return [sys.executable, str(OURS), environment, "--environments", str(environments), "--seconds", str(seconds),
                "--workers", str(workers), "--layout", layout]  # fmt: skip

    return Contender(
        f"ours-{environment}-{layout}-{workers}",
        f"ours, observations in {layout}" + ("" if workers == 1 else f", {workers} workers"),
        True,
        environment,
        command,
        read_peer,
        variables={"PYTHONPATH": str(ENGINE)},
        missing=None if there else "not in this checkout: native_profile/pufferlib/engine.py",
        spare_cores=host.usable_cores() - workers,
    )


def bare_loop(
    key: str, label: str, program: str, variant: str, environments: int, seconds: float, folder: Path
) -> Contender:
    """A C program of `benchmarks/limits`, compiled now."""
    missing = None
    try:
        limits.build(program, folder)
    except limits.NoLimit as problem:
        missing = str(problem)

    def command(_: int, __: Path) -> list[str]:
        return limits.command(program, folder, variant, environments, seconds)

    return Contender(key, label, False, "cartpole", command, read_peer, missing=missing,
                     spare_cores=host.usable_cores() - 1)  # fmt: skip


def contenders_of(environment: str, options: argparse.Namespace, folder: Path) -> list[Contender]:
    """All that step one environment."""
    count, seconds = options.environments, options.seconds
    size = ["--environments", str(count), "--seconds", str(seconds)]
    found = [
        ours(environment, count, seconds, 1, "rows"),
        ours(environment, count, seconds, 2, "rows"),
        ours(environment, count, seconds, 1, "lanes"),
    ]
    spare = host.usable_cores() - 1
    peers = None if options.peers is None else options.peers.absolute()
    found.append(peer(f"pufferlib3-{environment}", "pufferlib 3.0.0", environment, "pufferlib3", peers,
                      "pufferlib3_step.py", [environment, *size], spare_cores=spare))  # fmt: skip
    if environment == "cartpole":
        found.append(peer("gymnasium", "gymnasium, its NumPy vector", environment, "sb3", peers,
                          "gymnasium_step.py", size, spare_cores=spare))  # fmt: skip
        for key, label, program, variant in BARE_LOOPS:
            found.append(bare_loop(key, label, program, variant, count, seconds, folder))
    return found


class Row:
    """One contender's runs, summed up."""

    def __init__(self, contender: Contender, records: Sequence[dict[str, Any]]) -> None:
        self.contender = contender
        counted, self.disturbed = clean_or_all(best_of_each_seed(records, contender.key))
        self.errors = [r["error"] for r in records if r["contender"] == contender.key and "error" in r]
        self.speed: Spread | None = spread(record["result"]["steps_per_second"] for record in counted)

    @property
    def median(self) -> float | None:
        """Steps per second."""
        return None if self.speed is None else self.speed.median

    def cells(self, reference: float | None) -> list[str]:
        """The row of the table."""
        if self.median is None:
            state = (
                "not installed" if self.contender.missing is not None and not self.contender.ours else "not measured"
            )
            return [self.contender.label, state, NOTHING]
        label = self.contender.label + (" (disturbed)" if self.disturbed else "")
        return [label, with_spread(self.speed), ratio(reference, self.median)]

    def record(self) -> dict[str, Any]:
        """As plain values for the JSON report."""
        return {
            "contender": self.contender.key, "label": self.contender.label, "environment": self.contender.environment,
            "ours": self.contender.ours, "missing": self.contender.missing, "errors": self.errors,
            "disturbed": self.disturbed, "steps_per_second": None if self.speed is None else self.speed.record(),
        }  # fmt: skip


def goals_of(rows: dict[str, list[Row]]) -> list[Goal]:
    """What this project wants of its environments' speed."""
    goals = []
    for environment, of_environment in rows.items():
        keyed = {row.contender.key: row for row in of_environment if row.median is not None}
        one, two = keyed.get(f"ours-{environment}-rows-1"), keyed.get(f"ours-{environment}-rows-2")
        if one is not None:
            wanted = WANTED_ON_ONE_CORE[environment]
            goals.append(Goal(f"{environment}, one core", wanted, one.median, "steps/s", disturbed=one.disturbed))
        if one is not None and two is not None and one.median and two.median:
            what, disturbed = f"{environment}, two workers against one", one.disturbed or two.disturbed
            share = two.median / one.median
            goals.append(Goal(what, WANTED_FROM_TWO_WORKERS, share, "times", disturbed=disturbed))
    return goals


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure environment stepping alone, with random actions.")
    parser.add_argument("--peers", type=Path, help="folder made by benchmarks/peers/make_peers.py")
    parser.add_argument("--env", choices=ENVIRONMENTS, action="append", help="this environment only")
    parser.add_argument("--only", action="append", metavar="NAME", help="this contender only, by its name in --json")
    parser.add_argument("--environments", type=int, default=4096, help="stepped side by side (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a measurement (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=5, help="measurements of each (default: %(default)s)")
    parser.add_argument("--quiet-cores", type=float, default=Quiet.most_cores,
                        help="most cores that others keep busy before a run starts (default: %(default)s)")  # fmt: skip
    parser.add_argument("--wait", type=float, default=10.0,
                        help="longest wait for that, seconds (default: %(default)s)")  # fmt: skip
    parser.add_argument(
        "--repeat",
        type=int,
        default=Quiet.repeats,
        help="how often a measurement is repeated while it is disturbed (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the whole report to FILE ('-': print it)")
    return parser


def main() -> int:
    """Measure, print, report."""
    options = arguments().parse_args()
    wrong = problem_with(options.json)
    if options.repetitions < 1 or options.repeat < 0 or options.environments < 1 or not 0 < options.seconds <= 60:
        wrong = "--repetitions and --environments are at least 1, --repeat at least 0, --seconds over 0 and at most 60"
    elif options.peers is not None and not options.peers.is_dir():
        wrong = f"{options.peers} is no folder; make it: python3 benchmarks/peers/make_peers.py --peers DIR"
    if wrong is not None:
        print(f"step: {wrong}", file=sys.stderr)
        return 2
    records: list[dict[str, Any]] = []
    machine = host.describe()
    quiet = Quiet(options.quiet_cores, options.wait, options.repeat)
    contenders: dict[str, list[Contender]] = {}
    with until_interrupted() as interruption, tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        for environment in options.env or ENVIRONMENTS:
            found = contenders_of(environment, options, Path(name))
            contenders[environment] = [c for c in found if not options.only or c.key in options.only]
            run_interleaved(contenders[environment], range(options.repetitions), quiet, to_standard_error, records)
    rows = {name: [Row(contender, records) for contender in found] for name, found in contenders.items()}
    goals = goals_of(rows)
    report = {
        "benchmark": "step", "interrupted": interruption.status is not None,
        "machine": machine, "load_after": host.load_averages(), "environments": options.environments,
        "quiet_cores": quiet.most_cores, "summary": [row.record() for each in rows.values() for row in each],
        "goals": [goal.record() for goal in goals], "runs": records,
    }  # fmt: skip
    deliver(report, text_of(rows, goals, machine, options.environments), options.json)
    if interruption.status is not None:
        return interruption.status
    if not records:
        return 2
    return 1 if any(row.errors for each in rows.values() for row in each if row.contender.ours) else 0


def text_of(rows: dict[str, list[Row]], goals: list[Goal], machine: dict[str, Any], environments: int) -> str:
    """The tables as people read them."""
    parts = []
    for environment, of_environment in rows.items():
        reference = next((row.median for row in of_environment if row.contender.ours and row.median), None)
        parts.append(
            table(
                [f"{environment}, stepping alone", "steps/s", "ours is"], [r.cells(reference) for r in of_environment]
            )
        )
        reasons = [
            f"{row.contender.label}: {row.contender.missing or row.errors[-1]}"
            for row in of_environment
            if row.median is None and (row.contender.missing or row.errors)
        ]
        parts.append("\n".join(reasons))
    parts.append(goals_table(goals))
    parts.append(f"Median (min-max), {plain(environments)} environments. {host.one_line(machine)}.")
    return "\n\n".join(part for part in parts if part)


if __name__ == "__main__":
    sys.exit(main())

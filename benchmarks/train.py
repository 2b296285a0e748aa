#!/usr/bin/env python3
"""Measure training: ours beside what a user would pick instead, interleaved in one run on this machine.

    python3 benchmarks/train.py --peers DIR                    # CartPole and Breakout, 5 seeds each
    python3 benchmarks/train.py --env cartpole --seeds 3       # without peers: their rows say how to install them
    python3 benchmarks/train.py --peers DIR --json report.json # every run and the summary, for machines

Prints tables: median (min-max) over the seeds. A run counts as disturbed when other processes kept 0.30 cores busy or
more; it is repeated when it was short (`--repeat`), and left out of the medians while the row has clean runs.
Exit status: 0 measured, 1 one of ours failed or did not solve CartPole with every seed, 2 wrong use or nothing could be
measured, 130 or 143 interrupted (what was measured until then is still reported).
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _bench import host, limits
from _bench.contenders import Contender, peers_in_breakout, peers_in_cartpole
from _bench.goals import Goal, goals_table
from _bench.ours import ours_in_breakout, ours_in_cartpole, slowest_help
from _bench.report import deliver, problem_with, until_interrupted
from _bench.schedule import Quiet, best_of_each_seed, run_interleaved, to_standard_error
from _bench.summary import NOTHING, Spread, clean_or_all, number, plain, ratio, spread, table, with_spread

ENVIRONMENTS = ("cartpole", "breakout")
# Which row the peers are compared with.
REFERENCE = {"cartpole": "engine", "breakout": "quickstart-breakout"}
QUANTITIES = (
    "train_seconds", "compile_seconds", "steps_per_second", "solved_seconds", "solved_steps", "score", "best_score",
    "wall_seconds", "wall_steps", "return", "evaluation_return",
)  # fmt: skip
OUTSIDE = ("process_seconds", "cpu_seconds", "peak_pss_mb", "largest_rss_mb", "other_cores")


class Row:
    """One contender's runs, summed up."""

    def __init__(self, contender: Contender, records: Sequence[dict[str, Any]]) -> None:
        self.contender = contender
        self.chosen = best_of_each_seed(records, contender.key)
        self.errors = [r["error"] for r in records if r["contender"] == contender.key and "error" in r]
        counted, self.disturbed = clean_or_all(self.chosen)
        self.values: dict[str, Spread | None] = {}
        for name in QUANTITIES:
            self.values[name] = spread(record["result"].get(name) for record in counted)
        for name in OUTSIDE:
            self.values[name] = spread(record.get(name) for record in counted)
        self.seeds = len({r["seed"] for r in records if r["contender"] == contender.key})
        self.solved = sum(bool(record["result"].get("solved")) for record in self.chosen)

    def median(self, name: str) -> float | None:
        """The median of one quantity over the runs that count."""
        values = self.values[name]
        return None if values is None else values.median

    def shown(self, name: str) -> str:
        """Median and spread of one quantity for the table."""
        return with_spread(self.values[name])

    @property
    def label(self) -> str:
        """The name for the table, with what a reader must know about it."""
        return self.contender.label + (" (disturbed)" if self.disturbed else "")

    @property
    def state(self) -> str | None:
        """Why there is nothing to show, if so."""
        if self.contender.missing is not None:
            return self.contender.missing
        if not self.chosen:
            return f"failed: {self.errors[-1]}" if self.errors else "not run: interrupted before"
        return None

    @property
    def brief_state(self) -> str:
        """The same in a word or two, for a cell."""
        return (self.state or "").partition(":")[0]

    def record(self) -> dict[str, Any]:
        """As plain values for the JSON report."""
        return {
            "contender": self.contender.key,
            "label": self.contender.label,
            "ours": self.contender.ours,
            "environment": self.contender.environment,
            "missing": self.contender.missing,
            "errors": self.errors,
            "disturbed": self.disturbed,
            "seeds": self.seeds,
            "seeds_solved": self.solved if self.contender.target is not None else None,
            "flop_per_step": self.contender.flop_per_step,
            "values": {name: None if s is None else s.record() for name, s in self.values.items()},
        }


def share_of_peak(row: Row, peak_gflops: float | None) -> str:
    """Share of the machine's multiply-add peak that the useful arithmetic of the training reaches."""
    speed, flop = row.median("steps_per_second"), row.contender.flop_per_step
    if speed is None or flop is None or not peak_gflops:
        return NOTHING
    return f"{plain(100 * speed * flop / (peak_gflops * 1e9))} %"


def solving_table(rows: Sequence[Row], reference: Row | None) -> str:
    """CartPole-v1 until it is solved."""
    headings = ["CartPole-v1 to a mean return of 475", "seeds solved", "training s", "x ours", "compiling s",
                "whole process s", "steps", "peak memory MB"]  # fmt: skip
    base = None if reference is None else reference.median("solved_seconds")
    cells = []
    for row in rows:
        if row.contender.target is None:
            continue
        if row.state is not None:
            cells.append([row.label, row.brief_state, *[NOTHING] * 6])
            continue
        compiling = row.median("compile_seconds")
        cells.append([
            row.label, f"{row.solved} of {row.seeds}", row.shown("solved_seconds"),
            ratio(row.median("solved_seconds"), base), plain(compiling) if compiling else NOTHING,
            row.shown("process_seconds"), row.shown("solved_steps"), number(row.median("peak_pss_mb")),
        ])  # fmt: skip
    return table(headings, cells)


def speed_table(title: str, rows: Sequence[Row], reference: Row | None, peak_gflops: float | None) -> str:
    """Training steps per second."""
    base = None if reference is None else reference.median("steps_per_second")
    cells = [
        [row.label, row.shown("steps_per_second"), ratio(base, row.median("steps_per_second")),
         share_of_peak(row, peak_gflops), number(row.median("peak_pss_mb"))]
        if row.state is None
        else [row.label, row.brief_state, *[NOTHING] * 3]
        for row in rows
    ]  # fmt: skip
    return table([title, "steps/s", "ours is", "of multiply-add peak", "peak memory MB"], cells)


def breakout_table(rows: Sequence[Row]) -> str:
    """Ours on Breakout: how far it gets."""
    cells = [
        [row.label, row.shown("score"), row.shown("wall_seconds"), row.shown("wall_steps"), row.shown("train_seconds"),
         row.shown("process_seconds"), number(row.median("peak_pss_mb"))]
        if row.state is None
        else [row.label, row.brief_state, *[NOTHING] * 5]
        for row in rows
        if row.contender.ours
    ]  # fmt: skip
    return table(
        ["Breakout, 432 points a wall", "score at the end", "s to one wall an episode", "steps to it", "training s",
         "whole process s", "peak memory MB"], cells)  # fmt: skip


def selected(contenders: Sequence[Contender], only: Sequence[str] | None) -> list[Contender]:
    """The contenders that were asked for."""
    return [contender for contender in contenders if not only or contender.key in only]


def goals_of(rows: dict[str, list[Row]], help_seconds: float | None) -> list[Goal]:
    """What this project wants of its training, where it was measured."""
    keyed = {row.contender.key: row for of_environment in rows.values() for row in of_environment if row.chosen}

    def goal(what: str, wanted: float, key: str, name: str, unit: str, at_most: bool = False) -> Goal:
        row = keyed.get(key)
        measured = None if row is None else row.median(name)
        return Goal(what, wanted, measured, unit, at_most, disturbed=row is not None and row.disturbed)

    solved = [keyed[key].solved / keyed[key].seeds for key in ("quickstart", "engine") if key in keyed]
    return [
        Goal("CartPole: share of seeds solved", 1.0, min(solved) if solved else None),
        goal("CartPole: training until solved", 0.5, "engine", "solved_seconds", "s", at_most=True),
        goal("CartPole: whole process, engine built", 1.5, "quickstart", "process_seconds", "s", at_most=True),
        goal("CartPole: training", 8e6, "engine-fast", "steps_per_second", "steps/s"),
        goal("Breakout: training", 0.8e6, "quickstart-breakout", "steps_per_second", "steps/s"),
        goal("Breakout: whole process", 180.0, "quickstart-breakout", "process_seconds", "s", at_most=True),
        goal("quickstart: peak memory", 200.0, "quickstart", "peak_pss_mb", "MB", at_most=True),
        Goal("--help of the slowest script", 0.1, help_seconds, "s", at_most=True),
    ]


def arguments_of(known: Sequence[str]) -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure training, ours and the peers, interleaved on this machine.")
    parser.add_argument("--peers", type=Path, help="folder made by benchmarks/peers/make_peers.py")
    parser.add_argument("--env", choices=ENVIRONMENTS, action="append", help="this environment only")
    parser.add_argument("--only", choices=known, action="append", metavar="NAME",
                        help=f"this contender only; may be given again: {', '.join(known)}")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=5, help="runs of each (default: %(default)s)")
    parser.add_argument("--first-seed", type=int, default=1, help="seeds count up from here (default: %(default)s)")
    parser.add_argument("--quiet-cores", type=float, default=Quiet.most_cores,
                        help="most cores that others keep busy before a run starts (default: %(default)s)")  # fmt: skip
    parser.add_argument("--wait", type=float, default=Quiet.wait_seconds,
                        help="longest wait for that, seconds (default: %(default)s)")  # fmt: skip
    parser.add_argument(
        "--repeat",
        type=int,
        default=Quiet.repeats,
        help="how often a short run is repeated while it is disturbed (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the whole report to FILE ('-': print it)")
    return parser


def main() -> int:
    """Measure, print, report."""
    known = [
        c.key for c in (*ours_in_cartpole(), *peers_in_cartpole(None), *ours_in_breakout(), *peers_in_breakout(None))
    ]
    options = arguments_of(known).parse_args()
    wrong = problem_with(options.json)
    if options.seeds < 1 or options.repeat < 0:
        wrong = "--seeds is at least 1, --repeat at least 0"
    elif options.peers is not None and not options.peers.is_dir():
        wrong = f"{options.peers} is no folder; make it: python3 benchmarks/peers/make_peers.py --peers DIR"
    if wrong is not None:
        print(f"train: {wrong}", file=sys.stderr)
        return 2
    peers = None if options.peers is None else options.peers.absolute()
    contenders: dict[str, list[Contender]] = {
        "cartpole": selected([*ours_in_cartpole(), *peers_in_cartpole(peers)], options.only),
        "breakout": selected([*ours_in_breakout(), *peers_in_breakout(peers)], options.only),
    }
    environments = options.env or ENVIRONMENTS
    seeds = list(range(options.first_seed, options.first_seed + options.seeds))
    quiet = Quiet(options.quiet_cores, options.wait, options.repeat)
    records: list[dict[str, Any]] = []
    machine = host.describe()
    peaks: list[float | None] = []
    help_seconds = None
    with until_interrupted() as interruption:
        peaks.append(multiply_add_peak(quiet))
        for name in environments:
            run_interleaved(contenders[name], seeds, quiet, to_standard_error, records)
        peaks.append(multiply_add_peak(quiet))
        help_seconds = None if options.only else slowest_help()
    peak = max((rate for rate in peaks if rate is not None), default=None)
    rows = {name: [Row(contender, records) for contender in contenders[name]] for name in environments}
    goals = goals_of(rows, help_seconds)
    report = {
        "benchmark": "train", "interrupted": interruption.status is not None,
        "machine": machine, "load_after": host.load_averages(), "multiply_add_peak_gflops": peak,
        "seeds": seeds, "quiet_cores": quiet.most_cores,
        "summary": [row.record() for name in environments for row in rows[name]],
        "goals": [goal.record() for goal in goals], "runs": records,
    }  # fmt: skip
    deliver(report, text_of(rows, goals, machine, peak), options.json)
    if interruption.status is not None:
        return interruption.status
    if not records:
        return 2
    ours = [row for name in environments for row in rows[name] if row.contender.ours and row.contender.missing is None]
    unsolved = [row for row in ours if row.contender.target is not None and row.solved < row.seeds]
    return 1 if unsolved or any(row.errors for row in ours) else 0


def multiply_add_peak(quiet: Quiet) -> float | None:
    """GFLOP/s of the cores that this process may use; None without a C compiler."""
    host.wait_until_quiet(quiet.most_cores, quiet.wait_seconds)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        try:
            return limits.fma_peak_gflops(Path(name), math.ceil(host.usable_cores()))
        except limits.NoLimit as problem:
            to_standard_error(f"the multiply-add peak was not measured: {problem}")
            return None


def text_of(rows: dict[str, list[Row]], goals: Sequence[Goal], machine: dict[str, Any], peak: float | None) -> str:
    """The tables as people read them."""
    parts = []
    for name, of_environment in rows.items():
        reference = next((row for row in of_environment if row.contender.key == REFERENCE[name] and row.chosen), None)
        if name == "cartpole":
            sustained = next((row for row in of_environment if row.contender.key == "engine-fast"), None)
            parts.append(solving_table(of_environment, reference))
            fastest = sustained if sustained is not None and sustained.chosen else reference
            parts.append(speed_table("CartPole, training", of_environment, fastest, peak))
        else:
            parts.append(breakout_table(of_environment))
            parts.append(speed_table("Breakout, training", of_environment, reference, peak))
        parts.append("\n".join(f"{row.contender.label}: {row.state}" for row in of_environment if row.state))
    parts.append(goals_table(goals))
    peak_text = f", {plain(peak)} GFLOP/s of multiply-adds" if peak else ""
    parts.append(f"Median (min-max). {host.one_line(machine)}{peak_text}.")
    return "\n\n".join(part for part in parts if part)


if __name__ == "__main__":
    sys.exit(main())

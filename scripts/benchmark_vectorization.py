#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Measures ways to step environments side by side on a synthetic load, and picks one for the plan."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from _skill.findings import Report
    from _skill.vectorization.benchmark import Options


def main(arguments: Sequence[str], report: Report) -> int:
    """Measures and prints a table, or one JSON report."""
    example = "python3 scripts/benchmark_vectorization.py --step-us 200 --seconds 20"
    parser = command_line.Parser("benchmark_vectorization.py", str(__doc__), example)
    parser.usage = "benchmark_vectorization.py [options]"
    parser.formatter_class = functools.partial(argparse.RawDescriptionHelpFormatter, max_help_position=32, width=118)
    add = parser.add_argument
    names = functools.partial(add, type=_names, default=[], metavar="A,B")
    counts = functools.partial(add, type=_counts, default=[], metavar="N,N")
    names("--backends", help="serial, threads, processes-pipes, processes-shared, async (all)")
    counts("--workers", help="worker counts (all usable cores, half, a quarter)")
    counts("--envs", help="environments in all (two counts that the workers share)")
    counts("--batch", help="async: environments of one policy call (half of all)")
    add("--oversubscribe", action="store_true", help="allow more workers than usable cores")
    add("--work", default="burn", choices=("burn", "native", "sleep"), help="Python, compiled code, or waiting (burn)")
    add("--step-us", type=float, default=100.0, metavar="US", help="mean cost of a step, microseconds (100)")
    add("--tail", default="constant", help="constant, lognormal:SIGMA or pareto:ALPHA (constant)")
    add("--reset-us", type=float, default=0.0, metavar="US", help="cost of a reset (0)")
    add("--observation-bytes", type=int, default=256, metavar="N", help="bytes of one observation (256)")
    add("--episode-steps", type=int, default=1000, metavar="N", help="steps of an episode (1000)")
    add("--policy-us", type=float, default=0.0, metavar="US", help="cost of one policy call in the parent (0)")
    add("--seed", type=int, default=1, metavar="N", help="root of all seeds (1)")
    add("--start-method", default="spawn", help="spawn or fork (spawn)")
    add("--seconds", type=float, default=20.0, metavar="S", help="budget of time (20)")
    add("--repeats", type=int, default=5, metavar="N", help="runs of each setting (5)")
    add("--timeout", type=float, default=10.0, metavar="S", help="longest wait for a worker (10)")
    add("--out", metavar="FILE", help="also write the report there; an existing file is never replaced")
    add("--inject", metavar="FAULT", help="self-test: KIND[:WORKER[:STEP]]; a wrong KIND lists all")
    options = parser.parse(arguments)
    from _skill.vectorization.interruption import Interrupted, Watch

    with Watch() as watch:
        # Signals are noted from here on; the rest takes a moment to import.
        from _skill.findings import OK, PROBLEM
        from _skill.vectorization import benchmark, output
        from _skill.vectorization.failure import WorkerFailure

        try:
            output.check(options.out)
            result = benchmark.run(_options(options), watch)
            output.write(options.out, result, report)
        except Interrupted as interrupted:
            return report.finish(interrupted.exit_status, "interrupted: all workers are stopped, nothing is reported")
        except WorkerFailure as failure:
            report.findings.append(failure.failed.finding())
            report.results["failure"] = failure.failed.as_json()
            report.say(*failure.failed.said)
            return report.finish(PROBLEM, "a worker failed: all others are stopped, no timing is reported")
    return report.finish(OK, f"picked {result['choice']['reasons'][0].partition(':')[0]}")


def _options(options: argparse.Namespace) -> Options:
    from _skill.vectorization import faults
    from _skill.vectorization.benchmark import Options
    from _skill.vectorization.load import Load

    load = Load(
        options.work,
        options.step_us,
        options.tail,
        options.reset_us,
        options.observation_bytes,
        options.episode_steps,
    )
    return Options(
        load=load,
        backends=options.backends,
        workers=options.workers,
        environments=options.envs,
        batches=options.batch,
        oversubscribe=options.oversubscribe,
        policy_us=options.policy_us,
        root=options.seed,
        start_method=options.start_method,
        seconds=options.seconds,
        repeats=options.repeats,
        timeout=options.timeout,
        fault=faults.parse(options.inject),
    )


def _names(words: str) -> list[str]:
    return list(dict.fromkeys(words.split(",")))


def _counts(words: str) -> list[int]:
    parts = words.split(",")
    if not all(part.isascii() and part.isdecimal() and len(part) < 8 for part in parts):
        raise argparse.ArgumentTypeError("whole numbers with commas between them, for example 1,2,4")
    return sorted({int(part) for part in parts})


if __name__ == "__main__":
    command_line.run("benchmark_vectorization", main)

#!/usr/bin/env python3
"""Feed every reader with changed inputs: none may crash, take more than a second, or more than 256 MB.

    .venv/bin/python benchmarks/reliability.py                          # 1,000,000 inputs a reader; an hour or so
    .venv/bin/python benchmarks/reliability.py --inputs 20000 --only plan --only pickle
    .venv/bin/python benchmarks/reliability.py --seed 2 --json report.json

Needs what the tests need (numpy, safetensors). Inputs are valid files after one to four changes (bits, cuts, splices,
fields at their edges), and for some readers a format's tokens in any order. The same seed makes the same inputs; one
that fails is kept and named.
Exit status: 0 clean, 1 a reader failed, 2 wrong use or a reader could not be tried, 130 or 143 interrupted.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _bench import host, readers
from _bench.report import deliver, problem_with, until_interrupted
from _bench.summary import number, plain, table

MOST_SECONDS = 1.0
MOST_BYTES = 256 << 20
HANGS_AFTER = 20.0
"""Seconds after which an input is given up as a hang."""
CHUNK = 25_000


class Hang(BaseException):
    """An input took too long; not an Exception, so that no reader can take it for its own."""


def give_up(*_: object) -> None:
    """SIGALRM: the input being read is a hang."""
    raise Hang


def try_chunk(name: str, seed: int, first: int, count: int, keep: str) -> dict[str, Any]:
    """Feeds one reader with inputs `first` to `first + count`; runs in a process of its own."""
    from _skill.findings import Refusal

    reader = next(reader for reader in readers.READERS if reader.name == name)
    seeds = list(reader.seeds())
    found: dict[str, Any] = {"inputs": 0, "refused": 0, "failures": [], "slowest_seconds": 0.0, "slowest_input": first}
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    signal.signal(signal.SIGALRM, give_up)
    with tempfile.TemporaryDirectory(dir=shared, prefix="reliability-") as folder:
        scratch = Path(folder) / "input"
        for data in seeds:
            reader.read(data, scratch)  # a valid input is read; imports happen before the clock starts
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        for index in range(first, first + count):
            choose = random.Random(f"{seed} {name} {index}")
            data = reader.make(choose, seeds)
            problem = ""
            signal.setitimer(signal.ITIMER_REAL, HANGS_AFTER)
            start = time.process_time()
            try:
                reader.read(data, scratch)
            except Refusal:
                found["refused"] += 1
            except Hang:
                problem = f"no answer after {HANGS_AFTER} s"
            except Exception as error:  # noqa: BLE001 - this is what is being looked for
                if type(error).__name__ not in reader.also_refuses:
                    problem = f"{type(error).__name__}: {str(error)[:200]}"
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            took = time.process_time() - start
            if took > found["slowest_seconds"]:
                found["slowest_seconds"], found["slowest_input"] = took, index
            if took > MOST_SECONDS and not problem:
                problem = f"took {took:.2f} s"
            if problem:
                kept = Path(keep) / f"{name.replace(' ', '_').replace(':', '')}-{seed}-{index}"
                kept.write_bytes(data)
                found["failures"].append({"input": index, "problem": problem, "kept": str(kept)})
            found["inputs"] += 1
        found["seconds"] = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024
    found["peak_bytes"], found["grown_bytes"] = peak * unit, (peak - before) * unit
    return found


def merged(name: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """All chunks of one reader as one row."""
    slowest = max(parts, key=lambda part: part["slowest_seconds"])
    failures = [failure for part in parts for failure in part["failures"]]
    seconds = sum(part["seconds"] for part in parts)
    inputs = sum(part["inputs"] for part in parts)
    peak = max(part["peak_bytes"] for part in parts)
    return {
        "reader": name,
        "inputs": inputs,
        "refused": sum(part["refused"] for part in parts),
        "failures": failures[:20],
        "failed": len(failures),
        "slowest_seconds": slowest["slowest_seconds"],
        "slowest_input": slowest["slowest_input"],
        "peak_bytes": peak,
        "grown_bytes": max(part["grown_bytes"] for part in parts),
        "inputs_per_second_and_core": inputs / seconds if seconds else None,
        "clean": not failures and peak <= MOST_BYTES,
    }


def text_of(rows: list[dict[str, Any]], errors: dict[str, str], machine: dict[str, Any]) -> str:
    """The table."""
    cells = [
        [row["reader"], f"{row['inputs']:,}", str(row["failed"]), plain(row["slowest_seconds"] * 1000),
         plain(row["peak_bytes"] / 1e6), number(row["inputs_per_second_and_core"]), "yes" if row["clean"] else "NO"]
        for row in rows
    ]  # fmt: skip
    head = ["reader", "inputs", "crashes and hangs", "slowest, ms", "peak memory, MB", "inputs/s a core", "clean"]
    lines = [table(head, cells)] if cells else []
    lines += [
        f"{row['reader']}: {failure['problem']} ({failure['kept']})" for row in rows for failure in row["failures"]
    ]
    lines += [f"{name}: not tried: {reason}" for name, reason in errors.items()]
    return "\n".join([*lines, "", host.one_line(machine)])


def main() -> int:
    """Try and report."""
    names = [reader.name for reader in readers.READERS]
    parser = argparse.ArgumentParser(
        description="Feed every reader with changed inputs.", epilog=f"Readers: {', '.join(names)}."
    )
    parser.add_argument("--inputs", type=int, default=1_000_000, help="inputs for each reader (default: 1000000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other inputs (default: 1)")
    parser.add_argument("--only", action="append", choices=names, metavar="READER", help="one reader; may be repeated")
    parser.add_argument("--processes", type=int, default=max(1, int(host.usable_cores())), help="default: all cores")
    parser.add_argument("--keep", type=Path, default=Path("build/reliability"), help="where failing inputs are kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there; - prints it instead")
    options = parser.parse_args()
    problem = problem_with(options.json)
    if problem or options.inputs < 1 or options.processes < 1:
        parser.error(problem or "inputs and processes are at least 1")
    options.keep.mkdir(parents=True, exist_ok=True)
    machine = host.describe()
    rows: list[dict[str, Any]] = []
    errors: dict[str, str] = {}
    with until_interrupted() as interruption:
        # A process for each chunk: its peak of memory is its own.
        context = multiprocessing.get_context("spawn")
        with context.Pool(
            options.processes, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN), maxtasksperchild=1
        ) as pool:
            for name in options.only or names:
                firsts = range(0, options.inputs, CHUNK)
                tasks = [
                    (name, options.seed, first, min(CHUNK, options.inputs - first), str(options.keep))
                    for first in firsts
                ]
                try:
                    rows.append(merged(name, pool.starmap(try_chunk, tasks, 1)))
                except Exception as error:  # noqa: BLE001 - the others are still tried
                    errors[name] = f"{type(error).__name__}: {str(error)[:300]}"
                print(f"{name}: {json.dumps(rows[-1] if name not in errors else errors[name])[:160]}", file=sys.stderr)
    # Several of these programs may share the folder, and the first to end removes it.
    if options.keep.is_dir() and not any(options.keep.iterdir()):
        shutil.rmtree(options.keep)
    report = {
        "benchmark": "reliability",
        "machine": machine,
        "seed": options.seed,
        "readers": rows,
        "not_tried": errors,
        "most_seconds": MOST_SECONDS,
        "most_bytes": MOST_BYTES,
        "interrupted": interruption.status is not None,
    }
    deliver(report, text_of(rows, errors, machine), options.json)
    if interruption.status is not None:
        return interruption.status
    if errors or not rows:
        return 2
    return 0 if all(row["clean"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

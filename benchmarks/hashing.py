#!/usr/bin/env python3
"""Measure hashing: one large file beside a bare hashlib loop, many files over threads, and memory on a sparse file.

    python3 benchmarks/hashing.py                       # 1 GiB file, 7 repetitions, a 10 GB sparse file
    python3 benchmarks/hashing.py --repetitions 3 --bytes 268435456 --sparse-bytes 1000000000
    python3 benchmarks/hashing.py --json report.json

Ours and the bare loop are interleaved, in one process and on the same file, which is in the page cache: this measures
the hashing, not the disk. Memory is the largest resident set of a whole `manifest.py digest` process.
Exit status: 0 measured, 1 a goal was missed, 2 wrong use or nothing could be measured, 130 or 143 interrupted.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _bench import host
from _bench.goals import Goal, goals_table
from _bench.report import deliver, problem_with, until_interrupted
from _bench.summary import plain, spread, table, with_spread

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / "scripts" / "manifest.py"
sys.path.insert(0, str(ROOT / "scripts"))

from _skill.manifests import file_digests, folder_walk  # noqa: E402

WANTED_SHARE = 0.90
WANTED_SCALING = 0.85
"""Of what bare threads gain that only hash a block of memory: other programs leave fewer cores than there are."""
WANTED_MEMORY = 64e6
LARGE_BYTES = 8 << 20
SMALL_BYTES = 2_000


def bare_loop(path: Path) -> str:
    """The fastest plain Python loop: one buffer of a MiB, unbuffered reads."""
    digest = hashlib.sha256()
    buffer = bytearray(1 << 20)
    view = memoryview(buffer)
    with open(path, "rb", buffering=0) as stream:
        while count := stream.readinto(buffer):
            digest.update(view[:count])
    return digest.hexdigest()


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def write_random(path: Path, size: int) -> None:
    """A file of random bytes; one random MiB is repeated, as hashing does not care."""
    block = os.urandom(min(size, 1 << 20))
    with open(path, "wb") as stream:
        for _ in range(size // len(block)):
            stream.write(block)


def one_file(folder: Path, size: int, repetitions: int) -> dict[str, Any]:
    """Speeds on one large file, in bytes a second, and the share of the bare loop's speed in each pair."""
    path = folder / "large"
    write_random(path, size)
    bare_digest, ours_digest = bare_loop(path), file_digests.of_file(str(path)).sha256
    if bare_digest != ours_digest:
        raise RuntimeError("the two disagree on the digest")
    size = path.stat().st_size
    bare, ours, shares = [], [], []
    for _ in range(repetitions):
        bare.append(size / seconds(lambda: bare_loop(path)))
        ours.append(size / seconds(lambda: file_digests.of_file(str(path))))
        shares.append(ours[-1] / bare[-1])
    path.unlink()
    return {"bytes": size, "bare": spread(bare), "ours": spread(ours), "share": spread(shares)}


def many_files(folder: Path, count: int, size: int, repetitions: int, most_threads: int) -> dict[str, Any]:
    """Files a second and bytes a second over threads."""
    root = folder / "many"
    for index in range(count):
        place = root / f"d{index % 100:02}"
        place.mkdir(parents=True, exist_ok=True)
        write_random(place / f"f{index}", size)
    rows: dict[int, Any] = {}
    threads = [number for number in (1, 2, 4, 8, 16) if number <= most_threads]
    times: dict[int, list[float]] = {number: [] for number in threads}
    bare: dict[int, list[float]] = {number: [] for number in threads}
    handle = folder_walk.open_root(str(root))
    try:

        def work(number: int) -> None:
            names = folder_walk.walk(handle).files
            sizes = file_digests.sizes(handle, names)
            found = file_digests.of_files(handle, [(name, size or 0) for name, size in sizes.items()], number)
            if len(found.files) != count:
                raise RuntimeError("not every file was read")

        work(1)
        for _ in range(repetitions):
            for number in threads:
                times[number].append(seconds(lambda number=number: work(number)))  # type: ignore[misc]
                bare[number].append(bare_threads(number) if number > 1 else 1.0)
    finally:
        os.close(handle)
    shutil.rmtree(root)
    for number in threads:
        rows[number] = {
            "files_per_second": spread(count / took for took in times[number]),
            "bytes_per_second": spread(count * size / took for took in times[number]),
            "times_one_thread": spread(one / took for one, took in zip(times[1], times[number], strict=True)),
            "bare_threads": spread(bare[number]),
        }
    return {"files": count, "bytes_each": size, "threads": rows}


def bare_threads(count: int) -> float:
    """How many times one thread's speed so many threads reach that only hash a block of memory."""
    block = os.urandom(1 << 20)

    def work() -> None:
        digest = hashlib.sha256()
        for _ in range(300):
            digest.update(block)

    def together(number: int) -> None:
        threads = [threading.Thread(target=work) for _ in range(number)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return count * seconds(lambda: together(1)) / seconds(lambda: together(count))


def sparse(folder: Path, size: int) -> dict[str, Any]:
    """Peak memory and speed of the whole tool on a sparse file."""
    path = folder / "sparse"
    with open(path, "wb") as stream:
        stream.truncate(size)
    start = time.perf_counter()
    child = os.posix_spawn(sys.executable, [sys.executable, str(TOOL), "digest", str(path), "--json"], dict(os.environ),
                           file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])  # fmt: skip
    _, status, usage = os.wait4(child, 0)
    took = time.perf_counter() - start
    path.unlink()
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError("manifest.py digest failed on the sparse file")
    resident = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {"bytes": size, "seconds": took, "bytes_per_second": size / took, "peak_resident_bytes": resident}


def text_of(results: dict[str, Any], goals: list[Goal], machine: dict[str, Any]) -> str:
    """The tables."""
    lines = []
    one = results.get("one_file")
    if one:
        rows = [[name, with_spread(one[key])] for key, name in (("bare", "a bare hashlib loop"), ("ours", "ours"))]
        rows.append(["ours / bare, pair by pair", with_spread(one["share"])])
        lines += [table([f"one file of {one['bytes'] >> 20} MiB", "bytes per second: median (min-max)"], rows), ""]
    for kind in ("large", "small"):
        many = results.get(f"many_{kind}")
        if many:
            rows = [
                [str(number), with_spread(row["files_per_second"]), with_spread(row["bytes_per_second"]),
                 with_spread(row["times_one_thread"]), with_spread(row["bare_threads"])]
                for number, row in many["threads"].items()
            ]  # fmt: skip
            head = [
                f"{many['files']} files of {many['bytes_each']} bytes, threads",
                "files/s",
                "bytes/s",
                "x 1 thread",
                "bare threads",
            ]
            lines += [table(head, rows), ""]
    big = results.get("sparse")
    if big:
        lines += [
            table(
                ["sparse file, whole tool", "seconds", "bytes/s", "peak memory, MB"],
                [[f"{big['bytes']} bytes", plain(big["seconds"]), plain(big["bytes_per_second"]),
                  plain(big["peak_resident_bytes"] / 1e6)]],
            ),
            "",
        ]  # fmt: skip
    return "\n".join([*lines, goals_table(goals), "", host.one_line(machine)])


def goals_of(results: dict[str, Any], cores: int) -> list[Goal]:
    """What was promised, and what was measured."""
    share = results.get("one_file", {}).get("share")
    goals = [Goal("share of the bare loop's speed", WANTED_SHARE, share.median if share else None)]
    rows = results.get("many_large", {}).get("threads", {})
    if cores > 1:
        most = rows[max(rows)] if rows else None
        scaling = most["times_one_thread"].median / most["bare_threads"].median if most else None
        goals.append(Goal("large files: speed-up beside bare threads", WANTED_SCALING, scaling))
    peak = results.get("sparse", {}).get("peak_resident_bytes")
    goals.append(Goal("peak memory on the sparse file", WANTED_MEMORY, peak, "bytes", at_most=True))
    return goals


def as_record(value: Any) -> Any:
    """Spreads as plain values, for the JSON report."""
    if isinstance(value, dict):
        return {str(key): as_record(inner) for key, inner in value.items()}
    return value.record() if hasattr(value, "record") else value


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="Measure hashing of files and folders.")
    parser.add_argument("--bytes", type=int, default=1 << 30, help="size of the one file (default: 1 GiB)")
    parser.add_argument("--sparse-bytes", type=int, default=10**10, help="size of the sparse file (default: 10 GB)")
    parser.add_argument("--large-files", type=int, default=64, help="files of 8 MiB (default: 64)")
    parser.add_argument("--small-files", type=int, default=20_000, help="files of 2,000 bytes (default: 20000)")
    parser.add_argument("--repetitions", type=int, default=7, help="of each measurement (default: 7)")
    parser.add_argument("--wait", type=float, default=20.0, help="seconds to wait for a quiet machine (default: 20)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there; - prints it instead")
    options = parser.parse_args()
    problem = problem_with(options.json)
    if (
        problem
        or min(options.repetitions, options.bytes, options.sparse_bytes, options.large_files, options.small_files) < 1
    ):
        parser.error(problem or "sizes, counts and repetitions are at least 1")
    machine = host.describe()
    cores = max(1, int(host.usable_cores()))
    quiet = host.wait_until_quiet(0.3, options.wait)
    results: dict[str, Any] = {}
    with until_interrupted() as interruption, tempfile.TemporaryDirectory(prefix="hashing-") as name:
        folder = Path(name)
        results["one_file"] = one_file(folder, options.bytes, options.repetitions)
        results["many_large"] = many_files(folder, options.large_files, LARGE_BYTES, options.repetitions, cores)
        results["many_small"] = many_files(folder, options.small_files, SMALL_BYTES, options.repetitions, cores)
        results["sparse"] = sparse(folder, options.sparse_bytes)
    goals = goals_of(results, cores)
    report = {"benchmark": "hashing", "machine": machine, "quiet_at_start": quiet, "load_after": host.load_averages(),
              "results": as_record(results), "goals": [goal.record() for goal in goals],
              "interrupted": interruption.status is not None}  # fmt: skip
    deliver(report, text_of(results, goals, machine), options.json)
    if interruption.status is not None:
        return interruption.status
    return 0 if all(goal.met is not False for goal in goals) else 1


if __name__ == "__main__":
    sys.exit(main())

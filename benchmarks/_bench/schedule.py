"""Order of a benchmark: interleaved, each run after a wait for a quiet machine, and again when it was disturbed.

Interleaved means A B C, A B C: whatever else changes on the machine meanwhile meets all of them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _bench import host
from _bench.contenders import Contender, Failed
from _bench.process import measure
from _bench.summary import is_clean


@dataclass(frozen=True)
class Quiet:
    """What counts as a quiet machine, how long to wait for one, and which disturbed runs are worth repeating."""

    most_cores: float = 0.15
    wait_seconds: float = 30.0
    repeats: int = 1
    repeat_under_seconds: float = 25.0


def run_once(contender: Contender, seed: int, quiet: Quiet) -> dict[str, Any]:
    """Run one contender once; a record for the report, with ``error`` when it gave no result."""
    record: dict[str, Any] = {"contender": contender.key, "ours": contender.ours, "environment": contender.environment}
    record |= {"seed": seed, "waited_until_quiet": host.wait_until_quiet(quiet.most_cores, quiet.wait_seconds)}
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        folder = Path(name)
        try:
            measured = measure(
                contender.command(seed, folder),
                environment=contender.environment_variables(),
                folder=folder,
                limit=contender.limit_seconds,
            )
            record |= measured.record()
            record |= {"result": contender.read(measured, folder)}
        except (Failed, OSError) as error:
            record["error"] = str(error)
    inside = record.get("result", {}).get("seconds_inside") or {}
    # The sources of our engine changed since the run before: its build took part of this one's time.
    record["engine_built"] = bool(inside.get("build"))
    record["clean"] = "error" not in record and not record["engine_built"] and is_clean(record, contender.spare_cores)
    return record


def run_interleaved(
    contenders: Sequence[Contender],
    seeds: Sequence[int],
    quiet: Quiet,
    say: Callable[[str], None],
    records: list[dict[str, Any]],
) -> None:
    """All contenders with every seed; each run is added to `records` as it ends, so that an interruption loses none.

    Ours run once more beforehand, unmeasured, so that their engine is built.
    """
    present = [contender for contender in contenders if contender.missing is None]
    for contender in present:
        if contender.ours:
            say(f"{contender.label}: once, unmeasured, so that the engine is built")
            run_once(contender, seeds[0], Quiet(wait_seconds=0))
    for turn, seed in enumerate(seeds, start=1):
        for contender in present:
            for attempt in range(1 + max(1, quiet.repeats)):
                record = run_once(contender, seed, quiet) | {"attempt": attempt}
                records.append(record)
                say(f"{turn} of {len(seeds)}, {contender.label}: {outcome(record)}")
                short = record.get("process_seconds", quiet.repeat_under_seconds) < quiet.repeat_under_seconds
                again = record["engine_built"] or (not record["clean"] and short and attempt < quiet.repeats)
                if "error" in record or not again:
                    break


def outcome(record: dict[str, Any]) -> str:
    """One run in a line."""
    if "error" in record:
        return f"failed: {record['error']}"
    if record["engine_built"]:
        return f"{record['process_seconds']:.1f} s, in which the engine was built anew"
    others = record["other_cores"]
    busy = "" if record["clean"] else f", disturbed ({others:.2f} other cores busy)" if others is not None else ""
    return f"{record['process_seconds']:.1f} s{busy}"


def best_of_each_seed(records: Sequence[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """For each seed of a contender the run that gave a result and was disturbed least."""

    def order(record: dict[str, Any]) -> tuple[bool, float]:
        return record.get("engine_built", False), record["other_cores"] or 0.0

    best: dict[int, dict[str, Any]] = {}
    for record in records:
        if record["contender"] == key and "error" not in record:
            seed = record["seed"]
            best[seed] = min(best.get(seed, record), record, key=order)
    return [best[seed] for seed in sorted(best)]


def to_standard_error(text: str) -> None:
    """Progress, which is not part of the result."""
    print(text, file=sys.stderr, flush=True)

"""Workers: shared evenly, no more than cores, whole blocks, started by a method that is said."""

from __future__ import annotations

from collections.abc import Iterator

from ... import text
from ...findings import Finding
from .. import loggers
from . import Case
from .batch import divisors


def findings(case: Case) -> Iterator[Finding]:
    """What is wrong with the vectorization section."""
    yield from _counts(case)
    yield from _cores(case)
    yield from _start_method(case)


def _counts(case: Case) -> Iterator[Finding]:
    section = case.plan.vectorization
    backend, workers, envs = section["backend"], section["num_workers"], case.plan.train["num_envs"]
    place = "/vectorization/num_workers"
    if workers == 0 and not case.profile.supports.auto_workers:
        near = max(count for count in divisors(envs) if count <= max(1, case.machine.cores))
        yield Finding(
            "vector.workers_open",
            f"profile {case.profile.name} takes the number of workers as it is written",
            place,
            "0",
            "at least 1, so that the plan means the same on every machine",
            f"num_workers {1 if backend == 'serial' else near}",
        )
        return
    if backend == "serial" and workers > 1:
        yield Finding("vector.serial", "the serial backend has one worker", place, str(workers), "1", "num_workers 1")
        return
    if backend not in case.profile.supports.even_workers or not workers:
        return
    if envs % workers:
        fewer = max((count for count in divisors(envs) if count < workers), default=1)
        more = min((count for count in divisors(envs) if count > workers), default=None)
        below, above = envs // workers * workers, (envs // workers + 1) * workers
        options = [f"num_workers {fewer}"] + ([f"num_workers {more}"] if more else [])
        options += [f"train.num_envs {count}" for count in (below, above) if count]
        yield Finding(
            "vector.workers_divide",
            "the environments cannot be shared evenly among the workers",
            place,
            f"{envs} environments, {workers} workers",
            f"a divisor of {envs}",
            "the nearest valid: " + ", or ".join(options),
        )
        return
    yield from _blocks(case, envs, envs // workers)


def _blocks(case: Case, envs: int, each: int) -> Iterator[Finding]:
    """The environments of one policy call: whole workers, and for zero copy whole blocks."""
    section = case.plan.vectorization
    block = section.get("envs_per_batch")
    if block is None:
        return
    place = "/vectorization/envs_per_batch"
    zero_copy = section.get("zero_copy", False)
    valid = [count for count in range(each, envs + 1, each) if not zero_copy or envs % count == 0]
    below = max((count for count in valid if count < block), default=None)
    above = min((count for count in valid if count > block), default=None)
    fix = "the nearest valid: " + ", or ".join(f"envs_per_batch {count}" for count in (below, above) if count)
    if block > envs:
        yield Finding(
            "vector.block_exceeds",
            "one policy call waits for more environments than there are",
            place,
            str(block),
            f"at most {envs}",
            fix,
        )
    elif block % each:
        yield Finding(
            "vector.block_workers",
            "one policy call must take all environments of a worker",
            place,
            str(block),
            f"a multiple of the {each} environments of each worker: {_shown(valid)}",
            fix,
        )
    elif zero_copy and envs % block:
        yield Finding(
            "vector.block_zero_copy",
            "without copying, the environments must be whole blocks",
            place,
            f"{block}; {envs} is not a multiple of it",
            f"a divisor of {envs} that is a multiple of {each}: {_shown(valid)}",
            f"{fix}, or zero_copy false",
        )


def _shown(values: list[int]) -> str:
    return ", ".join(map(str, values[:12])) + (f" and {len(values) - 12} more" if len(values) > 12 else "")


def _cores(case: Case) -> Iterator[Finding]:
    section, cores = case.plan.vectorization, case.machine.cores
    place = "/vectorization/num_workers"
    ranks = case.plan.document.get("distributed", {})
    here = -(-ranks.get("world_size", 1) // ranks.get("nodes", 1))
    workers = section["num_workers"] * here
    if section["backend"] != "serial" and workers > cores:
        fits = max(1, cores // here)
        if section["backend"] in case.profile.supports.even_workers:
            fits = max(count for count in divisors(case.plan.train["num_envs"]) if count <= fits)
        options = [f"num_workers {fits}"]
        if "oversubscribe" in case.profile.vectorization_defaults:
            options.append("oversubscribe true, if slower steps are acceptable")
        allowed = section.get("oversubscribe", False)
        yield Finding(
            "workers.cores",
            "more workers than cores that this process may use",
            place,
            str(section["num_workers"]) + (f" for each of {here} ranks" if here > 1 else ""),
            f"at most {cores}" + (", or 0 for all of them" if case.profile.supports.auto_workers else ""),
            "the plan allows it" if allowed else ", or ".join(options),
            severity="warning" if allowed else "error",
        )
    elif case.numbers.tiles is not None and section["num_workers"] > case.numbers.tiles:
        yield Finding(
            "workers.tiles",
            "some workers would have no tile to run",
            place,
            str(section["num_workers"]),
            f"at most {case.numbers.tiles} tiles of {case.numbers.envs_per_tile} environments",
            f"num_workers {case.numbers.tiles}",
            severity="warning",
        )


def _start_method(case: Case) -> Iterator[Finding]:
    section = case.plan.vectorization
    if "start_method" not in case.profile.vectorization_defaults or "start_method" not in section:
        return
    method, place = section["start_method"], "/vectorization/start_method"
    if section["backend"] != "processes":
        if method is not None:
            yield Finding(
                "vector.start_method_unneeded",
                f"the {section['backend']} backend starts no processes",
                place,
                text.shown(method),
                "null",
                "write null",
            )
        return
    if method is None:
        yield Finding(
            "vector.start_method",
            "how worker processes are started is not said; the interpreter's default differs between versions",
            place,
            "null",
            "spawn, forkserver or fork",
            'write "spawn": it is the same everywhere',
        )
    elif method == "fork":
        why = [f"the logger {kind} runs a thread" for kind in loggers.with_threads(case.plan.loggers)]
        if case.plan.device != "cpu":
            why.append(f"the device {case.plan.device} has threads of its driver")
        if case.plan.document.get("compile"):
            why.append("compile starts threads")
        if case.plan.document.get("distributed", {}).get("world_size", 1) > 1:
            why.append("ranks exchange gradients in threads")
        if why:
            yield Finding(
                "vector.fork_threads",
                "a fork copies locks that other threads hold, and a worker can wait for one forever",
                place,
                f'"fork", while {"; ".join(why)}',
                "spawn or forkserver",
                'write "forkserver" or "spawn"',
            )

"""The whole benchmark: from options to one `benchmark/1` document, or to the refusal that says why there is none."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .. import machine, text
from ..findings import COULD_NOT, Finding, Refusal
from . import backends, candidates, faults, load, making, report, seeds, shared_region, start_method, sweep, work
from .backends import Backend
from .choice import choose
from .faults import Fault
from .interruption import Watch
from .job import Job
from .load import Load
from .setting import MOST_ENVIRONMENTS, MOST_WORKERS, Setting

SPIN_US = 50.0
"""How long a flag is watched at most before its watcher sleeps; who spins in vain spins shorter."""
MOST_SETTINGS = 200
MOST_SECONDS = 3600.0


class Options(NamedTuple):
    """What the command line says; empty lists mean "as fits this machine"."""

    load: Load
    backends: list[str]
    workers: list[int]
    environments: list[int]
    batches: list[int]
    oversubscribe: bool
    policy_us: float
    root: int
    start_method: str
    seconds: float
    repeats: int
    timeout: float
    fault: Fault


def run(options: Options, watch: Watch) -> dict[str, Any]:
    """Measures and chooses; Refusal, WorkerFailure or Interrupted where there is no result."""
    _check(options)
    chosen = _backends(options)
    here = machine.measure(programs=False)
    workers = options.workers or candidates.default_workers(here.cores)
    environments = options.environments or candidates.default_environments(workers)
    found = candidates.make(chosen, workers, environments, options.batches, here.cores, options.oversubscribe)
    settings = [each for each in found.settings if not options.fault.kind or each.backend in chosen]
    _check_size(settings, chosen, options.load, here.memory_bytes)
    rate = work.rate(options.load.work)
    units = [round(cost * rate) for cost in load.step_costs(options.load)]
    policy_units = round(options.policy_us * work.rate("burn"))

    def job_of(setting: Setting, repeat: int) -> Job:
        return Job(
            setting=setting,
            load=options.load,
            units=units,
            reset_units=round(options.load.reset_us * rate),
            root=options.root,
            repeat=repeat,
            seeds=seeds_of(options.root, setting),
            spin_us=SPIN_US,
            timeout=options.timeout,
            start_method=options.start_method,
            fault=making.faulty_worker(options.fault, setting.workers),
        )

    every = backends.every()
    with _OtherThread(options.fault.kind == "thread"):
        watch.check()
        result = sweep.run(settings, every, job_of, policy_units, options.seconds, options.repeats, watch)
    watch.check()
    if options.fault.kind:
        raise _unseen(options.fault)
    choice = choose(result.measured, every, options.start_method, options.oversubscribe)
    return report.document(
        options._asdict(), here, rate, found, result, choice, seeds_of(options.root, choice.picked.setting)
    )


def seeds_of(root: int, setting: Setting) -> list[int]:
    """(N,) the seeds of all environments, by place; all different, or the run is refused."""
    every = [seeds.derive(root, index // setting.per_worker, index) for index in range(setting.environments)]
    if len(set(every)) < len(every):
        raise Refusal(Finding("vectorization.seeds", "two seeds are equal", "--seed", str(root), fix="another --seed"))
    return every


class _OtherThread:
    """A second thread of the parent, for the fault of that name."""

    def __init__(self, wanted: bool) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._over.wait, args=(600.0,), daemon=True) if wanted else None

    def __enter__(self) -> None:
        if self._thread:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread:
            self._thread.join(5.0)


def _backends(options: Options) -> dict[str, Backend]:
    """The backends that were asked for, in order."""
    every = backends.every()
    names = options.backends or (["processes-shared"] if options.fault.kind else list(every))
    for name in names:
        if name not in every:
            near = text.nearest(name, every)
            raise Refusal(
                Finding(
                    "use.wrong",
                    f"unknown backend {text.shown(name)}",
                    "--backends",
                    want=text.listed(every),
                    fix=f"did you mean {near}?" if near else "",
                ),
                exit_status=COULD_NOT,
            )
        if options.fault.kind and not every[name].PROCESSES and options.fault.kind not in faults.IN_ONE_PROCESS:
            raise Refusal(
                Finding(
                    "use.wrong",
                    f"the fault {options.fault.kind} would end this process: {name} has no processes of its own",
                    "--inject",
                    name,
                    text.listed(other for other, backend in every.items() if backend.PROCESSES),
                    "--backends processes-shared",
                ),
                exit_status=COULD_NOT,
            )
    return {name: backend for name, backend in every.items() if name in names}


def _check(options: Options) -> None:
    """Refuses counts and times out of bounds (exit 2)."""
    load.check(options.load)

    def within(name: str, values: Sequence[float], least: float, most: float) -> list[Finding]:
        bad = [value for value in values if not least <= value <= most]
        want = f"{least} to {most}"
        return [Finding("use.wrong", f"{name} is out of range", name, str(bad[0]), want)] if bad else []

    problems = [
        *within("--workers", options.workers, 1, MOST_WORKERS),
        *within("--envs", options.environments, 1, MOST_ENVIRONMENTS),
        *within("--batch", options.batches, 1, MOST_ENVIRONMENTS),
        *within("--seconds", [options.seconds], 0.1, MOST_SECONDS),
        *within("--repeats", [options.repeats], 1, 100),
        *within("--timeout", [options.timeout], 0.1, MOST_SECONDS),
        *within("--policy-us", [options.policy_us], 0, 1e6),
        *within("--seed", [options.root], 0, 2**53 - 1),
    ]
    if options.start_method not in start_method.METHODS:
        problems.append(
            Finding(
                "use.wrong",
                "no such start method here",
                "--start-method",
                text.shown(options.start_method),
                text.listed(start_method.METHODS),
                "spawn; a forkserver differs from it only while workers start",
            )
        )
    if problems:
        raise Refusal(*problems, exit_status=COULD_NOT)


def _check_size(settings: list[Setting], chosen: Mapping[str, Backend], what: Load, memory: int | None) -> None:
    """Refuses before any worker starts what cannot fit (exit 1), and a sweep that nobody would wait for."""
    if len(settings) > MOST_SETTINGS:
        raise Refusal(
            Finding(
                "use.wrong",
                "too many settings for one sweep",
                got=str(len(settings)),
                want=f"at most {MOST_SETTINGS}",
                fix="fewer --workers, --envs or --batch",
            ),
            exit_status=COULD_NOT,
        )
    for setting in settings:
        # Rows in shared memory, and once more in the parent where a batch is copied.
        needed = 2 * shared_region.size_of(setting.workers, setting.environments, what.observation_bytes)
        if memory is not None and needed > memory // 2:
            raise Refusal(
                Finding(
                    "vectorization.memory",
                    "the observations of all environments do not fit",
                    str(setting),
                    f"{needed} bytes ({text.byte_count(needed)})",
                    f"at most half of the {memory} bytes that this process may use ({text.byte_count(memory)}); "
                    "the size of /dev/shm does not count, as the memory has no name there",
                    "fewer --envs, smaller --observation-bytes, or a higher memory limit of the container",
                )
            )


def _unseen(fault: Fault) -> Refusal:
    return Refusal(
        Finding(
            "vectorization.fault_unseen",
            "the ordered fault did not show: nothing is reported",
            "--inject",
            ":".join(map(str, fault)),
            "a fault that fits the backend and the start method, at a step that is reached",
            "thread needs --start-method fork; lambda needs spawn; a late step needs more --seconds",
        )
    )

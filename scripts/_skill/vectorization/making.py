"""Makes the environments of one worker, in whatever process or thread that worker is."""

from __future__ import annotations

from random import Random

from . import work
from .faults import IN_A_STEP, Fault
from .faulty_environment import FaultyEnvironment
from .job import Job
from .synthetic_environment import SyntheticEnvironment

# A generator that is global to the process, as numpy's legacy one: made at import, and copied by fork. (The one of
# the module `random` would not do: Python seeds it anew in every forked child.)
_GLOBAL = Random()


def environments(job: Job, worker: int) -> list[SyntheticEnvironment]:
    """The environments of a worker, each with its own generator and its own order of costs."""
    perform = work.performer(job.load.work)
    made: list[SyntheticEnvironment] = []
    for index in job.environments_of(worker):
        units = list(job.units)
        # By root, round and place alone: the same costs in every setting, whoever steps them.
        Random(f"{job.root}:{job.repeat}:{index}").shuffle(units)
        arguments = (perform, units, job.reset_units, job.load.observation_bytes, job.load.episode_steps)
        generator = _generator(job, worker, index)
        fails = job.fault.kind in IN_A_STEP and job.fault.worker == worker and index == job.environments_of(worker)[0]
        if fails:
            made.append(FaultyEnvironment(*arguments, generator, job.fault))
        else:
            made.append(SyntheticEnvironment(*arguments, generator))
    return made


def _generator(job: Job, worker: int, index: int) -> Random:
    kind = job.fault.kind
    if kind == "seeds-global":
        return _GLOBAL
    if kind == "seeds-same":
        return Random(job.seeds[0])
    if kind == "seeds-worker":
        return Random(job.seeds[job.environments_of(worker)[0]])
    return Random(job.seeds[index])


def faulty_worker(fault: Fault, workers: int) -> Fault:
    """The fault, moved to the last worker where there are fewer than it names."""
    return fault._replace(worker=min(fault.worker, workers - 1))

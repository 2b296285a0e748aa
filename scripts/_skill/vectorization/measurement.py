"""One run of one setting: start, check of the seeds, warm-up, a timed stretch, and the end of all workers."""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from typing import NamedTuple

from ..findings import Refusal
from . import seeds, spread, work
from .backends import Backend, Batch, Pool
from .failure import Failed, WorkerFailure
from .interruption import Watch
from .job import Job
from .load import HEADER_BYTES

FEWEST_BATCHES = 3
"""A run has at least so many batches, however short its time."""
_MOST_LATENCIES = 1 << 18
_ACTION = 1


class Run(NamedTuple):
    """What one timed stretch gave."""

    steps_per_second: float
    """Steps of environments, summed over all."""
    steps: int
    seconds: float
    start_seconds: float
    """From the first process to the first observations."""
    latency_us: tuple[float, float, float, float]
    """Of one batch, from the policy call to the next observations: median, 90 %, 99 %, largest; microseconds."""
    least_steps: int
    """Steps of the environment that stepped least; all the same but for surplus environments."""
    most_steps: int
    longest_gap: int
    """Batches between two turns of one environment, at most; 1 where every batch has all."""


class _Driver:
    """Steps a pool batch by batch and looks at every observation, as a policy would."""

    def __init__(self, pool: Pool, job: Job, policy_units: int) -> None:
        self._pool = pool
        self._job = job
        self._policy = work.performer("burn")
        self._policy_units = policy_units
        count = job.setting.environments
        self.first: list[bytes | None] = [None] * count
        """(N,) the first observation of each environment."""
        self.counts = [0] * count
        """(N,) steps that each environment should have done."""
        self._seen_in = [0] * count
        self._batches = 0
        self.longest_gap = 0
        self._rows: Sequence[memoryview] | None = None
        self._heads: list[memoryview] = []
        self.batch = self._received(pool.receive())

    def next(self) -> int:
        """One policy call and one batch; returns its number of steps."""
        if self._policy_units:
            self._policy(self._policy_units)
        counts = self.counts
        for index in self.batch.environments:
            counts[index] += 1
        self._pool.send(self.batch, _ACTION)
        self.batch = self._received(self._pool.receive())
        return len(self.batch.environments)

    def forget_gaps(self) -> None:
        """Starts counting turns anew."""
        self.longest_gap = 0
        self._batches = 0
        self._seen_in = [0] * len(self.counts)

    def _received(self, batch: Batch) -> Batch:
        if batch.rows is not self._rows:
            self._rows = batch.rows
            self._heads = [row[:HEADER_BYTES].cast("Q") for row in batch.rows]
        counts, seen, first = self.counts, self._seen_in, self.first
        self._batches += 1
        for index, head in zip(batch.environments, self._heads, strict=True):
            if head[1] != counts[index]:
                self._stale(index, head[1])
            gap = self._batches - seen[index]
            if gap > self.longest_gap:
                self.longest_gap = gap
            seen[index] = self._batches
            if first[index] is None:
                first[index] = bytes(head)
        return batch

    def _stale(self, index: int, got: int) -> None:
        due = self.counts[index]
        worker = index // self._job.setting.per_worker
        raise WorkerFailure(Failed("stale", worker, index, due, f"the observation of step {got}", []))


def run(
    backend: Backend, job: Job, policy_units: int, seconds: float, watch: Watch, earlier: list[bytes] | None
) -> tuple[Run, list[bytes]]:
    """One run, and the first observation of each environment, which `earlier` runs of the same setting must share.

    Raises WorkerFailure, Interrupted, or Refusal where environments drew the same numbers; nothing is left running.
    """
    pool = backend.open_pool(job, watch)
    try:
        started = time.perf_counter()
        pool.start()
        driver = _Driver(pool, job, policy_units)
        start_seconds = time.perf_counter() - started
        _warm_up(driver, seconds * 0.2)
        first = [observation for observation in driver.first if observation is not None]
        findings = seeds.findings(first, job.setting.workers, earlier)
        if findings:
            raise Refusal(*findings)
        result = _timed(driver, seconds, start_seconds)
        pool.settle()
        return result, first
    finally:
        pool.close()


def _warm_up(driver: _Driver, seconds: float) -> None:
    """Goes on until the time is over and every environment has had a turn."""
    until = time.perf_counter() + seconds
    batches = 0
    while batches < 1 or time.perf_counter() < until or None in driver.first:
        driver.next()
        batches += 1


def _timed(driver: _Driver, seconds: float, start_seconds: float) -> Run:
    clock = time.perf_counter
    driver.forget_gaps()
    before = list(driver.counts)
    latencies = array("d")
    steps = batches = 0
    begin = last = clock()
    until = begin + seconds
    while True:
        steps += driver.next()
        batches += 1
        now = clock()
        if len(latencies) < _MOST_LATENCIES:
            latencies.append(now - last)
        last = now
        if now >= until and batches >= FEWEST_BATCHES:
            break
    ordered = sorted(latencies)
    p50, p90, p99 = (spread.percentile(ordered, share) * 1e6 for share in (0.5, 0.9, 0.99))
    done = [after - count for after, count in zip(driver.counts, before, strict=True)]
    return Run(
        steps_per_second=steps / (last - begin),
        steps=steps,
        seconds=last - begin,
        start_seconds=start_seconds,
        latency_us=(p50, p90, p99, ordered[-1] * 1e6),
        least_steps=min(done),
        most_steps=max(done),
        longest_gap=driver.longest_gap,
    )

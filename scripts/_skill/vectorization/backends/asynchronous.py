"""Shared memory with surplus environments: a batch is the first that are ready, so that slow ones hold up nobody."""

from __future__ import annotations

import time
from collections import deque

from ..interruption import Watch
from ..job import Job
from ..shared_region import ANY, DONE, PARENT_WAITS_FOR, fence, word
from . import Batch
from .processes_shared import SharedPool

NAME = "async"
SUMMARY = "as processes-shared, with more environments than a batch: the first that are ready"
RANK = 4
PROCESSES = True
SHARED = True
SURPLUS = True
PLAN = "processes"


class AsynchronousPool(SharedPool):
    """Ready workers queue in the order in which they were seen ready; a batch is copied into one block of rows."""

    def __init__(self, job: Job, watch: Watch) -> None:
        super().__init__(job, watch)
        setting, size = job.setting, job.load.observation_bytes
        self._per_batch = setting.batch // setting.per_worker
        self._ready: deque[int] = deque()
        self._busy = list(range(setting.workers))
        """Workers with an outstanding request, the longest waiting first."""
        block = memoryview(bytearray(setting.batch * size))
        self._copies = [block[i * size : (i + 1) * size] for i in range(setting.batch)]
        self._taken: list[int] = []

    def receive(self) -> Batch:
        """Waits until enough workers are ready and takes the first ones."""
        self._pool.look()
        self._collect()
        if len(self._ready) < self._per_batch:
            self._await_batch()
        self._taken = [self._ready.popleft() for _ in range(self._per_batch)]
        indices = [index for worker in self._taken for index in self._job.environments_of(worker)]
        for place, index in enumerate(indices):
            self._copies[place][:] = self._rows[index]
        return Batch(indices, self._copies)

    def send(self, batch: Batch, action: int) -> None:
        """Lets the workers of the batch go on."""
        actions = self._pool.region.actions
        for index in batch.environments:
            actions[index] = action
        self._busy.extend(self._taken)
        self._ask(self._taken)

    def settle(self) -> None:
        """Waits for the workers that were not needed for the last batch; one that hangs is found here at the latest."""
        while self._busy:
            self._await_any()

    def _await_batch(self) -> None:
        """Looks at all flags for a while, then sleeps, until there are enough workers for a batch."""
        clock = time.perf_counter_ns
        until = clock() + self._patience.nanoseconds
        while len(self._ready) < self._per_batch and clock() < until:
            self._collect()
        self._patience.paid(len(self._ready) >= self._per_batch)
        while len(self._ready) < self._per_batch:
            self._await_any()

    def _await_any(self) -> None:
        """Sleeps until some worker is done, unless one is already."""
        words = self._words
        words[PARENT_WAITS_FOR] = ANY
        fence()
        if not self._collect():
            self._pool.wait()
        words[PARENT_WAITS_FOR] = 0
        self._collect()

    def _collect(self) -> bool:
        """Moves workers that are done to the queue; whether there was one."""
        words, numbers = self._words, self._numbers
        found = [worker for worker in self._busy if words[word(worker, DONE)] >= numbers[worker]]
        if found:
            fence()
            for worker in found:
                self._busy.remove(worker)
                self._pool.answered(worker)
            self._ready.extend(found)
        return bool(found)


def open_pool(job: Job, watch: Watch) -> AsynchronousPool:
    """The environments of a job."""
    return AsynchronousPool(job, watch)

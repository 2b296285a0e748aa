"""Processes that write observations into shared memory and are woken by flags: the plan's `processes`."""

from __future__ import annotations

from .. import flag_wait
from ..interruption import Watch
from ..job import Job
from ..shared_region import ASLEEP, DONE, PARENT_WAITS_FOR, REQUEST, fence, word
from ..worker_pool import WorkerPool
from . import Batch

NAME = "processes-shared"
SUMMARY = "processes, observations in shared memory, woken by flags"
RANK = 3
PROCESSES = True
SHARED = True
SURPLUS = False
PLAN = "processes"


class SharedPool:
    """One request word and one done word for each worker; observations are read where they were written."""

    def __init__(self, job: Job, watch: Watch) -> None:
        self._pool = WorkerPool(job, watch, pipes=False)
        self._job = job
        self._numbers = [0] * job.setting.workers
        """(W,) the number of the last request to each worker."""
        self._patience = flag_wait.Patience(job.spin_us)

    def start(self) -> None:
        """Starts the workers and asks each for a reset."""
        self._pool.open()
        self._words = self._pool.region.words
        self._rows = self._pool.region.rows
        self._batch = Batch(range(self._job.setting.environments), self._rows)
        self._ask(range(self._job.setting.workers))

    def receive(self) -> Batch:
        """Waits for all workers, one after the other: when the slowest rings, the others are done."""
        self._pool.look()
        for worker, number in enumerate(self._numbers):
            self._wait_for(worker, number)
        fence()
        return self._batch

    def send(self, batch: Batch, action: int) -> None:
        """Writes the actions and raises every worker's flag."""
        actions = self._pool.region.actions
        for index in batch.environments:
            actions[index] = action
        self._ask(range(self._job.setting.workers))

    def settle(self) -> None:
        """Every batch has all environments: nothing is outstanding."""

    def close(self) -> None:
        """Ends the workers."""
        self._pool.close()

    def _ask(self, workers: range | list[int]) -> None:
        words = self._words
        self._pool.asked(workers)
        # Actions before flags, flags before the look at who sleeps.
        fence()
        for worker in workers:
            self._numbers[worker] += 1
            words[word(worker, REQUEST)] = self._numbers[worker]
        fence()
        for worker in workers:
            if words[word(worker, ASLEEP)]:
                flag_wait.ring(self._pool.workers[worker].bell)

    def _wait_for(self, worker: int, number: int) -> None:
        words, done = self._words, word(worker, DONE)
        if not self._patience.spin(words, done, number):
            while words[done] < number:
                words[PARENT_WAITS_FOR] = worker + 1
                fence()
                if words[done] < number:
                    self._pool.wait()
                words[PARENT_WAITS_FOR] = 0
        self._pool.answered(worker)


def open_pool(job: Job, watch: Watch) -> SharedPool:
    """The environments of a job."""
    return SharedPool(job, watch)

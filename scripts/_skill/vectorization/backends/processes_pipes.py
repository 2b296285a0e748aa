"""Processes that get actions and send observations through pipes: what most vectorizers do, without their pickles."""

from __future__ import annotations

import os
import select
import struct
import time

from .. import flag_wait, pipe_message
from ..failure import Failed, WorkerFailure
from ..interruption import Watch
from ..job import Job
from ..worker_pool import WorkerPool
from . import Batch

NAME = "processes-pipes"
SUMMARY = "processes, actions and observations through pipes; for comparison, no plan can choose it"
RANK = 2
PROCESSES = True
SHARED = False
SURPLUS = False
PLAN = ""


class PipePool:
    """One request and one answer of known length for each worker and step."""

    def __init__(self, job: Job, watch: Watch) -> None:
        setting = job.setting
        self._pool = WorkerPool(job, watch, pipes=True)
        self._job = job
        self._replies = [
            pipe_message.Reply(setting.per_worker, job.load.observation_bytes) for _ in range(setting.workers)
        ]
        rows = [row for reply in self._replies for row in reply.rows]
        self._batch = Batch(range(setting.environments), rows)
        self._actions = struct.Struct(f"={setting.per_worker}q")

    def start(self) -> None:
        """Starts the workers and asks each for a reset."""
        self._pool.open()
        self._poller = select.poll()
        for worker in self._pool.workers:
            os.set_blocking(worker.replies, False)
        self.send(self._batch, 0)

    def receive(self) -> Batch:
        """Reads every worker's answer; whoever answers first is read first."""
        pool = self._pool
        pool.look()
        rest = {worker.replies: (number, self._replies[number].data) for number, worker in enumerate(pool.workers)}
        for handle in rest:
            self._poller.register(handle, select.POLLIN)
        while rest:
            events = self._poller.poll(flag_wait.SLEEP_MS)
            if not events:
                pool.look(at_once=True)
            for handle, _ in events:
                number, data = rest[handle]
                count = os.readv(handle, [data])
                if count == 0:
                    self._lost(number)
                if count < len(data):
                    rest[handle] = (number, data[count:])
                    continue
                del rest[handle]
                self._poller.unregister(handle)
                pool.answered(number)
        return self._batch

    def send(self, batch: Batch, action: int) -> None:
        """Sends every worker the actions of its environments."""
        pool = self._pool
        data = memoryview(self._actions.pack(*[action] * self._job.setting.per_worker))
        pool.asked(range(len(pool.workers)))
        for number, worker in enumerate(pool.workers):
            # A worker has one request at a time, far smaller than a pipe: this never waits.
            if not pipe_message.write(worker.bell, data):
                self._lost(number)

    def settle(self) -> None:
        """Every batch has all environments: nothing is outstanding."""

    def close(self) -> None:
        """Ends the workers."""
        self._pool.close()

    def _lost(self, number: int) -> None:
        """A worker's pipe has ended: its exit status says why."""
        worker = self._pool.workers[number]
        if worker.wait(time.monotonic() + 1.0):
            self._pool.look(at_once=True)
        raise WorkerFailure(Failed("hung", number, -1, -1, "1", []))


def open_pool(job: Job, watch: Watch) -> PipePool:
    """The environments of a job."""
    return PipePool(job, watch)

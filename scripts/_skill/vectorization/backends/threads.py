"""Threads of this process: they share memory for nothing, and the interpreter's lock for everything in Python.

They pay where a step waits or runs compiled code that releases the lock.
"""

from __future__ import annotations

import queue
import threading
import time

from .. import making
from ..failure import Failed, WorkerFailure, raised
from ..interruption import Watch
from ..job import Job
from ..synthetic_environment import SyntheticEnvironment
from . import Batch

NAME = "threads"
SUMMARY = "threads of this process, which share the interpreter's lock"
RANK = 1
PROCESSES = False
SHARED = False
SURPLUS = False
PLAN = "threads"

_LOOK_SECONDS = 0.05
_STOP, _RESET = -1, -2


class ThreadPool:
    """One queue of requests for each thread, one queue of answers for all."""

    def __init__(self, job: Job, watch: Watch) -> None:
        setting = job.setting
        size = job.load.observation_bytes
        buffer = memoryview(bytearray(setting.environments * size))
        self._job = job
        self._watch = watch
        self._batch = Batch(
            range(setting.environments), [buffer[i * size : (i + 1) * size] for i in range(setting.environments)]
        )
        self._requests: list[queue.SimpleQueue[int]] = [queue.SimpleQueue() for _ in range(setting.workers)]
        self._answers: queue.SimpleQueue[tuple[int, Failed | None]] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._rewards = [0.0] * setting.environments
        self._terminals = [False] * setting.environments

    def start(self) -> None:
        """Starts the threads; each makes and resets its environments."""
        for number in range(self._job.setting.workers):
            thread = threading.Thread(target=self._work, args=(number,), daemon=True, name=f"worker {number}")
            self._threads.append(thread)
            thread.start()
        self._ask(_RESET)

    def receive(self) -> Batch:
        """Waits for all threads."""
        waiting = set(range(len(self._threads)))
        until = time.monotonic() + self._job.timeout
        while waiting:
            try:
                number, failed = self._answers.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                self._watch.check()
                if time.monotonic() > until:
                    late = min(waiting)
                    raise WorkerFailure(Failed("hung", late, -1, -1, f"{self._job.timeout:g}", [])) from None
                continue
            if failed is not None:
                raise WorkerFailure(failed)
            waiting.discard(number)
        self._watch.check()
        return self._batch

    def send(self, batch: Batch, action: int) -> None:
        """Lets every thread step its environments."""
        self._ask(action)

    def settle(self) -> None:
        """Every batch has all environments: nothing is outstanding."""

    def close(self) -> None:
        """Ends the threads; one that hangs cannot be ended, and is left to the end of this process."""
        self._ask(_STOP)
        until = time.monotonic() + 1.0
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        self._threads = []

    def _ask(self, action: int) -> None:
        for requests in self._requests:
            requests.put(action)

    def _work(self, number: int) -> None:
        requests, answers, rows = self._requests[number], self._answers, self._batch.rows
        rewards, terminals = self._rewards, self._terminals
        indices = self._job.environments_of(number)
        environments: list[SyntheticEnvironment] = []
        index = -1
        try:
            environments = making.environments(self._job, number)
            owned = list(zip(indices, environments, strict=True))
            while (action := requests.get()) != _STOP:
                for index, environment in owned:
                    if action == _RESET:
                        environment.reset(rows[index])
                    else:
                        rewards[index], terminals[index] = environment.step(action, rows[index])
                answers.put((number, None))
        except Exception as error:  # noqa: BLE001 - whatever an environment raises is told with its place
            step = environments[index - indices[0]].count if index >= 0 else -1
            answers.put((number, raised(error, number, index, step)))


def open_pool(job: Job, watch: Watch) -> ThreadPool:
    """The environments of a job."""
    return ThreadPool(job, watch)

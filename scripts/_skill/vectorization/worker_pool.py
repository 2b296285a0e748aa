"""All worker processes of one run: started, watched, and ended, whatever happens in between.

The two process backends build on it. There is nothing to clean up by name: memory and pipes are held by handles only.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterable

from ..findings import Finding, Refusal, could_not
from . import flag_wait, making, shared_region, start_method
from .failure import Failed, WorkerFailure, of_exit
from .interruption import Watch
from .job import Job
from .job import write as write_job
from .shared_region import ENVIRONMENT, RAISED, REQUEST, STATUS, STEP, STOP, Region, word
from .worker.session import Handles
from .worker_process import WorkerProcess

GRACE_SECONDS = 1.0
"""How long workers may take to end by themselves; then they are killed."""
START_SECONDS, START_SECONDS_EACH = 5.0, 0.1
"""How long workers may take to start, in addition to the time of a request: in all, and more for each of them."""
_LOOK_SECONDS = 0.05
_SIGNAL_GRACE_SECONDS = 0.15
_FROM_OUTSIDE = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")


class WorkerPool:
    """The processes of one job. Used as a context: leaving it ends them all."""

    def __init__(self, told: Job, watch: Watch, pipes: bool) -> None:
        self.job = told
        self.watch = watch
        self.workers: list[WorkerProcess] = []
        self._pipes = pipes
        self._every: list[int] = []
        self._next_look = 0.0
        self.asked_at: dict[int, float] = {}
        """Worker -> when its outstanding request was sent."""
        self._up: set[int] = set()
        """Workers that have answered once."""

    def open(self) -> None:
        """Starts all workers."""
        setting = self.job.setting
        in_region = 0 if self._pipes else self.job.load.observation_bytes
        factory = making.environments
        if self.job.fault.kind == "lambda":
            factory = lambda job, worker: making.environments(job, worker)  # noqa: E731 - the fault itself
        start_method.check(self.job.start_method, factory)
        if not hasattr(select, "poll"):
            raise start_method.unavailable()
        size = shared_region.size_of(setting.workers, setting.environments, in_region)
        data = write_job(self.job)
        try:
            region = self._keep(shared_region.anonymous_file("puffer-vectorization", size))
            told = self._keep(shared_region.anonymous_file("puffer-vectorization-job", len(data)))
        except OSError as error:
            raise could_not(
                "vectorization.memory",
                f"no {size} bytes of shared memory: {error.strerror or error}",
                want=f"{size} bytes within the memory limit of this process",
                fix="make observations or environments fewer, or raise the limit",
            ) from None
        os.pwrite(told, data, 0)
        self.region = Region(region, setting.workers, setting.environments, in_region)
        try:
            self._start_all(told, region)
        except OSError as error:
            raise could_not(
                "vectorization.start",
                f"worker {len(self.workers)} cannot be started: {error.strerror or error}",
                where=f"worker {len(self.workers)}",
                fix="use fewer workers, or raise the limit on processes and open files (ulimit -u, -n)",
            ) from None

    def _start_all(self, told: int, region: int) -> None:
        self.bell, parent_bell = self._pipe()
        os.set_blocking(self.bell, False)
        os.set_blocking(parent_bell, False)
        self.poller = select.poll()
        self.poller.register(self.watch.handle, select.POLLIN)
        if not self._pipes:
            self.poller.register(self.bell, select.POLLIN)
        for number in range(self.job.setting.workers):
            self.watch.check()
            self._start(number, told, region, parent_bell)
        self._close(parent_bell)

    def _start(self, number: int, told: int, region: int, parent_bell: int) -> None:
        report, report_theirs = self._pipe()
        bell_theirs, bell = self._pipe()
        replies, replies_theirs = self._pipe() if self._pipes else (-1, parent_bell)
        handles = Handles(
            worker=number,
            parent=os.getpid(),
            job=told,
            region=region,
            report=report_theirs,
            bell=bell_theirs,
            parent_bell=replies_theirs,
            pipes=int(self._pipes),
        )
        method, watch = self.job.start_method, self.watch
        worker = WorkerProcess(handles, method, (report, bell, replies), [*self._every, watch.handle], watch)
        self.workers.append(worker)
        self._close(report_theirs)
        self._close(bell_theirs)
        if self._pipes:
            self._close(replies_theirs)
        else:
            os.set_blocking(bell, False)
        # Only its end matters: the worker's end of the pipe closes when the worker ends.
        self.poller.register(report, 0)

    def asked(self, workers: Iterable[int]) -> None:
        """Notes that requests go out: from now on the time of these workers runs."""
        now = time.monotonic()
        for worker in workers:
            self.asked_at[worker] = now

    def answered(self, worker: int) -> None:
        """Notes that the answer has come."""
        self._up.add(worker)
        del self.asked_at[worker]

    def look(self, at_once: bool = False) -> None:
        """Raises where a signal has come, or a worker has ended or is late; costs nothing most of the time."""
        now = time.monotonic()
        if now < self._next_look and not at_once:
            return
        self._next_look = now + _LOOK_SECONDS
        self.watch.check()
        for number, worker in enumerate(self.workers):
            status = worker.poll()
            if status is not None:
                raise WorkerFailure(self._ended(number, status))
        starting = START_SECONDS + START_SECONDS_EACH * len(self.workers)
        for number, at in self.asked_at.items():
            allowed = self.job.timeout + (0.0 if number in self._up else starting)
            if now - at > allowed:
                self.watch.check()
                # The first of them, in order of their requests; others may only wait for it.
                raise WorkerFailure(Failed("hung", number, *self._progress(number), f"{allowed:g}", []))

    def wait(self) -> None:
        """Sleeps until somebody rings, ends, or a bounded time is over; then looks."""
        events = self.poller.poll(flag_wait.SLEEP_MS)
        rang = False
        for handle, _ in events:
            if handle == self.bell:
                rang = True
                try:
                    os.read(self.bell, 4096)
                except BlockingIOError:
                    continue
        self.look(at_once=bool(events) and not rang)

    def _ended(self, number: int, status: int) -> Failed:
        worker = self.workers[number]
        environment, step = self._progress(number)
        raised = self.region.words[word(number, STATUS)] == RAISED
        failed = of_exit(status, number, environment, step, worker.last_words(), raised)
        if failed.kind == "killed" and failed.detail in _FROM_OUTSIDE:
            # A signal to the whole group may reach a worker first.
            until = time.monotonic() + _SIGNAL_GRACE_SECONDS
            while time.monotonic() < until:
                self.watch.check()
                time.sleep(0.01)
        return failed

    def _progress(self, number: int) -> tuple[int, int]:
        words = self.region.words
        if words[word(number, STATUS)] == 0:
            return -1, -1
        return words[word(number, ENVIRONMENT)], words[word(number, STEP)]

    def close(self) -> None:
        """Ends all workers within bounded time: asked first, then killed. Never raises for a signal."""
        for number, worker in enumerate(self.workers):
            if not self._pipes:
                self.region.words[word(number, REQUEST)] = STOP
                flag_wait.ring(worker.bell)
            # The end of its pipe tells it too, also where it has not looked at a flag yet.
            self._close(worker.bell)
        until = time.monotonic() + GRACE_SECONDS
        left = [worker for worker in self.workers if not worker.wait(until)]
        for worker in left:
            worker.kill()
        stuck = [worker.pid for worker in left if not worker.wait(time.monotonic() + 2.0)]
        for handle in list(self._every):
            self._close(handle)
        self.workers = []
        if stuck:
            raise Refusal(
                Finding(
                    "vectorization.left_alive",
                    "processes did not end although they were killed: the kernel holds them",
                    ", ".join(f"process {pid}" for pid in stuck),
                    fix="look at their state with ps; a device or network drive that does not answer is usual",
                )
            )

    def _pipe(self) -> tuple[int, int]:
        read, write = os.pipe()
        return self._keep(read), self._keep(write)

    def _keep(self, handle: int) -> int:
        self._every.append(handle)
        return handle

    def _close(self, handle: int) -> None:
        if handle in self._every:
            self._every.remove(handle)
            os.close(handle)

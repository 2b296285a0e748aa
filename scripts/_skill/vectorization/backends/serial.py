"""One environment after the other in this process: the reference, and the fastest where steps are very cheap."""

from __future__ import annotations

from .. import making
from ..failure import WorkerFailure, raised
from ..interruption import Interrupted, Watch
from ..job import Job
from . import Batch

NAME = "serial"
SUMMARY = "one after the other, in this process"
RANK = 0
PROCESSES = False
SHARED = False
SURPLUS = False
PLAN = "serial"


class SerialPool:
    """All environments write into one buffer; `send` runs them."""

    def __init__(self, job: Job, watch: Watch) -> None:
        count, size = job.setting.environments, job.load.observation_bytes
        buffer = memoryview(bytearray(count * size))
        self._watch = watch
        self._batch = Batch(range(count), [buffer[i * size : (i + 1) * size] for i in range(count)])
        self._environments = making.environments(job, 0)
        self._rewards = [0.0] * count
        self._terminals = [False] * count

    def start(self) -> None:
        """Resets every environment."""
        for environment, row in zip(self._environments, self._batch.rows, strict=True):
            self._watch.check()
            environment.reset(row)

    def receive(self) -> Batch:
        """All environments, at once."""
        return self._batch

    def send(self, batch: Batch, action: int) -> None:
        """Steps every environment."""
        check, rewards, terminals = self._watch.check, self._rewards, self._terminals
        index = 0
        try:
            for index, (environment, row) in enumerate(zip(self._environments, batch.rows, strict=True)):
                check()
                rewards[index], terminals[index] = environment.step(action, row)
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an environment raises is told with its place
            raise WorkerFailure(raised(error, 0, index, self._environments[index].count)) from None

    def settle(self) -> None:
        """Every batch has all environments: nothing is outstanding."""

    def close(self) -> None:
        """Nothing was started."""


def open_pool(job: Job, watch: Watch) -> SerialPool:
    """The environments of a job."""
    return SerialPool(job, watch)

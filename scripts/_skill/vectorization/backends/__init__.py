"""The backends, one module each, found by listing this folder: adding one is adding a file.

A module has `NAME`, `SUMMARY` (one line), `RANK` (lower is simpler; ties go to the simpler one), `PROCESSES` (whether
it starts worker processes), `SHARED` (whether their observations lie in shared memory), `SURPLUS` (whether a batch may
be smaller than all environments), `PLAN` (its name in a plan's `vectorization.backend`, or empty where the plan has
none) and `open_pool(job, watch) -> Pool`.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..interruption import Watch
from ..job import Job


class Batch(NamedTuple):
    """What one policy call gets: which environments, and where the observation of each lies."""

    environments: Sequence[int]
    rows: Sequence[memoryview]


class Pool(Protocol):
    """Environments of one job, running."""

    def start(self) -> None:
        """Makes and resets every environment; their first observations come with the first `receive`."""

    def receive(self) -> Batch:
        """Waits for the next batch; a worker's failure raises WorkerFailure, a signal Interrupted."""

    def send(self, batch: Batch, action: int) -> None:
        """Lets the environments of a batch step, all with the same action; their rows are theirs from now on."""

    def settle(self) -> None:
        """Waits until every environment has answered: a figure counts only if nobody was left behind."""

    def close(self) -> None:
        """Ends everything that was started, in bounded time; also after a failure, and twice."""


class Backend(Protocol):
    """A module of this folder."""

    NAME: str
    SUMMARY: str
    RANK: int
    PROCESSES: bool
    SHARED: bool
    SURPLUS: bool
    PLAN: str

    def open_pool(self, job: Job, watch: Watch) -> Pool:
        """The environments of a job, not yet started."""


@functools.cache
def every() -> dict[str, Backend]:
    """The backends by name, simplest first."""
    names = sorted(
        name[:-3] for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py") and name != "__init__.py"
    )
    modules: list[Backend] = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.NAME: module for module in sorted(modules, key=lambda module: module.RANK)}

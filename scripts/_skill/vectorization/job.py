"""What a worker is told: one JSON document in an anonymous file, never a pickle."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from .faults import Fault
from .load import Load
from .setting import Setting

_MOST_BYTES = 1 << 22


class Job(NamedTuple):
    """One run of one setting."""

    setting: Setting
    load: Load
    units: list[int]
    """Costs of a step at equally spaced quantiles, in units of `work.performer`."""
    reset_units: int
    root: int
    """The root of all seeds."""
    repeat: int
    """Number of the round: each has another order of costs, the same for every setting."""
    seeds: list[int]
    """(N,) the seed of each environment."""
    spin_us: float
    """How long a flag is watched before its watcher sleeps, microseconds."""
    timeout: float
    """Seconds that a worker may take for one request."""
    start_method: str
    fault: Fault

    def environments_of(self, worker: int) -> range:
        """The environments of a worker, by their place among all."""
        return range(worker * self.setting.per_worker, (worker + 1) * self.setting.per_worker)


def write(job: Job) -> bytes:
    """The job as JSON."""
    return json.dumps(job).encode()


def read(handle: int) -> Job:
    """The job behind a handle that other workers may share: read by offset."""
    data = os.pread(handle, min(os.fstat(handle).st_size, _MOST_BYTES), 0)
    setting, load, units, reset_units, root, repeat, seeds, spin_us, timeout, start_method, fault = json.loads(data)
    return Job(
        Setting(*setting),
        Load(*load),
        units,
        reset_units,
        root,
        repeat,
        seeds,
        spin_us,
        timeout,
        start_method,
        Fault(*fault),
    )

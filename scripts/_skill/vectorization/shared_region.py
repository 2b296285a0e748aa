"""Memory that the parent and its workers share: flags, progress, actions, rewards, observations. It has no name.

On Linux it is a memfd: it lives as long as a process holds it open, counts against the memory limit of the control
group and not against the size of /dev/shm, and leaves nothing to unlink, whatever ends whom. Elsewhere it is a
temporary file whose name is gone before a worker starts.

Flags are aligned 64-bit words, each written by one side only. A word is written after the data that it announces,
with a fence in between, and read before that data, with a fence in between.
"""

from __future__ import annotations

import _thread
import mmap
import os

LINE_WORDS = 8
"""64 bytes: words of different writers never share a cache line."""
PARENT_WAITS_FOR = 0
"""Word: 0 awake, w + 1 asleep until worker w is done, ANY asleep until any worker is done."""
ANY = -1
REQUEST, DONE, ASLEEP, ENVIRONMENT, STEP, STATUS = 0, 8, 9, 10, 11, 12
"""Words of one worker: the first is the parent's, the others are the worker's."""
STOP = -1
STARTING, RUNNING, RAISED = 0, 1, 2
"""Values of STATUS."""

_WORKER_WORDS = 2 * LINE_WORDS
_LOCK = _thread.allocate_lock()
_TAKE, _RELEASE = _LOCK.acquire, _LOCK.release
_STRONG = hasattr(os, "uname") and os.uname().machine in ("x86_64", "i686", "AMD64")


def fence() -> None:
    """Orders memory accesses before it and after it, also a store before and a load after.

    Releasing a lock publishes what came before; taking it afterwards holds back what comes after. On x86 one of these
    alone is a full barrier; on processors with weak ordering a later store could move into a single pair.
    """
    _TAKE()
    _RELEASE()
    if not _STRONG:
        _TAKE()
        _RELEASE()


def anonymous_file(name: str, size: int) -> int:
    """A handle on a file of `size` bytes without a name; all of it is reserved, so that no later write can fail."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create(name, os.MFD_CLOEXEC)
    else:
        import tempfile

        handle, path = tempfile.mkstemp(prefix=name)
        os.unlink(path)
    try:
        os.ftruncate(handle, size)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, size)
    except OSError:
        os.close(handle)
        raise
    return handle


def size_of(workers: int, environments: int, observation_bytes: int) -> int:
    """Bytes of a region."""
    return _offsets(workers, environments, observation_bytes)[-1]


class Region:
    """The region behind a handle, laid out for so many workers and environments.

    `words` are the flags (int64), `actions` (N,) int64, `rewards` (N,) float64, `terminals` (N,) uint8, `rows` N
    observations of `observation_bytes` each.
    """

    def __init__(self, handle: int, workers: int, environments: int, observation_bytes: int) -> None:
        offsets = _offsets(workers, environments, observation_bytes)
        actions, rewards, terminals, rows, end = offsets
        memory = memoryview(mmap.mmap(handle, end))
        self.words = memory[:actions].cast("q")
        self.actions = memory[actions : actions + 8 * environments].cast("q")
        self.rewards = memory[rewards : rewards + 8 * environments].cast("d")
        self.terminals = memory[terminals : terminals + environments]
        self.stride = _aligned(observation_bytes)
        self.observations = memory[rows:end]
        self.rows = [
            self.observations[index * self.stride : index * self.stride + observation_bytes]
            for index in range(environments)
        ]


def word(worker: int, field: int) -> int:
    """The index of one of a worker's words."""
    return LINE_WORDS + worker * _WORKER_WORDS + field


def _aligned(size: int) -> int:
    return -(-size // 64) * 64


def _offsets(workers: int, environments: int, observation_bytes: int) -> tuple[int, int, int, int, int]:
    """Where actions, rewards, terminals and rows begin, and where the region ends."""
    actions = 8 * (LINE_WORDS + workers * _WORKER_WORDS)
    rewards = actions + _aligned(8 * environments)
    terminals = rewards + _aligned(8 * environments)
    rows = terminals + _aligned(environments)
    return actions, rewards, terminals, rows, rows + environments * _aligned(observation_bytes)

"""One worker's life: bounds of its own, its environments, a loop, and a last word where it fails."""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

from ...process import process_tree
from .. import faulty_environment, job, making
from ..shared_region import ENVIRONMENT, RAISED, RUNNING, STATUS, STEP, Region, word

RAISED_STATUS = 70
_PARENT_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Handles(NamedTuple):
    """What a worker inherits, in the order of its command line."""

    worker: int
    parent: int
    """Process id of the parent."""
    job: int
    region: int
    report: int
    """Pipe: the traceback, and its end is the worker's end."""
    bell: int
    """Pipe: requests, or wakes the worker; its end is the parent's end."""
    parent_bell: int
    """Pipe: replies, or wakes the parent."""
    pipes: int
    """1 where requests and replies go through the pipes, 0 where they go through the region."""


def run(handles: Handles) -> None:
    """Steps environments until the parent says stop or is gone."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # They were blocked while this process was started, so that none could end it half made.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PARENT_SIGNALS)
    process_tree.die_with_parent(signal.SIGKILL, handles.parent)
    _no_core_file()
    told = job.read(handles.job)
    setting = told.setting
    in_region = 0 if handles.pipes else told.load.observation_bytes
    region = Region(handles.region, setting.workers, setting.environments, in_region)
    status = word(handles.worker, STATUS)
    try:
        if told.fault.kind.startswith("start-") and told.fault.worker == handles.worker:
            faulty_environment.act(told.fault.kind)
        environments = making.environments(told, handles.worker)
        region.words[status] = RUNNING
        if handles.pipes:
            from . import pipe_loop

            pipe_loop.run(handles, told, region, environments)
        else:
            from . import flag_loop

            flag_loop.run(handles, told, region, environments)
    except SystemExit:
        # Its status says what it meant; the parent adds where it happened.
        raise
    except BaseException as error:  # noqa: BLE001 - whatever an environment raises is told to the parent
        region.words[status] = RAISED
        _last_words(handles.report, error)
        os._exit(RAISED_STATUS)


def progress_words(worker: int) -> tuple[int, int]:
    """The indices of the words that hold the environment and the step in progress."""
    return word(worker, ENVIRONMENT), word(worker, STEP)


def _last_words(handle: int, error: BaseException) -> None:
    from ..failure import described

    data = "\n".join(described(error)).encode("utf-8", "backslashreplace")[:32768]
    # A pipe takes this much at once; the parent need not be reading.
    os.set_blocking(handle, False)
    os.write(handle, data)


def _no_core_file() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

"""A worker that is woken by a flag in shared memory and writes observations in place."""

from __future__ import annotations

import os
import select

from .. import flag_wait
from ..job import Job
from ..shared_region import ASLEEP, DONE, PARENT_WAITS_FOR, REQUEST, STOP, Region, fence, word
from ..synthetic_environment import SyntheticEnvironment
from .session import Handles, progress_words


def run(handles: Handles, job: Job, region: Region, environments: list[SyntheticEnvironment]) -> None:
    """Answers request 1 with a reset and every later one with a step, until STOP or the parent's end."""
    worker = handles.worker
    words, actions, rewards, terminals = region.words, region.actions, region.rewards, region.terminals
    request, done, asleep = (word(worker, field) for field in (REQUEST, DONE, ASLEEP))
    at_environment, at_step = progress_words(worker)
    owned = [
        (index, environments[place], region.rows[index]) for place, index in enumerate(job.environments_of(worker))
    ]
    poller = select.poll()
    poller.register(handles.bell, select.POLLIN)
    patience = flag_wait.Patience(job.spin_us)
    number = 1
    while True:
        if not _requested(words, request, number, patience, asleep, poller, handles.bell):
            return
        fence()
        if words[request] == STOP:
            return
        for index, environment, row in owned:
            words[at_environment] = index
            words[at_step] = environment.count + (number > 1)
            if number == 1:
                environment.reset(row)
            else:
                rewards[index], terminals[index] = environment.step(actions[index], row)
        fence()
        words[done] = number
        fence()
        if words[PARENT_WAITS_FOR] in (worker + 1, -1):
            flag_wait.ring(handles.parent_bell)
        number += 1


def _requested(
    words: memoryview,
    request: int,
    number: int,
    patience: flag_wait.Patience,
    asleep: int,
    poller: select.poll,
    bell: int,
) -> bool:
    """Waits for request `number` or STOP: spins briefly, then sleeps; False where the parent is gone."""
    if patience.spin(words, request, number):
        return True
    while True:
        words[asleep] = 1
        fence()
        if words[request] >= number or words[request] == STOP:
            words[asleep] = 0
            return True
        events = poller.poll(flag_wait.SLEEP_MS)
        words[asleep] = 0
        if events and not os.read(bell, 512):
            return False

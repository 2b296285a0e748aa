"""A worker that gets its requests and sends its answers through pipes: bytes of known length, no pickle."""

from __future__ import annotations

import struct

from .. import pipe_message
from ..job import Job
from ..shared_region import Region
from ..synthetic_environment import SyntheticEnvironment
from .session import Handles, progress_words


def run(handles: Handles, job: Job, region: Region, environments: list[SyntheticEnvironment]) -> None:
    """Answers the first request with a reset and every later one with a step, until the pipe ends."""
    words = region.words
    at_environment, at_step = progress_words(handles.worker)
    owned = list(zip(job.environments_of(handles.worker), environments, strict=True))
    size = job.load.observation_bytes
    request = bytearray(8 * len(owned))
    message = pipe_message.Reply(len(owned), size)
    actions = struct.Struct(f"={len(owned)}q")
    number = 1
    while pipe_message.read_into(handles.bell, memoryview(request)):
        values = actions.unpack(request)
        for place, (index, environment) in enumerate(owned):
            words[at_environment] = index
            words[at_step] = environment.count + (number > 1)
            if number == 1:
                environment.reset(message.rows[place])
            else:
                reward, terminal = environment.step(values[place], message.rows[place])
                message.rewards[place] = reward
                message.terminals[place] = terminal
        if not pipe_message.write(handles.parent_bell, message.data):
            return
        number += 1

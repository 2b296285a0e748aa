"""Faults to order, for the self-test of this tool: `--inject KIND[:WORKER[:STEP]]`.

A tool that promises to name a dead worker must be seen doing it. A run with a fault is never reported as a result.
"""

from __future__ import annotations

from typing import NamedTuple

from .. import text
from ..findings import COULD_NOT, Finding, Refusal

IN_A_STEP = {
    "raise": "the environment raises an error",
    "raise-hostile": "it raises an error whose text is long and full of control characters",
    "raise-unprintable": "it raises an error that cannot be turned into text",
    "interrupt": "it raises KeyboardInterrupt",
    "sys-exit": "it calls sys.exit(3)",
    "exit": "it leaves at once with status 3",
    "exit-0": "it leaves at once with status 0",
    "kill": "it is killed by SIGKILL, as the system does when memory runs out",
    "term": "it is killed by SIGTERM",
    "segv": "it is killed by SIGSEGV",
    "bus": "it touches a page of a file that is gone: SIGBUS, as when /dev/shm is full",
    "hang": "it sleeps for ever",
    "spin": "it computes for ever",
    "stop": "it is stopped by SIGSTOP",
    "stale": "it leaves the observation of the step before",
}
AT_THE_START = {
    "start-exit": "the worker leaves with status 3 before it is ready",
    "start-hang": "the worker sleeps for ever before it is ready",
}
IN_SEEDS = {
    "seeds-global": "environments draw from one generator that is global to the process",
    "seeds-same": "every environment gets the same seed",
    "seeds-worker": "every environment of a worker gets the worker's seed",
}
IN_THE_PARENT = {
    "lambda": "the environments' factory is a lambda",
    "thread": "the parent has another thread when it starts the workers",
}
ALL = {**IN_A_STEP, **AT_THE_START, **IN_SEEDS, **IN_THE_PARENT}
IN_ONE_PROCESS = {"raise", "raise-hostile", "raise-unprintable", "stale", *IN_SEEDS}
"""Faults that a backend without processes survives to report."""


class Fault(NamedTuple):
    """One fault; `kind` is empty for none."""

    kind: str = ""
    worker: int = -1
    step: int = 0


def parse(words: str | None) -> Fault:
    """The fault that `--inject` names, by default in worker 2 at step 5; anything else is wrong use (exit 2)."""
    if words is None:
        return Fault()
    kind, *numbers = words.split(":")
    if kind not in ALL or len(numbers) > 2 or not all(number.isdecimal() and len(number) < 7 for number in numbers):
        near = text.nearest(kind, ALL)
        raise Refusal(
            Finding(
                "use.wrong",
                "--inject names no fault",
                "--inject",
                text.shown(words),
                f"KIND[:WORKER[:STEP]], KIND one of {text.listed(ALL, len(ALL))}",
                f"did you mean {near}?" if near else "",
            ),
            exit_status=COULD_NOT,
        )
    worker, step = (int(number) for number in [*numbers, *("2", "5")[len(numbers) :]])
    return Fault(kind, worker, step)

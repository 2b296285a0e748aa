"""A pickle that is a file of its own, with nothing around it."""

from __future__ import annotations

from . import limits, tensor_listing
from .content import AMBIGUOUS, Content
from .pickle_machine import PickleMachine
from .source import Source


class Probe:
    """What a trial reading of a file as a pickle found."""

    def __init__(self, source: Source) -> None:
        self.content = Content()
        machine = PickleMachine(source, self.content, most_opcodes=limits.PROBE_OPCODES, trial=True)
        self.complete = machine.run()
        self.imports = machine.imports or machine.limited
        """Whether it would import something, or goes on beyond what a trial follows."""
        self.end = machine.end
        self.opcodes = machine.opcodes


def inspect(source: Source, content: Content) -> None:
    """Follows the pickle, and what comes after it: most loaders read the first one only."""
    content.kind = "pickle"
    end = 0
    for number in range(limits.PICKLE_STREAMS):
        where = "" if number == 0 else f"pickle {number + 1}"
        machine = PickleMachine(source, content, start=end, where=where)
        if not machine.run():
            return
        if number == 0:
            content.details["protocol"] = str(machine.protocol)
            tensor_listing.list_tensors(content, machine.value, where)
        end = machine.end
        if end == source.length:
            return
        if number == 0:
            content.add(
                AMBIGUOUS, "pickle.trailing", "bytes after the end of the pickle: readers disagree about them",
                got=f"{source.length - end} bytes", where=f"byte {end}",
            )  # fmt: skip

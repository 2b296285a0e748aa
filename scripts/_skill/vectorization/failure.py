"""What became of a worker: its error, exit status, signal or silence, with worker, environment and step."""

from __future__ import annotations

import signal
from typing import Any, NamedTuple

from .. import text
from ..findings import Finding

MOST_LINES = 40
LINE_CHARACTERS = 300
_CAUSES = {
    "SIGBUS": (
        "a page of shared memory could not be provided: the mount /dev/shm, or the memory limit, is too small",
        "raise the container's shared memory (docker run --shm-size=1g; in Kubernetes an emptyDir of medium Memory at "
        "/dev/shm) or its memory limit, or make observations, environments or workers fewer",
    ),
    "SIGKILL": (
        "killed from outside, most often by the system because memory ran out",
        "raise the memory limit, or use fewer environments; the kernel's log names the process that it killed",
    ),
    "SIGSEGV": ("compiled code touched memory that is not its own", "run the environment alone under its sanitizer"),
    "SIGTERM": ("somebody asked this one process to stop", "find out who: a scheduler, a container's end, a person"),
}


class WorkerFailure(Exception):
    """A worker failed; the rest has to be stopped."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.kind)
        self.failed = failed


class Failed(NamedTuple):
    """One worker's failure. `environment` and `step` are -1 where the worker was not stepping."""

    kind: str
    """`raised`, `exited`, `killed`, `hung` or `stale`."""
    worker: int
    environment: int
    step: int
    detail: str
    """Exit status, signal, seconds, or the error in one line."""
    traceback: list[str]
    """Escaped lines."""

    @property
    def place(self) -> str:
        """Where, for people."""
        words = [f"worker {self.worker}"]
        if self.environment >= 0:
            words += [f"environment {self.environment}", f"step {self.step}" if self.step else "reset"]
        return ", ".join(words)

    @property
    def said(self) -> list[str]:
        """The traceback as lines for people, each labelled: an environment's text is data."""
        return [f"worker {self.worker} | {line}" for line in self.traceback]

    def as_json(self) -> dict[str, Any]:
        """The failure as one JSON object."""
        return dict(self._asdict())

    def finding(self) -> Finding:
        """The failure as a finding."""
        if self.kind == "raised":
            fix = "the traceback is above; in the JSON report it is failure.traceback"
            return Finding(
                "vectorization.worker_raised", "an environment raised an error", self.place, self.detail, fix=fix
            )
        if self.kind == "exited":
            return Finding(
                "vectorization.worker_exited",
                "a worker process ended by itself",
                self.place,
                f"exit status {self.detail}",
                "a worker that runs until it is told to stop",
                "look for sys.exit or os._exit in the environment and in the libraries that it calls",
            )
        if self.kind == "killed":
            cause, fix = _CAUSES.get(self.detail, ("ended by a signal", "find out who sent it"))
            return Finding(
                "vectorization.worker_killed",
                f"a worker process was ended by {self.detail}: {cause}",
                self.place,
                f"exit status -{int(signal.Signals[self.detail])} ({self.detail})",
                "a worker that runs until it is told to stop",
                fix,
            )
        if self.kind == "stale":
            return Finding(
                "vectorization.stale",
                "an observation is not the one of the step that was asked for",
                self.place,
                self.detail,
                "each environment's newest observation, once",
                "the observation was not written, or was overwritten before it was read: do not trust these figures",
            )
        return Finding(
            "vectorization.worker_hung",
            "a worker did not answer in time",
            self.place,
            f"no answer within {self.detail} s",
            "an answer within --timeout",
            "find out what that step waits for; where steps may take so long, raise --timeout",
        )


def of_exit(status: int, worker: int, environment: int, step: int, words: str, told: bool) -> Failed:
    """The failure behind the exit status of a worker (negative: a signal) and what it left in its report pipe.

    `told` says that it left what `described` makes.
    """
    lines = [text.escaped(line, LINE_CHARACTERS) for line in words.splitlines()[: MOST_LINES + 1]]
    if told:
        return Failed("raised", worker, environment, step, lines[0] if lines else "", lines[1:])
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = "SIGKILL"
        return Failed("killed", worker, environment, step, name, lines)
    return Failed("exited", worker, environment, step, str(status), lines)


def described(error: BaseException) -> list[str]:
    """What the error says in one line, then its traceback: escaped lines, the newest ones, each cut."""
    import traceback

    every: list[str] = []
    for part in traceback.format_exception(type(error), error, error.__traceback__, limit=-20):
        # A text of megabytes is cut before it is split.
        cut = part if len(part) <= 4096 else f"{part[:2048]}... ({len(part)} characters)"
        every.extend(cut.splitlines())
    if len(every) > MOST_LINES:
        every = [*every[: MOST_LINES - 11], f"... {len(every) - MOST_LINES + 1} lines left out ...", *every[-10:]]
    said = traceback.format_exception_only(type(error), error)
    # A syntax error begins with the place, and notes come last; the line with the type is wanted.
    line = next((part for part in said if type(error).__qualname__ in part), said[-1])
    return [text.escaped(each, LINE_CHARACTERS) for each in [(line[:4096].splitlines() or [""])[0], *every]]


def raised(error: BaseException, worker: int, environment: int, step: int) -> Failed:
    """The failure behind an error that was caught in this process."""
    summary, *lines = described(error)
    return Failed("raised", worker, environment, step, summary, lines)

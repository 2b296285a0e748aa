"""Terminated and truncated: both bools, and each for what it says. A time limit is a truncation."""

from __future__ import annotations

from ..apis.api import ABSENT, Api, Frame, has
from ..numerics import np
from ..subject import Subject
from ..values import words
from . import check

LIMIT_NAMES = (
    "max_steps",
    "max_episode_steps",
    "_max_episode_steps",
    "max_cycles",
    "max_iter",
    "max_episode_length",
    "episode_length",
    "horizon",
    "time_limit",
    "max_t",
    "max_timesteps",
)


class Check(check.Check):
    """Types, the registered time limit, and a time limit that is reported as an end of the task."""

    title = "terminated and truncated"
    order = 50

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.terminated: list[int] = []
        """Lengths of the episodes that ended as terminated only."""
        self.truncated: list[int] = []
        self.both = 0

    def frame(self, api: Api, frame: Frame) -> None:
        """The flags of every row."""
        for row in frame.rows:
            for name, value in (("terminated", row.terminated), ("truncated", row.truncated)):
                if value is not ABSENT and not isinstance(value, (bool, np.bool_)):
                    fix = f"return bool({name})"
                    self.subject.finding(
                        "flags.type",
                        f"{name} is no bool",
                        frame.at(row),
                        got=words(value),
                        want="bool or numpy.bool_",
                        fix=fix,
                    )
            if row.done() and not api.batched:
                ended = row.terminated is not ABSENT and bool(row.terminated)
                cut = row.truncated is not ABSENT and bool(row.truncated)
                self.both += ended and cut
                if ended and not cut:
                    self.terminated.append(frame.step)
                elif cut:
                    self.truncated.append(frame.step)
            if isinstance(row.info, dict) and _set(row.info.get("TimeLimit.truncated")) and not _set(row.truncated):
                self.subject.finding(
                    "flags.info",
                    "the info says TimeLimit.truncated, and truncated is False",
                    frame.at(row),
                    got="info['TimeLimit.truncated'] is True",
                    want="truncated True",
                    fix="return truncated = True: the old key in the info is read by nobody",
                )
        self.registered_limit(api, frame)

    def registered_limit(self, api: Api, frame: Frame) -> None:
        """An episode does not outlive the limit that it was registered with, and the counters agree."""
        spec = getattr(api.environment, "spec", None) if api.name == "gymnasium" and not api.batched else None
        limit = getattr(spec, "max_episode_steps", None)
        if not isinstance(limit, int) or frame.call != "step":
            return
        if frame.step >= limit and not any(row.done() for row in frame.rows):
            self.subject.finding(
                "flags.limit_ignored",
                "the episode goes on beyond its registered time limit",
                frame.at(),
                got=f"step {frame.step}",
                want=f"truncated at step {limit}",
            )
        elapsed = getattr(api.environment, "_elapsed_steps", None) if has(api.environment, "_elapsed_steps") else None
        if isinstance(elapsed, int) and elapsed != frame.step:
            self.subject.finding(
                "flags.elapsed_steps",
                "the time limit counts other steps than were made",
                frame.at(),
                got=str(elapsed),
                want=str(frame.step),
            )

    def finish(self, api: Api) -> None:
        """Looks for a limit of the environment's own that it reports as terminated."""
        self.detail = f"{len(self.terminated)} terminated, {len(self.truncated)} truncated, {self.both} both"
        lengths = set(self.terminated)
        if len(self.terminated) >= 3 and len(lengths) == 1 and not self.truncated and api.agents() == 1:
            length = lengths.pop()
            inner = getattr(api.environment, "unwrapped", api.environment)
            names = [name for name in LIMIT_NAMES if vars_of(inner).get(name) in (length, length - 1, length + 1)]
            if names and length > 1:
                self.subject.finding(
                    "flags.time_limit",
                    f"every episode is terminated at step {length}, which is {names[0]}: a time limit truncates",
                    got=f"terminated {len(self.terminated)} times, truncated never",
                    want="truncated",
                    fix=f"return truncated = True at {names[0]}, and terminated for the task's own end",
                    severity="warning",
                )
        if not self.terminated and not self.truncated and not api.batched:
            self.subject.note("no episode ended within the rollout: its end was not checked")


def _set(value: object) -> bool:
    return isinstance(value, (bool, np.bool_, int)) and bool(value)


def vars_of(value: object) -> dict[str, object]:
    """The attributes of an instance, or none."""
    return dict(getattr(value, "__dict__", {}))

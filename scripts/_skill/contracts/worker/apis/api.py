"""The one form in which every API answers: a call gives a frame, with a row for each agent that the call speaks of."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import spaces
from ..numerics import np
from ..subject import At, Broken, Subject
from ..values import copied, words

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "absent"})()
"""Where a call says nothing, such as the reward of a reset."""


class Row(NamedTuple):
    """What a call said about one agent."""

    key: Any
    agent: str
    """The agent's name for people; empty where there is only one."""
    observation: Any
    reward: Any = ABSENT
    terminated: Any = ABSENT
    truncated: Any = ABSENT
    info: Any = ABSENT
    environment: int = -1
    mask: Any = None
    """The action mask that a method of the environment gives; those in observation and info stay there."""

    def done(self) -> bool:
        """Whether the agent's episode ended with this row."""
        return _true(self.terminated) or _true(self.truncated)


class Frame(NamedTuple):
    """What one call gave."""

    call: str
    episode: int
    step: int
    rows: list[Row]
    raw: Any
    """The value as it was returned, to look for shared memory."""

    def at(self, row: Row | None = None) -> At:
        """The place of the frame, or of a row of it."""
        if row is None:
            return At(self.call, self.episode, self.step)
        return At(self.call, self.episode, self.step, row.agent, row.environment)


Choose = Callable[[Any, "Row | None"], Any]
"""Gives the action for an agent's key, looking at its last row."""


class Api:
    """An environment behind one API."""

    name = ""
    form = ""
    wants = ""
    """What an environment of this API has, for messages."""
    in_place = False
    """Whether writing into the same buffers is the contract."""
    batched = False
    """Whether a row is one environment of a batch."""

    def __init__(self, subject: Subject, environment: Any) -> None:
        self.subject = subject
        self.environment = environment
        self.episode = -1
        self.step_number = 0
        self.last: dict[Any, Row] = {}
        """The last row of each agent that is alive."""
        self.ended = True
        self.given: tuple[Any, Any] = (None, None)
        """The action of the last step, and a copy of it from before the call."""

    @classmethod
    def fits(cls, environment: Any) -> bool:
        """Whether an environment has this API's attributes."""
        raise NotImplementedError

    def keys(self) -> list[Any]:
        """The agents' keys, known ones first."""
        return [""]

    def agents(self) -> int:
        """How many agents act in one environment."""
        return 1

    def observation_space(self, key: Any) -> Any:
        """The space of one agent's observation."""
        return self.get("observation_space")

    def action_space(self, key: Any) -> Any:
        """The space of one agent's action."""
        return self.get("action_space")

    def reset(self, seed: int | None = None) -> Frame:
        """Begins an episode."""
        raise NotImplementedError

    def step(self, choose: Choose) -> Frame:
        """One call of `step` with the actions that `choose` gives."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the environment."""
        function = getattr(self.environment, "close", None)
        if callable(function):
            self.subject.call(At("close"), function)

    # For the APIs

    def get(self, name: str) -> Any:
        """An attribute of the environment; what it raises is a finding."""
        return self.subject.call(At(name), getattr, self.environment, name)

    def call_reset(self, seed: int | None) -> Any:
        """What `reset` returns; with a seed only where it takes one."""
        function = self.get("reset")
        at = At("reset", self.episode, 0)
        if seed is None:
            return self.subject.call(at, function)
        if not takes(function, "seed"):
            self.subject.finding(
                "api.reset_seed",
                "reset takes no seed: two runs cannot be made alike",
                at,
                got=f"reset{signature(function)}",
                want="reset(*, seed=None, options=None)",
                check="signature",
            )
            return self.subject.call(at, function)
        return self.subject.call(at, function, seed=seed)

    def give(self, action: Any) -> Any:
        """The action, remembered as it is before the environment sees it."""
        self.given = (action, copied(action))
        return action

    def begin(self) -> None:
        """Counts a new episode."""
        self.episode += 1
        self.step_number = 0
        self.ended = False

    def refuse(self, code: str, message: str, at: At, got: Any, want: str, fix: str = "") -> Broken:
        """Sends a finding about the form of what a call returned, and gives the exception to raise."""
        shown = got if isinstance(got, str) else words(got)
        self.subject.finding(code, message, at, got=shown, want=want, fix=fix, check="signature")
        return Broken(at.call)


def takes(function: Any, name: str) -> bool:
    """Whether a function takes an argument of that name; True where it cannot be told."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.name == name or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def signature(function: Any) -> str:
    """A function's arguments as text."""
    try:
        return str(inspect.signature(function))[:120]
    except (TypeError, ValueError):
        return "(...)"


def has(environment: Any, name: str) -> bool:
    """hasattr, where a property may raise anything: then it is there."""
    try:
        return hasattr(environment, name)
    except Exception:  # noqa: BLE001 - a property of an environment may raise anything
        return True


def stacked(space: Any, actions: list[Any]) -> Any:
    """The actions of a batch as the batch's own structure."""
    kind = spaces.kind(space)
    if kind == "Dict":
        return {key: stacked(item, [action[key] for action in actions]) for key, item in space.spaces.items()}
    if kind == "Tuple":
        return tuple(stacked(item, [action[i] for action in actions]) for i, item in enumerate(space.spaces))
    if kind in spaces.LEAVES:
        return np.stack([np.asarray(action) for action in actions])
    return tuple(actions)


def mro_has(environment: Any, name: str) -> bool:
    """Whether a class of that name is among the environment's ancestors."""
    return any(base.__name__ == name for base in type(environment).__mro__)


def _true(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_)) and bool(value)

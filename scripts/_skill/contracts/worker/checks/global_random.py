"""Global random state: an environment that uses it is not reached by its seed, and forked workers all draw the same."""

from __future__ import annotations

import random
from typing import Any

from ..apis.api import Api, Frame
from ..numerics import np
from ..subject import Subject
from . import check

LOOKED_AT = 200
"""Calls after which the states are compared."""


class Check(check.Check):
    """Compares the states of `random` and `numpy.random` after each call with those before."""

    title = "no global random state"
    order = 80

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.calls = 0
        self.mark: tuple[Any, Any] | None = None

    def states(self) -> tuple[Any, Any]:
        """Both global states, comparable."""
        state: Any = np.random.get_state()
        return random.getstate(), (state[1].tobytes(), state[2])

    def frame(self, api: Api, frame: Frame) -> None:
        """Compares; the first call only sets the mark, since creating the environment may have drawn."""
        if self.calls >= LOOKED_AT:
            return
        self.calls += 1
        now = self.states()
        if self.mark is not None:
            for index, name in enumerate(("random", "numpy.random")):
                if now[index] != self.mark[index]:
                    self.subject.finding(
                        "seeding.global_random",
                        f"the environment uses the global state of {name}",
                        frame.at(),
                        got=f"{name}'s state changed in {frame.call}",
                        want="a generator of the environment's own, made from the seed of reset",
                        fix="super().reset(seed=seed), then self.np_random",
                    )
        self.mark = now

    def spaces(self, api: Api) -> None:
        """The mark before the first reset."""
        self.mark = self.states()

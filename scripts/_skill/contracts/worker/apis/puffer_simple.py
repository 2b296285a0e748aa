"""PufferEnv, the short form: `make_space` and `make_discrete`; `reset()` gives an observation, `step` four values.

Here `done` means that the task ended. The form has no word for an episode that is cut short.
"""

from __future__ import annotations

from typing import Any

from ..subject import At
from ..values import words
from .api import Choose, Frame, Row, has, mro_has, takes
from .gymnasium_api import GymnasiumApi

STEP = "(observation, reward, done, info)"


class SimplePufferApi(GymnasiumApi):
    """A class below `PufferEnv` that sets `observation_space` and `action_space` itself."""

    name = "pufferenv"
    form = "simple"
    wants = "a class below PufferEnv with observation_space, action_space, reset, step"

    @classmethod
    def fits(cls, environment: Any) -> bool:
        """A PufferEnv without the spaces of the native form."""
        return mro_has(environment, "PufferEnv") and has(environment, "observation_space")

    def reset(self, seed: int | None = None) -> Frame:
        """`reset()` gives an observation, or (observation, info)."""
        self.begin()
        function = self.get("reset")
        at = At("reset", self.episode, 0)
        if seed is not None and takes(function, "seed"):
            returned = self.subject.call(at, function, seed=seed)
        else:
            returned = self.subject.call(at, function)
        pair = isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], (dict, list))
        row = Row("", "", returned[0] if pair else returned, info=returned[1] if pair else {})
        self.last = {"": row}
        return Frame("reset", self.episode, 0, [row], returned)

    def step(self, choose: Choose) -> Frame:
        """`step(action)`: four values with `done`, or five."""
        self.step_number += 1
        at = At("step", self.episode, self.step_number)
        returned = self.subject.call(at, self.get("step"), self.give(choose("", self.last.get(""))))
        if not isinstance(returned, tuple) or len(returned) not in (4, 5):
            got = f"{len(returned)} values" if isinstance(returned, tuple) else words(returned)
            raise self.refuse("api.step", "step did not return four or five values", at, got, STEP)
        if len(returned) == 4:
            observation, reward, done, info = returned
            row = Row("", "", observation, reward, done, False, info)
            self.subject.note("the short form: done is taken as the end of the task; there is no truncation to report")
        else:
            row = Row("", "", *returned)
        self.last = {"": row}
        self.ended = row.done()
        return Frame("step", self.episode, self.step_number, [row], returned)

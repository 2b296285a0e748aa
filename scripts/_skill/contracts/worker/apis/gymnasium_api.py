"""Gymnasium: one agent; `reset` gives (observation, info), `step` gives five values. Older generations are named."""

from __future__ import annotations

from typing import Any

from .. import action_mask
from ..subject import At
from ..values import words
from .api import Api, Choose, Frame, Row, has

STEP = "(observation, reward, terminated, truncated, info)"


class GymnasiumApi(Api):
    """`gymnasium.Env`, or anything with its attributes."""

    name = "gymnasium"
    wants = "observation_space, action_space, reset, step"

    @classmethod
    def fits(cls, environment: Any) -> bool:
        """Spaces as attributes, and the two calls."""
        return all(has(environment, name) for name in ("observation_space", "action_space", "reset", "step"))

    def reset(self, seed: int | None = None) -> Frame:
        """`reset(seed=...)`; a bare observation is the generation before 0.26."""
        self.begin()
        returned = self.call_reset(seed)
        at = At("reset", self.episode, 0)
        check_reset(self, returned, at)
        observation, info = returned
        row = Row("", "", observation, info=info, mask=self.mask(at))
        self.last = {"": row}
        return Frame("reset", self.episode, 0, [row], returned)

    def step(self, choose: Choose) -> Frame:
        """`step(action)`; four values are the generation before 0.26, in which truncation is missing."""
        self.step_number += 1
        at = At("step", self.episode, self.step_number)
        returned = self.subject.call(at, self.get("step"), self.give(choose("", self.last.get(""))))
        check_step(self, returned, at)
        row = Row("", "", *returned)
        if not row.done():
            row = row._replace(mask=self.mask(at))
        self.last = {"": row}
        self.ended = row.done()
        return Frame("step", self.episode, self.step_number, [row], returned)

    def mask(self, at: At) -> Any:
        """What the method `action_masks()` gives, of the environment or of one in its wrappers; None without it."""
        for holder in (self.environment, getattr(self.environment, "unwrapped", None)):
            method = getattr(holder, action_mask.METHOD, None)
            if callable(method):
                return self.subject.call(at._replace(call=action_mask.METHOD), method)
        return None


def check_reset(api: Api, returned: Any, at: At) -> None:
    """Refuses what is not (observation, info)."""
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict):
        return
    if isinstance(returned, tuple) and len(returned) == 2 and not _looks_like_observation(api, returned):
        raise api.refuse(
            "api.reset", "the second value of reset is no dict", at, returned[1], "(observation, info), info a dict"
        )
    if returned is None:
        raise api.refuse("api.reset", "reset returned nothing", at, "None", "(observation, info)", "add the return")
    raise api.refuse(
        "api.generation",
        "reset returned no (observation, info): this is the API of Gym before 0.26",
        at,
        returned,
        "(observation, info)",
        "return observation, {}",
    )


def check_step(api: Api, returned: Any, at: At) -> None:
    """Refuses what is not the five values of `STEP`."""
    if isinstance(returned, tuple) and len(returned) == 5:
        return
    count = f"{len(returned)} values" if isinstance(returned, tuple) else words(returned)
    if isinstance(returned, tuple) and len(returned) == 4:
        raise api.refuse(
            "api.generation",
            "step returned four values: this is the API of Gym before 0.26, and truncation is missing",
            at,
            f"{count}: {', '.join(words(value) for value in returned)}",
            STEP,
            "return terminated and truncated apart: only the environment knows which one ended the episode",
        )
    raise api.refuse("api.step", "step did not return five values", at, count, STEP)


def _looks_like_observation(api: Api, returned: Any) -> bool:
    """Whether a pair may be an observation of a Tuple space, as an old reset returns it bare."""
    from .. import spaces

    return spaces.kind(api.observation_space("")) == "Tuple"

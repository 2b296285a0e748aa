"""Actions: every kind of value that the space holds is taken, from the least to the greatest; samples lie inside."""

from __future__ import annotations

from typing import Any

from .. import spaces, values
from ..apis.api import Api, Frame
from ..numerics import np
from ..subject import At
from . import check


class Check(check.Check):
    """The space's own samples are members, for all leaves and the trainer's way of writing an action."""

    title = "actions: members of their space"
    order = 55

    def spaces(self, api: Api) -> None:
        """Asks the space about values that it must hold, and about ones that it must not."""
        keys = api.keys()[:8]
        rng = np.random.default_rng(int(self.subject.job["seed"]))
        for key in keys[:1] if api.batched else keys:
            space = api.action_space(key)
            agent = str(key) if len(keys) > 1 and not api.batched else ""
            contains = getattr(space, "contains", None)
            if not callable(contains):
                continue
            for extreme in (-1, 0, 1):
                value = spaces.sample(space, rng, None, extreme)
                self.member(contains, value, At("action_space", agent=agent), extreme, space)
        self.detail = "least, greatest and drawn values are members"

    def frame(self, api: Api, frame: Frame) -> None:
        """The caller's action is as it was: it is stored beside the reward, and may be a part of a shared buffer."""
        given, before = api.given
        # A native PufferEnv may own the buffer of the actions.
        if frame.call != "step" or api.in_place or not isinstance(given, (np.ndarray, dict, list, tuple)):
            return
        path = values.difference(given, before)
        if path is not None:
            self.subject.finding(
                "action.written",
                "step changes the action that the caller gave",
                frame.at(),
                leaf=path,
                got=str(given)[:100],
                want=str(before)[:100],
                fix="work on a copy: action = numpy.array(action); no out=action, no action *= ...",
            )

    def member(self, contains: Any, value: Any, at: At, extreme: int, space: Any) -> None:
        """One value that has to be in the space."""
        if any(leaf.kind not in spaces.LEAVES for leaf in spaces.leaves(space)):
            return
        fine, answer = self.subject.attempt(at, contains, value)
        if not fine or not answer:
            name = {-1: "the least value", 0: "a drawn value", 1: "the greatest value"}[extreme]
            self.subject.finding(
                "action.not_member",
                f"the action space does not contain {name} of its own",
                at,
                got=str(value)[:100] if fine else str(answer),
                want=spaces.words(space),
            )

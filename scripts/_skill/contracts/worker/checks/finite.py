"""No NaN and no infinity, in observations and rewards; the rollout stops at the first one."""

from __future__ import annotations

from typing import Any

from .. import values
from ..apis.api import ABSENT, Api, Frame
from ..numerics import np
from . import check


class Check(check.Check):
    """The first value that is not finite, by episode, step, agent, leaf and index."""

    title = "finite values"
    order = 25

    def frame(self, api: Api, frame: Frame) -> None:
        """Every float of every observation, and every reward."""
        for row in frame.rows:
            for path, array in values.arrays(row.observation):
                self.array(path or "/", array, frame, row)
            if isinstance(row.observation, (float, np.floating)):
                self.array("/", np.asarray(row.observation), frame, row)
            if row.reward is not ABSENT and isinstance(row.reward, (float, int, np.generic, np.ndarray)):
                reward = np.asarray(row.reward)
                # An integer beyond 64 bits becomes an array of objects, which the check of rewards looks at.
                if reward.dtype.kind == "f" and not np.isfinite(reward).all():
                    self.found("reward.not_finite", "the reward is not finite", "reward", (), row.reward, frame, row)

    def array(self, path: str, array: Any, frame: Frame, row: Any) -> None:
        """One array; the first index that is not finite."""
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            places = np.argwhere(~np.isfinite(array))
            indices = tuple(int(index) for index in places[0])
            message = "the observation has a value that is not finite"
            self.found("observation.not_finite", message, path, indices, array[indices], frame, row)

    def found(
        self, code: str, message: str, leaf: str, indices: tuple[int, ...], value: Any, frame: Frame, row: Any
    ) -> None:
        """Sends the finding and ends the rollout: everything after it may come from this value."""
        if not self.subject.stopped:
            self.subject.stopped = "the rollout ended at the first value that is not finite"
            self.subject.finding(
                code,
                message,
                frame.at(row),
                leaf=leaf,
                indices=indices,
                got=values.number(value),
                want="a finite number",
            )

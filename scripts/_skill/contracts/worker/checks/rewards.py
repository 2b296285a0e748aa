"""Rewards are plain real numbers: not None, not a bool, not an array of one."""

from __future__ import annotations

from ..apis.api import ABSENT, Api, Frame
from ..numerics import np
from ..subject import Subject
from ..values import words
from . import check


class Check(check.Check):
    """Python and numpy integers and floats pass; everything else fails later, when rewards are stacked."""

    title = "rewards: real numbers"
    order = 40

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.low = float("inf")
        self.high = float("-inf")

    def frame(self, api: Api, frame: Frame) -> None:
        """The reward of every row."""
        for row in frame.rows:
            reward = row.reward
            if reward is ABSENT:
                continue
            if isinstance(reward, (bool, np.bool_)) or not isinstance(reward, (int, float, np.integer, np.floating)):
                fix = "return float(reward)"
                if reward is None:
                    fix = "a reward function without a return gives None"
                elif isinstance(reward, np.ndarray):
                    fix = "return reward.item()" if reward.size == 1 else "one number for each agent"
                self.subject.finding(
                    "reward.type",
                    "the reward is no real number",
                    frame.at(row),
                    got=words(reward),
                    want="a Python or numpy integer or float",
                    fix=fix,
                )
                continue
            try:
                size = float(reward)
            except OverflowError:
                self.subject.finding(
                    "reward.not_finite",
                    "the reward is an integer beyond every float",
                    frame.at(row),
                    got=f"an integer of {int(reward).bit_length()} bits",
                    want="a finite number",
                )
                continue
            if size - size == 0:
                self.low, self.high = min(self.low, size), max(self.high, size)

    def finish(self, api: Api) -> None:
        """Says the range."""
        if self.low <= self.high:
            self.detail = f"{self.low:g} to {self.high:g}"

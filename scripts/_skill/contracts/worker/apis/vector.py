"""Gymnasium's vector environments: every row is one environment of a batch."""

from __future__ import annotations

from typing import Any

from ..subject import At
from ..values import part, words
from .api import ABSENT, Api, Choose, Frame, Row, has, stacked
from .gymnasium_api import check_reset, check_step


class VectorApi(Api):
    """`gymnasium.vector.VectorEnv`, or anything with its attributes."""

    name = "gymnasium"
    form = "vector"
    wants = "num_envs, single_observation_space, single_action_space, reset, step"
    batched = True

    @classmethod
    def fits(cls, environment: Any) -> bool:
        """A number of environments and the spaces of one."""
        names = ("num_envs", "single_observation_space", "single_action_space", "reset", "step")
        return all(has(environment, name) for name in names)

    def keys(self) -> list[Any]:
        """Indices of the environments."""
        return list(range(int(self.get("num_envs"))))

    def observation_space(self, key: Any) -> Any:
        """The space of one environment."""
        return self.get("single_observation_space")

    def action_space(self, key: Any) -> Any:
        """The space of one environment."""
        return self.get("single_action_space")

    def reset(self, seed: int | None = None) -> Frame:
        """`reset(seed=...)` of the whole batch."""
        self.begin()
        returned = self.call_reset(seed)
        at = At("reset", self.episode, 0)
        check_reset(self, returned, at)
        rows = self.rows(at, returned[0], (ABSENT, ABSENT, ABSENT), returned[1])
        return Frame("reset", self.episode, 0, rows, returned)

    def step(self, choose: Choose) -> Frame:
        """`step(actions)` of the whole batch; episodes go on by autoreset."""
        self.step_number += 1
        at = At("step", self.episode, self.step_number)
        space = self.action_space(0)
        actions = self.give(stacked(space, [choose(key, self.last.get(key)) for key in self.keys()]))
        returned = self.subject.call(at, self.get("step"), actions)
        check_step(self, returned, at)
        rows = self.rows(at, returned[0], returned[1:4], returned[4])
        return Frame("step", self.episode, self.step_number, rows, returned)

    def rows(self, at: At, observation: Any, values: tuple[Any, ...], info: Any) -> list[Row]:
        """One row for each environment; a batch of another length is refused."""
        rows = []
        count = len(self.keys())
        for name, value in zip(("reward", "terminated", "truncated"), values, strict=True):
            if value is not ABSENT and (not hasattr(value, "shape") or tuple(value.shape) != (count,)):
                raise self.refuse(
                    "api.batch", f"the {name} of a batch is no array of one value each", at, value, f"shape ({count},)"
                )
        for key in self.keys():
            try:
                mine = part(observation, key)
                parts = [value if value is ABSENT else value[key] for value in values]
            except (IndexError, KeyError, TypeError):
                raise self.refuse(
                    "api.batch",
                    "the observation has no part for each environment",
                    at,
                    words(observation),
                    f"arrays with {count} environments as their first axis",
                ) from None
            infos = info if key == 0 else {}
            rows.append(Row(key, "", mine, parts[0], parts[1], parts[2], infos, key))
        if self.batch_length(observation) not in (None, count):
            raise self.refuse("api.batch", "the batch has another length", at, observation, f"{count} environments")
        self.last = {row.key: row for row in rows}
        return rows

    def batch_length(self, observation: Any) -> int | None:
        """The length of the first axis of the first array, or None where there is none."""
        from ..values import arrays

        return next((int(array.shape[0]) for _, array in arrays(observation) if array.shape), None)

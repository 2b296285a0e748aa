"""PufferEnv, the native form: spaces of one agent, arrays for all agents that the environment writes in place."""

from __future__ import annotations

from typing import Any

from ..subject import At
from ..values import words
from .api import ABSENT, Choose, Frame, Row, has, stacked
from .vector import VectorApi

STEP = "(observations, rewards, terminals, truncations, infos)"


class PufferApi(VectorApi):
    """Anything with `single_observation_space`, `single_action_space` and `num_agents`."""

    name = "pufferenv"
    form = ""
    wants = "single_observation_space, single_action_space, num_agents, reset, step"
    in_place = True

    @classmethod
    def fits(cls, environment: Any) -> bool:
        """The class attributes of a PufferEnv."""
        names = ("single_observation_space", "single_action_space", "num_agents", "reset", "step")
        return all(has(environment, name) for name in names)

    def keys(self) -> list[Any]:
        """Indices of the agents."""
        return list(range(self.agents()))

    def agents(self) -> int:
        """How many agents there are."""
        count = self.get("num_agents")
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise self.refuse("api.num_agents", "num_agents is no positive int", At("num_agents"), count, "1 or more")
        return count

    def reset(self, seed: int | None = None) -> Frame:
        """`reset(seed)` gives (observations, list of infos)."""
        self.begin()
        returned = self.call_reset(seed)
        at = At("reset", self.episode, 0)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise self.refuse(
                "api.reset", "reset did not return two values", at, returned, "(observations, list of infos)"
            )
        rows = self.rows(at, returned[0], (ABSENT, ABSENT, ABSENT), self.infos(at, returned[1]))
        return Frame("reset", self.episode, 0, rows, returned)

    def step(self, choose: Choose) -> Frame:
        """`step(actions)` gives five values, the arrays of the environment."""
        self.step_number += 1
        at = At("step", self.episode, self.step_number)
        actions = stacked(self.action_space(0), [choose(key, self.last.get(key)) for key in self.keys()])
        buffer = getattr(self.environment, "actions", None)
        if buffer is not None and hasattr(buffer, "dtype") and hasattr(actions, "astype"):
            actions = actions.astype(buffer.dtype)
        returned = self.subject.call(at, self.get("step"), actions)
        if not isinstance(returned, tuple) or len(returned) != 5:
            got = f"{len(returned)} values" if isinstance(returned, tuple) else words(returned)
            code = "api.generation" if isinstance(returned, tuple) and len(returned) == 4 else "api.step"
            raise self.refuse(code, "step did not return five values", at, got, STEP)
        rows = self.rows(at, returned[0], returned[1:4], self.infos(at, returned[4]))
        return Frame("step", self.episode, self.step_number, rows, returned)

    def rows(self, at: At, observation: Any, values: tuple[Any, ...], info: Any) -> list[Row]:
        """One row for each agent; where the environment's mask is off, nothing is said about an agent."""
        rows = super().rows(at, observation, values, info)
        masks = getattr(self.environment, "masks", None)
        named = [row._replace(agent=str(row.key) if len(rows) > 1 else "", environment=-1) for row in rows]
        if masks is None or getattr(masks, "shape", None) != (len(rows),):
            return named
        return [row for row in named if bool(masks[row.key])]

    def infos(self, at: At, infos: Any) -> Any:
        """The infos as one dict; a PufferEnv gives a list of dicts."""
        if not isinstance(infos, list) or not all(isinstance(item, dict) for item in infos):
            raise self.refuse("api.infos", "the infos are no list of dicts", at, infos, "a list of dicts")
        return {str(index): item for index, item in enumerate(infos)}

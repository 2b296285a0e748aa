"""PettingZoo's parallel API: every live agent acts in every step, and dicts speak of each of them."""

from __future__ import annotations

from typing import Any

from ..subject import At, Subject
from ..values import words
from .api import ABSENT, Api, Choose, Frame, Row, has
from .lives import Lives

STEP = "(observations, rewards, terminations, truncations, infos), each a dict"
NAMES = ("observations", "rewards", "terminations", "truncations", "infos")


class ParallelApi(Api):
    """`pettingzoo.ParallelEnv`, or anything with its attributes."""

    name = "pettingzoo-parallel"
    wants = "possible_agents, observation_space(agent), action_space(agent), reset, step"

    def __init__(self, subject: Subject, environment: Any) -> None:
        super().__init__(subject, environment)
        self.lives = Lives(subject, bool(subject.job["respawn"]))
        self.live: list[Any] = []

    @classmethod
    def fits(cls, environment: Any) -> bool:
        """Spaces that are asked for by agent; the list of agents may come with the first reset."""
        names = ("observation_space", "action_space", "reset", "step")
        return all(has(environment, name) and callable(getattr(environment, name)) for name in names)

    def possible(self) -> Any:
        """`possible_agents`, or None where there is none (agents may be made up as the episode goes)."""
        return getattr(self.environment, "possible_agents", None)

    def keys(self) -> list[Any]:
        """The possible agents, or those alive."""
        possible = self.possible()
        return list(possible) if isinstance(possible, (list, tuple)) else list(self.live)

    def agents(self) -> int:
        """How many agents there can be."""
        return max(1, len(self.keys()))

    def observation_space(self, key: Any) -> Any:
        """The space of one agent's observation."""
        return self.subject.call(At("observation_space", agent=str(key)), self.get("observation_space"), key)

    def action_space(self, key: Any) -> Any:
        """The space of one agent's action."""
        return self.subject.call(At("action_space", agent=str(key)), self.get("action_space"), key)

    def reset(self, seed: int | None = None) -> Frame:
        """`reset(seed=...)` gives (observations, infos)."""
        self.begin()
        self.lives.begin()
        returned = self.call_reset(seed)
        at = At("reset", self.episode, 0)
        if not isinstance(returned, tuple) or len(returned) != 2:
            code = "api.generation" if isinstance(returned, dict) else "api.reset"
            raise self.refuse(
                code, "reset did not return (observations, infos)", at, returned, "two dicts", "return the infos too"
            )
        self.live = self.lives.listed(self.get("agents"), self.possible(), at)
        for name, values in zip(("observations", "infos"), returned, strict=True):
            self.lives.present(name, values, self.live, at)
        if not self.live:
            self.subject.finding("agents.none", "no agent is alive after reset", at, check="agents")
            self.ended = True
        rows = self._rows(self.live, returned[0], ({}, {}, {}), returned[1])
        return Frame("reset", self.episode, 0, rows, returned)

    def step(self, choose: Choose) -> Frame:
        """`step(actions)` gives five dicts."""
        self.step_number += 1
        at = At("step", self.episode, self.step_number)
        before = list(self.live)
        actions = self.give({agent: choose(agent, self.last.get(agent)) for agent in before})
        returned = self.subject.call(at, self.get("step"), actions)
        if not isinstance(returned, tuple) or len(returned) != 5:
            got = f"{len(returned)} values" if isinstance(returned, tuple) else words(returned)
            code = "api.generation" if isinstance(returned, tuple) and len(returned) == 4 else "api.step"
            message = "step returned four values: an old API, in which truncation is missing"
            raise self.refuse(
                code, message if code == "api.generation" else "step did not return five values", at, got, STEP
            )
        for name, values in zip(NAMES, returned, strict=True):
            self.lives.present(name, values, before, at)
            self.lives.known(name, values, [*before, *self.keys(), *self.get("agents")], at)
        observations, rewards, terminations, truncations, infos = returned
        self.live = self.lives.listed(self.get("agents"), self.possible(), at)
        rows = self._rows(before, observations, (rewards, terminations, truncations), infos)
        ended = {row.key for row in rows if row.done()}
        born = [agent for agent in self.live if agent not in before and agent in observations]
        rows += self._rows(born, observations, ({}, {}, {}), infos)
        self.lives.after(before, ended, self.live, at)
        gone = [agent for agent in observations if agent in self.lives.finished and agent not in ended]
        if gone and not self.lives.respawn:
            self.subject.finding(
                "agents.after_death",
                "an agent that ended earlier is still given an observation",
                at._replace(agent=str(gone[0])),
                want="nothing about an agent after the step in which it ended",
                severity="warning",
                check="agents",
            )
        self.last = {row.key: row for row in rows if row.key in self.live}
        self.ended = not self.live or (not self.lives.respawn and set(self.live) <= ended)
        return Frame("step", self.episode, self.step_number, rows, returned)

    def _rows(self, agents: list[Any], observations: Any, values: tuple[Any, ...], infos: Any) -> list[Row]:
        rewards, terminations, truncations = values
        rows = [
            Row(
                agent,
                str(agent),
                observations[agent],
                rewards.get(agent, ABSENT),
                terminations.get(agent, ABSENT),
                truncations.get(agent, ABSENT),
                infos.get(agent, ABSENT),
            )
            for agent in agents
            if agent in observations
        ]
        self.last = {row.key: row for row in rows}
        return rows

"""PettingZoo's AEC API: agents act in turn; `last()` says what the agent whose turn it is has to know."""

from __future__ import annotations

from typing import Any

from ..subject import At
from ..values import words
from .api import Choose, Frame, Row, _true, has
from .parallel import ParallelApi

DICTS = ("rewards", "terminations", "truncations", "infos")
TOLERANCE = 1e-6


class AecApi(ParallelApi):
    """`pettingzoo.AECEnv`, or anything with its attributes."""

    name = "pettingzoo-aec"
    wants = "possible_agents, agent_selection, last(), observe(agent), reset, step"
    rewards: dict[Any, float]
    """What `last` has to give each agent: the rewards since it acted."""
    over: dict[Any, int]
    """Agents whose flags are set, and the step at which they were."""

    @classmethod
    def fits(cls, environment: Any) -> bool:
        """Agents, and a call that speaks of the one whose turn it is."""
        names = ("last", "observe", "reset", "step", "observation_space", "action_space")
        return all(callable(getattr(environment, name, None)) for name in names)

    def reset(self, seed: int | None = None) -> Frame:
        """`reset(seed=...)` returns nothing; then `last()` speaks of the first agent."""
        self.begin()
        self.last.clear()
        self.over = {}
        self.lives.begin()
        returned = self.call_reset(seed)
        at = At("reset", self.episode, 0)
        if returned is not None:
            self._finding("aec.reset", "reset returned something", at, words(returned), "None: AEC has last()")
        self.live = self.lives.listed(self.get("agents"), self.possible(), at)
        self._dicts(at)
        self.rewards = dict.fromkeys(self.live, 0.0)
        if not self.live:
            self._finding("agents.none", "no agent is alive after reset", at, "[]", "at least one agent")
            self.ended = True
            return Frame("reset", self.episode, 0, [], None)
        row, raw = self._turn(at)
        row = row._replace(reward=0.0)
        return Frame("reset", self.episode, 0, [row], raw)

    def step(self, choose: Choose) -> Frame:
        """The agent whose turn it is acts, or steps with None where it has ended."""
        self.step_number += 1
        agent = self.get("agent_selection")
        at = At("step", self.episode, self.step_number, str(agent))
        row = self.last[agent]
        dead = row.done()
        before = list(self.live)
        action = self.give(None if dead else choose(agent, row))
        returned = self.subject.call(at, self.get("step"), action)
        if returned is not None:
            self._finding("aec.step", "step returned something", at, words(returned), "None: AEC has last()")
        self.live = self.lives.listed(self.get("agents"), self.possible(), at._replace(agent=""))
        if dead:
            if agent in self.live and not self.lives.respawn:
                self._finding(
                    "aec.dead_step",
                    "an agent that had ended stepped with None and is still in agents",
                    at,
                    f"agents {list(map(str, self.live))[:8]}",
                    "the agent is removed in that step",
                )
            self.lives.finished[agent] = self.step_number
            self.over.pop(agent, None)
        gone = {other for other in before if other not in self.live}
        if not dead or gone - {agent}:
            unsaid = gone - ({agent} if dead else set())
            for other in list(unsaid)[:1]:
                self._finding(
                    "agents.vanished",
                    "an agent left agents without its last step with None",
                    at._replace(agent=str(other)),
                    f"agents {list(map(str, self.live))[:8]}",
                    "terminated or truncated is set, then the agent steps with None, then it leaves",
                )
        self.lives.after([], set(), self.live, at)
        self._dicts(at)
        self._add_rewards(agent, dead)
        if not self.live:
            self.ended = True
            return Frame("step", self.episode, self.step_number, [], None)
        row, raw = self._turn(at)
        return Frame("step", self.episode, self.step_number, [row], raw)

    def _turn(self, at: At) -> tuple[Row, Any]:
        """What `last()` says about the agent whose turn it is."""
        agent = self.get("agent_selection")
        if agent not in self.live:
            raise self.refuse(
                "aec.selection",
                "agent_selection names an agent that is not in agents",
                at,
                str(agent),
                f"one of {list(map(str, self.live))[:8]}",
            )
        place = at._replace(call="last", agent=str(agent))
        raw = self.subject.call(place, self.get("last"))
        if not isinstance(raw, tuple) or len(raw) != 5:
            got = f"{len(raw)} values" if isinstance(raw, tuple) else words(raw)
            code = "api.generation" if isinstance(raw, tuple) and len(raw) == 4 else "api.last"
            want = "(observation, reward, terminated, truncated, info)"
            raise self.refuse(code, "last did not return five values", place, got, want)
        row = Row(agent, str(agent), *raw)
        expected = self.rewards.get(agent, 0.0)
        try:
            given = float(row.reward)
        except (TypeError, ValueError):
            given = expected
        if abs(given - expected) > TOLERANCE * max(1.0, abs(expected)) and given - given == 0:
            self._finding(
                "aec.cumulative_reward",
                "last gives another reward than the sum of rewards since the agent acted",
                place,
                f"{given:g}",
                f"{expected:g}",
                "set _cumulative_rewards of the acting agent to 0 before, and _accumulate_rewards() after",
            )
            self.rewards[agent] = given
        self.last[agent] = row
        return row, raw

    def _add_rewards(self, acted: Any, dead: bool) -> None:
        """Keeps the sum of what each agent was given since it acted."""
        rewards = getattr(self.environment, "rewards", {})
        if not dead:
            self.rewards[acted] = 0.0
        # Who left takes the sum along: an agent that comes back begins at 0.
        self.rewards = {agent: value for agent, value in self.rewards.items() if agent in self.live}
        for agent in self.live:
            value = rewards.get(agent, 0.0) if isinstance(rewards, dict) else 0.0
            if isinstance(value, (int, float)) or hasattr(value, "dtype"):
                try:
                    self.rewards[agent] = self.rewards.get(agent, 0.0) + (0.0 if dead else float(value))
                except (TypeError, ValueError):
                    continue

    def _dicts(self, at: At) -> None:
        """Every dict of the environment speaks of every agent."""
        for name in DICTS:
            if not has(self.environment, name):
                self._finding("aec.attribute", f"the environment has no {name}", at, "", f"a dict {name}")
                continue
            self.lives.present(name, getattr(self.environment, name), self.live, at._replace(agent=""))
        for agent in self.live:
            ended = any(
                _true(getattr(self.environment, name, {}).get(agent, False)) for name in ("terminations", "truncations")
            )
            if ended:
                self.over.setdefault(agent, self.step_number)
            elif agent in self.over:
                self.lives.revived(agent, at._replace(agent=str(agent)), self.over.pop(agent))

    def _finding(self, code: str, message: str, at: At, got: str, want: str, fix: str = "") -> None:
        self.subject.finding(code, message, at, got=got, want=want, fix=fix, check="agents")

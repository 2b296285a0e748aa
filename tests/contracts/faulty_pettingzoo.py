"""PettingZoo environments: two agents walk for a while; each class but the honest ones has one fault."""

# Run in a child, with packages that the checks do not have.
# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.agent_selector import AgentSelector
from pettingzoo.utils.conversions import aec_to_parallel, parallel_to_aec

FAULTS: dict[str, str] = {}


def fault(code: str) -> Any:
    def note(kind: Any) -> Any:
        FAULTS[kind.__name__] = code
        return kind

    return note


def honest(kind: Any) -> Any:
    return kind


@honest
class Walkers(ParallelEnv[str, Any, Any]):
    """Agent b ends at step 4, agent a at step 8."""

    metadata = {"name": "walkers", "render_modes": []}  # noqa: RUF012
    lives = {"a": 8, "b": 4}  # noqa: RUF012

    def __init__(self) -> None:
        self.possible_agents = list(self.lives)
        self.box = spaces.Box(-20, 20, (2,), np.float32)
        self.moves = {agent: spaces.Discrete(3) for agent in self.lives}

    def observation_space(self, agent: str) -> Any:
        return self.box

    def action_space(self, agent: str) -> Any:
        return self.moves[agent]

    def observe(self) -> dict[str, Any]:
        return {agent: np.array([self.places[agent], self.count], np.float32) for agent in self.agents}

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None or not hasattr(self, "generator"):
            self.generator = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self.count = 0
        self.places = {agent: int(self.generator.integers(-3, 4)) for agent in self.agents}
        return self.observe(), {agent: {} for agent in self.agents}

    def step(self, actions: Any) -> Any:
        assert set(actions) == set(self.agents)
        self.count += 1
        for agent, action in actions.items():
            self.places[agent] += int(action) - 1
        observations = self.observe()
        ended = {agent: self.count >= self.lives[agent] for agent in self.agents}
        results = (
            observations,
            {agent: float(self.places[agent]) for agent in self.agents},
            ended,
            dict.fromkeys(self.agents, False),
            {agent: {} for agent in self.agents},
        )
        self.agents = [agent for agent in self.agents if not ended[agent]]
        return results


@fault("agents.still_listed")
class KeepsTheDead(Walkers):
    def step(self, actions: Any) -> Any:
        before = list(self.agents)
        found = super().step(actions)
        self.agents = before
        return found


@fault("agents.revived")
class Revives(Walkers):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        if self.count == 6:
            self.agents = ["a", "b"]
            self.lives = {"a": 8, "b": 8}
            observations = {**found[0], "b": np.zeros(2, np.float32)}
            return (observations, *found[1:])
        if self.count == 8:
            self.lives = {"a": 8, "b": 4}
        return found


@fault("agents.unknown")
class SaysAll(Walkers):
    """The key of another library: to whoever goes through the dict it is an agent."""

    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        found[2]["__all__"] = not self.agents
        return found


@fault("aliasing.dict")
class SameRewards(Walkers):
    def step(self, actions: Any) -> Any:
        observations, rewards, *rest = super().step(actions)
        self.kept = getattr(self, "kept", {})
        self.kept.clear()
        self.kept.update(rewards)
        return (observations, self.kept, *rest)


@fault("action.written")
class TakesActionsAway(Walkers):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        actions.clear()
        return found


@fault("agents.missing")
class ForgetsOne(Walkers):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        if self.count == 3:
            del found[0]["b"]
        return found


@fault("agents.missing")
class NoRewardForOne(Walkers):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        found[1].pop("b", None)
        return found


@fault("agents.missing")
class NoInfoAtReset(Walkers):
    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed)[0], {}


@fault("agents.vanished")
class Vanishes(Walkers):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        if self.count == 2:
            self.agents = ["a"]
        return found


@fault("agents.unknown")
class Stranger(Walkers):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        if self.count == 2:
            self.agents = [*self.agents, "stranger"]
            self.lives = {**self.lives, "stranger": 8}
            self.moves["stranger"] = spaces.Discrete(3)
            self.places["stranger"] = 0
            found[0]["stranger"] = np.zeros(2, np.float32)
        return found


@fault("agents.duplicate")
class Twice(Walkers):
    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        found = super().reset(seed)
        self.agents = ["a", "b", "a"]
        return found


@fault("agents.dict")
class ListOfRewards(Walkers):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        return (found[0], list(found[1].values()), *found[2:])


@fault("agents.none")
class NobodyThere(Walkers):
    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed)
        self.agents = []
        return {}, {}


@fault("api.generation")
class OldReset(Walkers):
    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed)[0]


@fault("api.generation")
class OldStep(Walkers):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        return found[0], found[1], found[2], found[4]


@fault("space.not_same")
class NewSpaces(Walkers):
    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(3)


@fault("observation.dtype")
class WideObservation(Walkers):
    def observe(self) -> dict[str, Any]:
        return {agent: value.astype(np.float64) for agent, value in super().observe().items()}


@fault("aliasing.observation")
class OneArrayForEach(Walkers):
    def observe(self) -> dict[str, Any]:
        self.arrays = getattr(self, "arrays", {agent: np.zeros(2, np.float32) for agent in self.lives})
        for agent, value in super().observe().items():
            self.arrays[agent][:] = value
        return {agent: self.arrays[agent] for agent in self.agents}


@fault("space.agents_differ")
class DifferentSpaces(Walkers):
    def __init__(self) -> None:
        super().__init__()
        self.moves["b"] = spaces.Discrete(2)


@fault("mask.empty")
class NothingLegal(Walkers):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        for agent in found[4]:
            found[4][agent]["action_mask"] = np.array([1, 1, self.count != 2], np.int8) * (self.count != 2)
        return found


@honest
class RespawnsAtOnce(Walkers):
    """Agent b ends at step 4 and is there again in the same step; only right with --respawn."""

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.lives = {"a": 8, "b": 4}
        return super().reset(seed)

    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        if self.count == 4:
            self.agents = ["a", "b"]
            self.lives = {"a": 8, "b": 8}
        return found


class Turns(AECEnv[str, Any, Any]):
    """Three agents count in turn; the reward is what was said; ends after 12 words."""

    metadata = {"name": "turns", "render_modes": []}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = ["x", "y", "z"]
        self.spaces_of = {
            agent: (spaces.Box(-99, 99, (1,), np.float32), spaces.Discrete(3)) for agent in self.possible_agents
        }

    def observation_space(self, agent: str) -> Any:
        return self.spaces_of[agent][0]

    def action_space(self, agent: str) -> Any:
        return self.spaces_of[agent][1]

    def observe(self, agent: str) -> Any:
        return np.array([self.total], np.float32)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        if seed is not None or not hasattr(self, "generator"):
            self.generator = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self.total = int(self.generator.integers(0, 5))
        self.count = 0
        self._selector = AgentSelector(self.agents)
        self.agent_selection = self._selector.next()

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0
        self.count += 1
        self.total += int(action)
        self._clear_rewards()
        for other in self.agents:
            self.rewards[other] = float(action) if other == agent else -0.5
        if self.count >= 12:
            self.truncations = dict.fromkeys(self.agents, True)
        self._accumulate_rewards()
        self.agent_selection = self._selector.next()


honest(Turns)


@fault("aec.cumulative_reward")
class ForgetsToClear(Turns):
    def step(self, action: Any) -> None:
        before = self._cumulative_rewards[self.agent_selection]
        agent = self.agent_selection
        super().step(action)
        if agent in self._cumulative_rewards:
            self._cumulative_rewards[agent] += before


@fault("aec.selection")
class WrongTurn(Turns):
    def step(self, action: Any) -> None:
        super().step(action)
        if self.count == 5:
            self.agent_selection = "nobody"


@fault("aec.dead_step")
class StaysAfterDeath(Turns):
    def step(self, action: Any) -> None:
        if self.truncations[self.agent_selection]:
            self.agent_selection = self._selector.next()
            return
        super().step(action)


@fault("agents.vanished")
class LeavesAtOnce(Turns):
    def step(self, action: Any) -> None:
        super().step(action)
        if self.count == 6 and "z" in self.agents and not any(self.truncations.values()):
            self.agents.remove("z")
            self._selector.reinit(self.agents)
            self.agent_selection = self._selector.next()


@fault("agents.missing")
class NoInfos(Turns):
    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed)
        self.infos = {"x": {}}


@fault("aec.reset")
class ResetReturns(Turns):
    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed)
        return self.observe("x"), {}


@fault("agents.revived")
class Undead(Turns):
    def step(self, action: Any) -> None:
        super().step(action)
        self.terminations["z"] = self.count == 4


class ComesBack(Turns):
    """The second agent ends in turn 4 and is listed again in turn 7; its sum of rewards begins at 0."""

    def enter(self, agent: str) -> None:
        self.agents.append(agent)
        self.rewards[agent] = self._cumulative_rewards[agent] = 0.0
        self.terminations[agent] = self.truncations[agent] = False
        self.infos[agent] = {}

    def step(self, action: Any) -> None:
        agent, order = self.agent_selection, list(self.agents)
        after = order[(order.index(agent) + 1) % len(order)]
        self._clear_rewards()
        if self.terminations[agent] or self.truncations[agent]:
            self.agents.remove(agent)
            for held in (self.rewards, self._cumulative_rewards, self.terminations, self.truncations, self.infos):
                del held[agent]
            self.agent_selection = after
            return
        self._cumulative_rewards[agent] = 0
        self.count += 1
        self.rewards.update(dict.fromkeys(order, 1.0))
        self._accumulate_rewards()
        second = self.possible_agents[1]
        if self.count == 4:
            self.terminations[second] = True
        if self.count == 7 and second not in self.agents:
            self.enter(second)
        if self.count >= 14:
            self.truncations = dict.fromkeys(self.agents, True)
        self.agent_selection = after


@fault("api.generation")
class OldLast(Turns):
    def last(self, observe: bool = True) -> Any:
        observation, reward, terminated, truncated, info = super().last(observe)
        return observation, reward, terminated or truncated, info


@honest
def turns_as_parallel() -> Any:
    class Rounds(Turns):
        metadata = {"name": "rounds", "is_parallelizable": True, "render_modes": []}  # noqa: RUF012

    return aec_to_parallel(Rounds())


@honest
def walkers_as_turns() -> Any:
    return parallel_to_aec(Walkers())

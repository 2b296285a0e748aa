"""PufferEnv in both forms: counters that are written in place; each class but the honest ones has one fault."""

# Run in a child, with packages that the checks do not have.
# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from pufferlib import PufferEnv


def fault(code: str) -> Any:
    return lambda kind: kind


class Counters(PufferEnv):
    """Three agents count to ten together and begin again."""

    def __init__(self, buf: Any = None, agents: int = 3) -> None:
        self.single_observation_space = spaces.Box(0, 20, (2,), np.float32)
        self.single_action_space = spaces.Discrete(3)
        self.num_agents = agents
        super().__init__(buf)
        self.generator = np.random.default_rng(0)
        self.count = 0

    def reset(self, seed: int | None = 0) -> Any:
        if seed is not None:
            self.generator = np.random.default_rng(seed)
        self.count = 0
        self.observations[:] = self.generator.random((self.num_agents, 2))
        return self.observations, []

    def step(self, actions: Any) -> Any:
        self.count += 1
        self.observations[:, 0] = self.count
        self.rewards[:] = actions
        over = self.count >= 10
        self.terminals[:] = over
        if over:
            self.count = 0
            self.observations[:] = self.generator.random((self.num_agents, 2))
        return self.observations, self.rewards, self.terminals, self.truncations, [{"length": 10}] if over else []


@fault("buffer.not_in_place")
class ReturnsCopies(Counters):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        return (found[0].copy(), *found[1:])


@fault("buffer.replaced")
class NewRewards(Counters):
    def step(self, actions: Any) -> Any:
        self.rewards = np.zeros(self.num_agents, np.float32)
        return super().step(actions)


@fault("buffer.not_used")
class OwnTerminals(Counters):
    def __init__(self, buf: Any = None) -> None:
        super().__init__(buf)
        self.terminals = np.zeros(self.num_agents, bool)


@fault("buffer.form")
class WideRewards(Counters):
    def __init__(self, buf: Any = None) -> None:
        super().__init__(buf)
        self.rewards = np.zeros(self.num_agents, np.float64)


@fault("api.generation")
class FourValues(Counters):
    def step(self, actions: Any) -> Any:
        return super().step(actions)[:4]


@fault("api.infos")
class DictOfInfos(Counters):
    def reset(self, seed: int | None = 0) -> Any:
        return super().reset(seed)[0], {}


@fault("api.batch")
class ShortBatch(Counters):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        return (found[0][:2], *found[1:])


@fault("observation.bounds")
class TooLarge(Counters):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        self.observations[1, 1] = 21
        return found


@fault("observation.not_finite")
class OneNan(Counters):
    def step(self, actions: Any) -> Any:
        found = super().step(actions)
        if self.count == 7:
            self.observations[2, 1] = np.nan
        return found


@fault("seeding.ignored")
class NoSeed(Counters):
    def reset(self, seed: int | None = 0) -> Any:
        return super().reset(5)


class Short(PufferEnv):
    """The short form."""

    def __init__(self, buf: Any = None) -> None:
        super().__init__(buf)
        self.observation_space = self.make_space((4,))
        self.action_space = self.make_discrete(4)
        self.reset()

    def reset(self) -> Any:
        self.count = 0
        return np.zeros(4, dtype=np.float32)

    def step(self, action: Any) -> Any:
        self.count += 1
        return np.full(4, self.count, np.float32), float(action), self.count >= 6, {}


@fault("observation.dtype")
class ShortFloat64(Short):
    def step(self, action: Any) -> Any:
        _, *rest = super().step(action)
        return (np.zeros(4), *rest)


@fault("api.step")
class ShortThree(Short):
    def step(self, action: Any) -> Any:
        return super().step(action)[:3]


@fault("flags.type")
class ShortFlag(Short):
    def step(self, action: Any) -> Any:
        observation, reward, done, info = super().step(action)
        return observation, reward, float(done), info

"""Batches of counters in each autoreset mode, with and without metadata."""

# Run in a child, with packages that the checks do not have.
# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv


class Counter(gymnasium.Env[Any, Any]):
    """The observation is the number of the step; the third one ends the episode."""

    def __init__(self, last: int = 3) -> None:
        self.observation_space = spaces.Box(0, 10, (1,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.last = last
        self.count = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return np.array([0], np.float32), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        return np.array([self.count], np.float32), 1.0, self.count >= self.last, False, {}


def batch(mode: Any) -> Any:
    return SyncVectorEnv([Counter, Counter], autoreset_mode=mode)


def next_step() -> Any:
    return batch(AutoresetMode.NEXT_STEP)


def same_step() -> Any:
    return batch(AutoresetMode.SAME_STEP)


def disabled() -> Any:
    return batch(AutoresetMode.DISABLED)


class Own(VectorEnv[Any, Any, Any]):
    """A batch of one's own that says nothing about its mode."""

    mode = "next_step"
    start = 0.0
    declared: Any = None

    def __init__(self) -> None:
        self.num_envs = 2
        self.single_observation_space = spaces.Box(0, 10, (1,), np.float32)
        self.single_action_space = spaces.Discrete(2)
        self.observation_space = spaces.Box(0, 10, (2, 1), np.float32)
        self.action_space = spaces.MultiDiscrete([2, 2])
        self.metadata = {"autoreset_mode": self.declared} if self.declared else {}
        self.begins = np.zeros(2, bool)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count = np.zeros(2)
        self.begins[:] = False
        return self.observation(), {}

    def observation(self) -> Any:
        return (self.count + self.first()).astype(np.float32)[:, None]

    def first(self) -> Any:
        return 0.0

    def step(self, actions: Any) -> Any:
        reward = np.where(self.begins, 0.0, 1.0)
        self.count = np.where(self.begins, 0, self.count + 1)
        over = self.count >= 3
        self.begins = over.copy() if self.mode == "next_step" else np.zeros(2, bool)
        if self.mode == "same_step":
            self.count = np.where(over, 0, self.count)
        return self.observation(), reward, over, np.zeros(2, bool), {}


class OwnNextStep(Own):
    pass


class OwnSameStep(Own):
    mode = "same_step"


class Untold(Own):
    """Starts anywhere and says nothing: which observation came cannot be told."""

    mode = "same_step"

    def first(self) -> Any:
        return self.np_random.random(2)


class Liar(Own):
    mode = "next_step"
    declared = "same_step"


class Old(Own):
    """The observation of the new episode at once, and the last one in the info: the way before 1.0."""

    mode = "same_step"

    def first(self) -> Any:
        return self.np_random.random(2)

    def step(self, actions: Any) -> Any:
        *found, _ = super().step(actions)
        infos = {"final_observation": np.array([[3.0], [3.0]])} if found[2].any() else {}
        return (*found, infos)


class SameBuffer(Own):
    def observation(self) -> Any:
        self.kept = getattr(self, "kept", np.zeros((2, 1), np.float32))
        self.kept[:] = super().observation()
        return self.kept


class SelfResetting(Counter):
    """One environment that begins again by itself, in the step after the end."""

    over = False

    def step(self, action: Any) -> Any:
        if self.over:
            self.over = False
            return self.reset()[0], 0.0, False, False, {}
        found = super().step(action)
        self.over = bool(found[2])
        return found


class AtOnce(Counter):
    """One environment that gives the first observation of the next episode in place of the last one."""

    def step(self, action: Any) -> Any:
        found = super().step(action)
        return (self.reset()[0], *found[1:]) if found[2] else found


class Dice(Counter):
    """Every observation is drawn anew."""

    def reset(self, **named: Any) -> Any:
        super().reset(**named)
        return self.np_random.random(1).astype(np.float32), {}

    def step(self, action: Any) -> Any:
        return (self.np_random.random(1).astype(np.float32), *super().step(action)[1:])


class DiceAtOnce(Dice):
    """Resets itself at the end: noise looks like a first observation in the next step, the reward does not."""

    def step(self, action: Any) -> Any:
        found = super().step(action)
        return (self.reset()[0], *found[1:]) if found[2] else found


def processes() -> Any:
    return AsyncVectorEnv([Dice, Dice])


class SeededAlike(SyncVectorEnv):
    """Two of the three environments are given the same seed."""

    def __init__(self) -> None:
        super().__init__([Dice, Dice, Dice])

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return super().reset(seed=seed if seed is None else [seed + 5, seed, seed], options=options)

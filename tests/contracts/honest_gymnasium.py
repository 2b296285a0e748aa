"""Gymnasium environments in unusual but honest forms: a check must find nothing in them."""

# Run in a child, with packages that the checks do not have.
# mypy: ignore-errors
from __future__ import annotations

import time
from typing import Any

import numpy as np
from faulty_gymnasium import Honest
from gymnasium import spaces

HONEST: list[str] = ["Honest"]


def honest(kind: Any) -> Any:
    HONEST.append(kind.__name__)
    return kind


@honest
class NumpyFlagsAndRewards(Honest):
    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, np.float32(reward), np.bool_(terminated), np.bool_(truncated), info


@honest
class IntegerReward(Honest):
    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        return (observation, int(reward), *rest)


@honest
class Nested(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Dict(
            {
                "image": spaces.Box(0, 255, (3, 4, 4), np.uint8),
                "parts": spaces.Tuple(
                    (spaces.Discrete(3), spaces.MultiBinary((2, 3)), spaces.MultiDiscrete([[2, 3], [4, 5]]))
                ),
                "inner": spaces.Dict({"x": spaces.Box(-9, 9, (), np.float64)}),
            }
        )
        self.action_space = spaces.MultiDiscrete([[2, 3], [4, 5]])

    def observation(self) -> Any:
        return {
            "image": np.full((3, 4, 4), self.count, np.uint8),
            "parts": (self.count % 3, np.ones((2, 3), np.int8), np.array([[1, 2], [3, 4]])),
            "inner": {"x": np.array(float(self.position))},
        }

    def step(self, action: Any) -> Any:
        assert action.shape == (2, 2)
        return super().step(int(action[0, 0]))


@honest
class Continuous(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.Box(np.array([-1, 0], np.float32), np.array([1, np.inf], np.float32))

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        return super().step(action[0] > 0)


@honest
class NoChance(Honest):
    """Every seed gives the same episode, and nothing random is at work."""

    def reset(self, **named: Any) -> Any:
        _, info = super().reset(**named)
        self.position = 0
        return self.observation(), info

    def step(self, action: Any) -> Any:
        self.count += 1
        return self.observation(), 0.0, False, self.count >= self.length, {}


@honest
class ConstantReadOnly(Honest):
    """The same array again and again, which nobody can write."""

    def __init__(self) -> None:
        super().__init__()
        self.constant = np.zeros(2, np.float32)
        self.constant.flags.writeable = False

    def observation(self) -> Any:
        return self.constant


@honest
class LegalMask(Honest):
    def legal(self) -> Any:
        return np.array([self.position > -2, True])

    def reset(self, **named: Any) -> Any:
        found, _ = super().reset(**named)
        return found, {"action_mask": self.legal()}

    def step(self, action: Any) -> Any:
        if self.position <= -2 and not action:
            raise ValueError("an illegal action")
        found = super().step(action)
        last = found[2] or found[3]
        return (*found[:4], {"action_mask": np.zeros(2, bool) if last else self.legal()})


@honest
class OneStep(Honest):
    """A bandit: each episode ends at once, as terminated."""

    def step(self, action: Any) -> Any:
        observation, reward, _, _, info = super().step(action)
        return observation, reward, True, False, info


@honest
class EndsBothWays(Honest):
    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, truncated, info


@honest
class OwnGenerator(Honest):
    """Seeded without the base class."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if seed is not None or not hasattr(self, "generator"):
            self.generator = np.random.default_rng(seed)
        self.position = int(self.generator.integers(-2, 3))
        self.count = 0
        return self.observation(), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        self.position = int(np.clip(self.position + int(self.generator.integers(-1, 2)), -3, 3))
        return self.observation(), 0.0, False, self.count >= self.length, {}


@honest
class ManyBits(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.MultiBinary((2, 3))

    def step(self, action: Any) -> Any:
        assert action.shape == (2, 3) and action.dtype == np.int8
        return super().step(int(action[0, 0]))


@honest
class PartsOfAnAction(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.Dict({"go": spaces.Discrete(2), "how": spaces.Box(0, 1, (3,))})

    def step(self, action: Any) -> Any:
        assert action in self.action_space
        return super().step(int(action["go"]))


@honest
class Slow(Honest):
    """Thirty steps a second: the check makes fewer of them."""

    def step(self, action: Any) -> Any:
        time.sleep(0.03)
        return super().step(action)

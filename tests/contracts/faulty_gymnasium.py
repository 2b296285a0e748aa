"""Gymnasium environments, each with one fault; the fault's finding is in `FAULTS`, the class is otherwise honest."""

# Run in a child, with packages that the checks do not have.
# mypy: ignore-errors
from __future__ import annotations

import ctypes
import os
import random
import sys
import threading
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

FAULTS: dict[str, str] = {}
"""Class name: the code that a check must find."""


def fault(code: str) -> Any:
    def note(kind: Any) -> Any:
        FAULTS[kind.__name__] = code
        return kind

    return note


class Honest(gymnasium.Env[Any, Any]):
    """A walk on a line: the observation is the position and the share of the episode that is over."""

    metadata = {"render_modes": []}  # noqa: RUF012
    length = 12

    def __init__(self, size: int = 4) -> None:
        self.observation_space = spaces.Box(-size, size, (2,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.size = size
        self.position = 0
        self.count = 0

    def observation(self) -> Any:
        return np.array([self.position, self.count / self.length], dtype=np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.position = int(self.np_random.integers(-1, 2))
        self.count = 0
        return self.observation(), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        self.position += 1 if action else -1
        self.position += int(self.np_random.integers(-1, 2))
        terminated = abs(self.position) >= self.size
        self.position = int(np.clip(self.position, -self.size, self.size))
        return self.observation(), float(-abs(self.position)), terminated, self.count >= self.length, {}


@fault("observation.dtype")
class Float64Reset(Honest):
    def reset(self, **named: Any) -> Any:
        return np.zeros(2), super().reset(**named)[1]


@fault("observation.dtype")
class Float16Step(Honest):
    def step(self, action: Any) -> Any:
        observation, *rest = super().step(action)
        return (observation.astype(np.float16), *rest)


@fault("observation.dtype")
class BigEndian(Honest):
    def observation(self) -> Any:
        return super().observation().astype(">f4")


@fault("observation.type")
class ListObservation(Honest):
    def observation(self) -> Any:
        return super().observation().tolist()


@fault("observation.shape")
class WrongShape(Honest):
    def observation(self) -> Any:
        return super().observation().reshape(1, 2)


@fault("observation.structure")
class MissingKey(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Dict({"where": spaces.Box(-9, 9, (2,)), "when": spaces.Discrete(20)})

    def observation(self) -> Any:
        return {"where": super().observation()}


@fault("observation.structure")
class ArrayForDict(MissingKey):
    def observation(self) -> Any:
        return np.zeros(2, np.float32)


@fault("observation.structure")
class ShortTuple(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Tuple((spaces.Discrete(3), spaces.Discrete(3)))

    def observation(self) -> Any:
        return (1,)


@fault("observation.dtype")
class FloatForDiscrete(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Discrete(20)

    def observation(self) -> Any:
        return float(self.count)


@fault("observation.bounds")
class DiscreteTooLarge(FloatForDiscrete):
    def observation(self) -> Any:
        return self.count + 19


@fault("observation.bounds")
class OutOfBounds(Honest):
    def observation(self) -> Any:
        return super().observation() * 3 + 9


@fault("observation.not_finite")
class NanAtSeven(Honest):
    def observation(self) -> Any:
        found = super().observation()
        if self.count == 7:
            found[1] = np.nan
        return found


@fault("observation.not_finite")
class InfinityUnbounded(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,))

    def observation(self) -> Any:
        return super().observation() + (np.float32(np.inf) if self.count == 3 else np.float32(0))


class OtherReward(Honest):
    value: Any = 1.0

    def step(self, action: Any) -> Any:
        observation, _, *rest = super().step(action)
        return (observation, self.value, *rest)


@fault("reward.type")
class NoneReward(OtherReward):
    value = None


@fault("reward.type")
class ArrayReward(OtherReward):
    value = np.array([1.0])


@fault("reward.type")
class TextReward(OtherReward):
    value = "1.0"


@fault("reward.not_finite")
class InfiniteReward(OtherReward):
    value = float("-inf")


class OtherEnd(Honest):
    def end(self, terminated: Any, truncated: Any) -> Any:
        return terminated, truncated

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return (observation, reward, *self.end(terminated, truncated), info)


@fault("flags.type")
class IntegerFlag(OtherEnd):
    def end(self, terminated: Any, truncated: Any) -> Any:
        return int(terminated), truncated


@fault("flags.type")
class NoneFlag(OtherEnd):
    def end(self, terminated: Any, truncated: Any) -> Any:
        return terminated, None


@fault("flags.time_limit")
class LimitAsEnd(Honest):
    def __init__(self) -> None:
        super().__init__(size=40)
        self.max_steps = 9

    def step(self, action: Any) -> Any:
        observation, reward, _, _, info = super().step(action)
        return observation, reward, self.count >= self.max_steps, False, info


@fault("info.type")
class NoneInfo(Honest):
    def step(self, action: Any) -> Any:
        return (*super().step(action)[:4], None)


@fault("api.reset")
class ListInfo(Honest):
    def reset(self, **named: Any) -> Any:
        return super().reset(**named)[0], []


@fault("api.generation")
class FourValues(Honest):
    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, info


@fault("api.generation")
class BareReset(Honest):
    def reset(self, **named: Any) -> Any:
        return super().reset(**named)[0]


@fault("api.step")
class NothingFromStep(Honest):
    def step(self, action: Any) -> Any:
        super().step(action)


@fault("api.reset_seed")
class ResetWithoutSeed(Honest):
    def reset(self) -> Any:
        return super().reset()


@fault("aliasing.observation")
class OneBuffer(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.buffer = np.zeros(2, np.float32)

    def observation(self) -> Any:
        self.buffer[:] = super().observation()
        return self.buffer


@fault("aliasing.observation")
class OneBufferViews(OneBuffer):
    def observation(self) -> Any:
        return super().observation()[::1]


@fault("aliasing.observation")
class ThreeBuffers(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.buffers = np.zeros((3, 2), np.float32)
        self.turn = 0

    def observation(self) -> Any:
        self.turn = (self.turn + 1) % 3
        self.buffers[self.turn] = super().observation()
        return self.buffers[self.turn]


@fault("aliasing.info")
class OneInfo(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.info: dict[str, Any] = {}

    def step(self, action: Any) -> Any:
        self.info["count"] = self.count
        return (*super().step(action)[:4], self.info)


@fault("aliasing.info")
class ArrayInInfo(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.trail = np.zeros(3)

    def step(self, action: Any) -> Any:
        self.trail[self.count % 3] = self.position
        return (*super().step(action)[:4], {"trail": self.trail[:2]})


@fault("seeding.global_random")
class GlobalNumpy(Honest):
    def reset(self, **named: Any) -> Any:
        _, info = super().reset(**named)
        self.position = int(np.random.randint(-1, 2))
        return self.observation(), info


@fault("seeding.global_random")
class GlobalPython(Honest):
    def step(self, action: Any) -> Any:
        random.random()
        return super().step(action)


@fault("seeding.not_reproducible")
class OwnEntropy(Honest):
    def reset(self, **named: Any) -> Any:
        _, info = super().reset(**named)
        self.position = int(np.random.default_rng().integers(-3, 4))
        return self.observation(), info


@fault("seeding.carries_over")
class RemembersEpisodes(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.episodes = 0

    def reset(self, **named: Any) -> Any:
        found, info = super().reset(**named)
        self.episodes += 1
        return found + np.float32(self.episodes % 7) * np.float32(0.01), info


@fault("seeding.ignored")
class AlwaysTheSame(Honest):
    def reset(self, **named: Any) -> Any:
        self._np_random = np.random.default_rng(0)
        self.position = int(self.np_random.integers(-1, 2))
        self.count = 0
        return self.observation(), {}


@fault("order.reset_after_end")
class OneEpisodeOnly(Honest):
    def step(self, action: Any) -> Any:
        if getattr(self, "over", False):
            raise RuntimeError("the game is over")
        found = super().step(action)
        self.over = found[2] or found[3]
        return found

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        if getattr(self, "over", False) and seed is not None and self.count:
            raise RuntimeError("cannot begin again")
        self.over = False
        return super().reset(seed=seed)


@fault("environment.exception")
class RaisesAtFive(Honest):
    def step(self, action: Any) -> Any:
        if self.count == 5:
            raise ValueError("five is \x1b[31mtoo many\u200b")
        return super().step(action)


@fault("environment.exit")
class Exits(Honest):
    def step(self, action: Any) -> Any:
        if self.count == 3:
            os._exit(0)
        return super().step(action)


@fault("environment.exit")
class SystemExits(Honest):
    def reset(self, **named: Any) -> Any:
        sys.exit(0)


@fault("environment.crash")
class Crashes(Honest):
    def step(self, action: Any) -> Any:
        if self.count == 4:
            ctypes.string_at(0)
        return super().step(action)


@fault("environment.hang")
class Hangs(Honest):
    def step(self, action: Any) -> Any:
        while self.count == 4:
            time.sleep(0.01)
        return super().step(action)


@fault("environment.memory")
class TakesMemory(Honest):
    def step(self, action: Any) -> Any:
        self.hoard = bytearray(600 << 20)
        time.sleep(0.5)
        return super().step(action)


@fault("environment.output")
class Prints(Honest):
    def step(self, action: Any) -> Any:
        print("step", action)
        return super().step(action)


@fault("environment.output")
class WritesToTwo(Honest):
    def reset(self, **named: Any) -> Any:
        os.write(2, b"native words\n")
        return super().reset(**named)


@fault("leak.threads")
class LeavesThreads(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.stop = threading.Event()
        threading.Thread(target=self.stop.wait, daemon=True).start()


@fault("leak.exit")
class NeverEnds(Honest):
    def close(self) -> None:
        if not hasattr(NeverEnds, "left"):
            NeverEnds.left = threading.Thread(target=time.sleep, args=(600,))
            NeverEnds.left.start()


@fault("leak.processes")
class LeavesProcesses(Honest):
    def __init__(self) -> None:
        super().__init__()
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)


@fault("leak.files")
class LeavesFiles(Honest):
    kept: list[Any] = []  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.kept.append(os.open("/dev/null", os.O_RDONLY))


@fault("leak.memory")
class RemembersEverything(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.history: list[Any] = []

    def step(self, action: Any) -> Any:
        found = super().step(action)
        self.history.append((found[0].copy(), [self.count]))
        return found


@fault("space.bound_infinite")
class OnlyInfinity(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Box(np.inf, np.inf, (2,))


@fault("space.bounds_reversed")
class ReversedLater(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space.low[1] = 99


@fault("space.bound_nan")
class NanLater(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space.high[0] = np.nan


@fault("space.bound_lost")
class BoundLost(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space.high[0] = np.inf


@fault("space.refused")
class RefusedSpace(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Box(0, 80000, (2,), np.float16)


@fault("space.unsupported")
class TextSpace(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Dict({"words": spaces.Text(5), "x": spaces.Box(-9, 9, (2,))})

    def observation(self) -> Any:
        return {"words": "abc", "x": super().observation()}


@fault("space.unknown")
class NoSpace(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = [0, 1]


class Masked(Honest):
    mask: Any = np.array([1, 1], np.int8)

    def reset(self, **named: Any) -> Any:
        return super().reset(**named)[0], {"action_mask": np.array(self.mask)}

    def step(self, action: Any) -> Any:
        return (*super().step(action)[:4], {"action_mask": np.array(self.mask)})


@fault("mask.empty")
class EmptyMask(Masked):
    mask = np.array([0, 0], np.int8)


@fault("mask.shape")
class LongMask(Masked):
    mask = np.array([1, 1, 1], np.int8)


@fault("mask.dtype")
class FloatMask(Masked):
    mask = np.array([0.5, 1.0])


@fault("mask.value")
class MaskOfTwo(Masked):
    mask = np.array([2, 1], np.int8)


@fault("flags.elapsed_steps")
class CountsTwice(Honest):
    def __init__(self) -> None:
        super().__init__(size=40)
        self.spec = gymnasium.envs.registration.EnvSpec("CountsTwice-v0", max_episode_steps=50)
        self._elapsed_steps = 0

    def step(self, action: Any) -> Any:
        self._elapsed_steps += 2
        return super().step(action)


@fault("flags.limit_ignored")
class IgnoresLimit(Honest):
    def __init__(self) -> None:
        super().__init__(size=40)
        self.spec = gymnasium.envs.registration.EnvSpec("IgnoresLimit-v0", max_episode_steps=5)


@fault("metadata.render_mode")
class OtherRenderMode(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.render_mode = "human"


@fault("close.twice")
class ClosesOnce(Honest):
    def close(self) -> None:
        del self.size


@fault("environment.exception")
class WritesOutside(Honest):
    def reset(self, **named: Any) -> Any:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "escaped.txt"), "w") as stream:
            stream.write("escaped")
        return super().reset(**named)


@fault("action.not_member")
class SpaceRefusesItself(Honest):
    def __init__(self) -> None:
        super().__init__()

        class Strange(spaces.Discrete):
            def contains(self, x: Any) -> bool:
                return bool(x == 0)

        self.action_space = Strange(3)


@fault("action.written")
class WritesAction(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.Box(-1, 1, (3,))

    def step(self, action: Any) -> Any:
        action *= 2
        return super().step(action[0] > 0)


@fault("aliasing.action")
class GivesActionBack(WritesAction):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Box(-4, 4, (2,))

    def step(self, action: Any) -> Any:
        return (action[:2], *Honest.step(self, action[0] > 0)[1:])


@fault("flags.info")
class OldTruncation(Honest):
    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, _ = super().step(action)
        return observation, reward, terminated or truncated, False, {"TimeLimit.truncated": truncated}


@fault("observation.type")
class SubclassOfArray(Honest):
    def observation(self) -> Any:
        return np.ma.masked_array(super().observation(), mask=[0, 1])


@fault("order.reset_after_step")
class StaysBroken(Honest):
    """A step that comes too early breaks it for good, although reset seems to work."""

    begun = False
    broken = False

    def reset(self, **named: Any) -> Any:
        self.begun = True
        return super().reset(**named)

    def step(self, action: Any) -> Any:
        self.broken = self.broken or not self.begun
        if self.broken:
            raise RuntimeError("stepped too early")
        return super().step(action)

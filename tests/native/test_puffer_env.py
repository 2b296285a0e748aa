"""``PufferEnv``: the seeds' example as it is written, the native form, buffers without copies, and errors that help."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import pufferlib
from pufferlib import PufferEnv

ROOT = Path(__file__).resolve().parents[2]


class MyEnvironment(PufferEnv):
    """The seeds' example; what it leaves open is the least that runs."""

    def __init__(self, buf=None):
        super().__init__(buf)

        self.observation_space = self.make_space((4,))
        self.action_space = self.make_discrete(4)

        self.reset()

    def reset(self):
        return np.zeros(4, dtype=np.float32)

    def step(self, action):
        obs = self._get_observation()
        reward = self._compute_reward()
        done = self._is_done()
        info = {}  # type: ignore[var-annotated]

        return obs, reward, done, info

    def _get_observation(self):
        return np.ones(4, dtype=np.float32)

    def _compute_reward(self):
        return 1.0

    def _is_done(self):
        return True


class Crowd(PufferEnv):
    """The native form with three agents."""

    def __init__(self, buf=None, agents=3, action=None):
        self.single_observation_space = self.make_space((2, 3), np.uint8)
        self.single_action_space = action or self.make_discrete(5)
        self.num_agents = agents
        super().__init__(buf)

    def reset(self, seed=None):
        self.observations[:] = 0
        return self.observations, []

    def step(self, actions):
        self.actions[:] = actions
        self.observations[:] += 1
        self.rewards[:] = self.actions
        return self.observations, self.rewards, self.terminals, self.truncations, [{"a": 1.0}]


def buffers(agents: int = 3, **changes) -> dict[str, np.ndarray]:
    arrays = {
        "observations": np.zeros((agents, 2, 3), np.uint8),
        "actions": np.zeros(agents, np.int32),
        "rewards": np.zeros(agents, np.float32),
        "terminals": np.zeros(agents, bool),
        "truncations": np.zeros(agents, bool),
        "masks": np.zeros(agents, bool),
    }
    return arrays | changes


def test_the_seeds_example_runs_as_it_is_written() -> None:
    env = MyEnvironment()
    assert env.observation_space == gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
    assert env.action_space == gymnasium.spaces.Discrete(4)
    assert env.reset() in env.observation_space
    obs, reward, done, info = env.step(env.action_space.sample())
    assert obs in env.observation_space and (reward, done, info) == (1.0, True, {})
    assert env.num_agents == 1 and env.observations.shape == (1, 4) and env.actions.dtype == np.int32
    assert not hasattr(env, "single_observation_space"), "the short form is told apart by this"
    env.close()
    env.close()


def test_the_native_form_has_a_row_for_every_agent() -> None:
    env = Crowd()
    assert env.observations.shape == (3, 2, 3) and env.observations.dtype == np.uint8
    assert [getattr(env, name).dtype for name in ("rewards", "terminals", "truncations", "masks")] == [
        np.dtype(np.float32),
        *[np.dtype(bool)] * 3,
    ]
    assert env.masks.all() and not env.terminals.any() and env.actions.shape == (3,)
    assert env.observation_space.shape == (3, 2, 3) and env.action_space == gymnasium.spaces.MultiDiscrete([5] * 3)
    assert (env.emulated, env.done, env.agents_per_batch, env.driver_env is env) == (False, False, 3, True)
    assert env.agent_ids.tolist() == [0, 1, 2]


def test_send_and_receive_give_the_seven_parts_of_a_batch() -> None:
    env = Crowd()
    env.async_reset(seed=1)
    env.send(np.array([1, 2, 3]))
    observations, rewards, terminals, truncations, infos, ids, masks = env.recv()
    assert observations is env.observations and rewards.tolist() == [1, 2, 3] and infos == [{"a": 1.0}]
    assert terminals is env.terminals and truncations is env.truncations and masks is env.masks and len(ids) == 3


@pytest.mark.parametrize(
    ("action", "dtype", "shape", "joint"),
    [
        (gymnasium.spaces.Discrete(5), np.int32, (3,), (3,)),
        (gymnasium.spaces.MultiDiscrete([3, 4]), np.int32, (3, 2), (3, 2)),
        (gymnasium.spaces.Box(-1, 1, (2,), np.float32), np.float32, (3, 2), (3, 2)),
    ],
    ids=["discrete", "multi-discrete", "continuous"],
)
def test_actions_have_the_form_of_their_space(action, dtype, shape, joint) -> None:
    env = Crowd(action=action)
    assert (env.actions.dtype, env.actions.shape, env.action_space.shape) == (dtype, shape, joint)


def test_given_buffers_are_used_as_they_are() -> None:
    given = buffers()
    env = Crowd(given)
    assert all(getattr(env, name) is array for name, array in given.items())
    env.reset()
    env.step(np.arange(3))
    assert given["rewards"].tolist() == [0, 1, 2] and given["masks"].all()


def test_slices_of_shared_memory_are_written_in_place() -> None:
    whole = {name: np.zeros((6, *array.shape[1:]), array.dtype) for name, array in buffers().items()}
    halves = [Crowd({name: array[at : at + 3] for name, array in whole.items()}) for at in (0, 3)]
    for number, env in enumerate(halves):
        env.reset()
        env.step(np.full(3, number + 1))
    assert whole["rewards"].tolist() == [1, 1, 1, 2, 2, 2]


def test_the_short_form_takes_given_buffers_when_its_spaces_are_known() -> None:
    given = buffers(1, observations=np.zeros((1, 4), np.float32))
    env = MyEnvironment(given)
    assert env.observations is given["observations"]
    with pytest.raises(pufferlib.APIUsageError, match=re.escape("buf['observations'] is an array (1, 2, 3) of uint8")):
        MyEnvironment(buffers(1))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rewards": np.zeros(3, np.float64)}, "buf['rewards'] is an array (3,) of float64"),
        ({"rewards": np.zeros(4, np.float32)}, "buf['rewards'] is an array (4,)"),
        ({"actions": np.zeros(3, np.int64)}, "expected a writable array (3,) of int32"),
        ({"masks": [True] * 3}, "buf['masks'] is a list"),
        ({"terminals": np.broadcast_to(np.zeros(1, bool), (3,))}, "not writable"),
    ],
)
def test_a_buffer_that_does_not_fit_is_named_with_what_was_expected(change, words: str) -> None:
    with pytest.raises(pufferlib.APIUsageError, match=re.escape(words)):
        Crowd(buffers(**change))


def test_a_buffer_that_is_missing_is_named() -> None:
    given = buffers()
    del given["truncations"]
    with pytest.raises(pufferlib.APIUsageError, match="buf has no truncations"):
        Crowd(given)


def test_make_space_knows_the_bounds_of_each_dtype() -> None:
    assert PufferEnv.make_space((8, 8, 3), np.uint8) == gymnasium.spaces.Box(0, 255, (8, 8, 3), np.uint8)
    assert PufferEnv.make_space(4) == PufferEnv.make_space((4,))
    assert PufferEnv.make_space((2,), low=-1, high=1) == gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    assert PufferEnv.make_space((2,), bool).high.tolist() == [True, True]
    assert PufferEnv.make_space((2,), np.int8).low.tolist() == [-128, -128]
    spaces = PufferEnv.make_space({"image": PufferEnv.make_space((8, 8, 1), np.uint8), "state": (4,)})
    assert isinstance(spaces, gymnasium.spaces.Dict) and spaces["state"].shape == (4,)


def test_make_discrete_takes_a_number_or_a_list() -> None:
    assert PufferEnv.make_discrete(3) == gymnasium.spaces.Discrete(3)
    assert PufferEnv.make_discrete([3, 4]) == gymnasium.spaces.MultiDiscrete([3, 4])


@pytest.mark.parametrize("shape", [(0,), (-1, 2), (2.5,), (True,), ("4",)])
def test_a_shape_that_is_none_is_refused(shape) -> None:
    with pytest.raises(pufferlib.APIUsageError, match="expected whole numbers"):
        PufferEnv.make_space(shape)


@pytest.mark.parametrize("n", [0, -1, True, [], [0], [2, True]])
def test_a_number_of_actions_that_is_none_is_refused(n) -> None:
    with pytest.raises(pufferlib.APIUsageError, match="make_discrete"):
        PufferEnv.make_discrete(n)


def made(**attributes):
    """An instance of a class with these attributes set before super().__init__()."""
    return type("Odd", (PufferEnv,), attributes)()


BOX = PufferEnv.make_space((2,))


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"single_observation_space": BOX}, "single_action_space is not"),
        ({"single_observation_space": BOX, "single_action_space": BOX, "num_agents": 0}, "num_agents is 0"),
        ({"single_observation_space": BOX, "single_action_space": BOX, "num_agents": True}, "num_agents is True"),
        ({"single_observation_space": gymnasium.spaces.Discrete(2), "single_action_space": BOX}, "expected a Box"),
        ({"single_observation_space": BOX, "single_action_space": gymnasium.spaces.Text(3)}, "is a Text"),
    ],
)
def test_native_spaces_that_do_not_fit_are_named(attributes, words: str) -> None:
    with pytest.raises(pufferlib.APIUsageError, match=re.escape(words)):
        made(**attributes)


def test_spaces_that_are_missing_or_misplaced_are_named() -> None:
    bare = PufferEnv()
    with pytest.raises(pufferlib.APIUsageError, match="observation_space is not set yet"):
        _ = bare.observation_space
    with pytest.raises(pufferlib.APIUsageError, match="there is no rewards yet"):
        _ = bare.rewards
    assert not hasattr(bare, "observations") and not hasattr(bare, "unknown")
    with pytest.raises(pufferlib.APIUsageError, match="expected a space"):
        bare.observation_space = (4,)
    with pytest.raises(pufferlib.APIUsageError, match="so action_space follows from it"):
        Crowd().action_space = PufferEnv.make_discrete(2)

    class TooEarly(PufferEnv):
        def __init__(self):
            self.observation_space = self.make_space((2,))
            super().__init__()

    with pytest.raises(pufferlib.APIUsageError, match=re.escape("before super().__init__(buf)")):
        TooEarly()
    with pytest.raises(NotImplementedError, match="PufferEnv has no step"):
        bare.step(0)


def test_a_space_of_several_parts_leaves_its_buffer_to_emulation() -> None:
    env = PufferEnv()
    env.observation_space = env.make_space({"a": (2,), "b": (3,)})
    env.action_space = env.make_discrete(2)
    assert not hasattr(env, "observations") and env.rewards.shape == (1,)


def test_the_package_and_the_name_need_no_package() -> None:
    code = "import sys; sys.modules['numpy'] = sys.modules['gymnasium'] = None; from pufferlib import PufferEnv\n"
    code += "try:\n    PufferEnv.make_discrete(2)\nexcept Exception as error:\n    print(error)\n"
    code += "import pufferlib\ntry:\n    pufferlib.nothing\nexcept AttributeError as error:\n    print(error)"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "native_profile"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    first, second = result.stdout.splitlines()
    assert "python3 -m pip install gymnasium" in first, result.stderr
    assert second == "module 'pufferlib' has no attribute 'nothing'"

"""The engine's view of an environment, many at once in a tile, is the environment: ENV_LANES, vector code and the
engine's compiler flags change speed and no bit."""

from __future__ import annotations

import ctypes

import numpy
import pytest

from pufferlib import environments

ENVS = 37  # not a multiple of any vector's width
STEPS = 400
SEED, FIRST = 5, 1000


class Tile:
    """A tile of ENVS environments through the functions of the compiled library's descriptor."""

    def __init__(self, environment):
        found = environments.load(environments.find_header(environment))
        names = "bytes seed reset step observe_rows observe_lanes statistics load store render".split()
        self.functions = dict(zip(names, found.descriptor.functions, strict=True))
        self.found = found
        self.settings = found.settings_bytes({})
        self.rows = ENVS * found.agents
        self.lanes = (self.rows + 15) // 16 * 16
        size = self.call("bytes", ENVS, result=ctypes.c_size_t)
        self.memory = ctypes.create_string_buffer(size + 64)
        self.tile = ctypes.c_void_p((ctypes.addressof(self.memory) + 63) // 64 * 64)
        self.dtype = numpy.dtype(found.observation_dtype)
        self.reward = numpy.zeros(self.lanes, "f4")
        self.terminal, self.truncated = numpy.zeros(self.lanes, "u1"), numpy.zeros(self.lanes, "u1")

    def call(self, name, *arguments, result=None):
        kinds = {int: ctypes.c_int32, numpy.ndarray: ctypes.c_void_p}
        values = [a.ctypes.data if isinstance(a, numpy.ndarray) else a for a in arguments]
        types = [kinds.get(type(a), type(a)) for a in arguments]
        return ctypes.CFUNCTYPE(result, *types)(self.functions[name])(*values)

    def seed(self):
        self.call("seed", self.tile, ENVS, ctypes.c_uint64(SEED), ctypes.c_uint64(FIRST))
        self.call("reset", self.tile, self.settings, ENVS, ctypes.c_void_p(None))

    def reset(self, which):
        self.call("reset", self.tile, self.settings, ENVS, which)

    def step(self, actions):
        """actions: (heads, lanes)."""
        self.call(
            "step", self.tile, self.settings, ENVS, self.lanes, actions, self.reward, self.terminal, self.truncated
        )

    def observe_rows(self):
        rows = numpy.zeros((self.rows, self.found.features), self.dtype)
        self.call("observe_rows", self.tile, self.settings, ENVS, rows)
        return rows

    def observe_lanes(self):
        lanes = numpy.zeros((self.found.features, self.lanes), self.dtype)
        self.call("observe_lanes", self.tile, self.settings, ENVS, self.lanes, lanes)
        return lanes

    def statistics(self, env):
        out = numpy.zeros(max(1, len(self.found.statistics)), "f4")
        self.call("statistics", self.tile, self.settings, env, ENVS, out)
        return out[: len(self.found.statistics)]


@pytest.fixture
def tile(environment):
    return Tile(environment)


@pytest.fixture
def alone(play, describe, environment):
    """The same environments one by one, through the driver."""
    words = (describe(environment)["state_size"] - 16) // 4
    made = [play(environment, [("rest", ctypes.c_uint32 * words)]) for _ in range(ENVS)]
    for number, one in enumerate(made):
        one.reset(seed=SEED, stream=FIRST + number)
    return made


def actions_of(tile, chance):
    return numpy.stack([chance.integers(n, size=tile.lanes) for n in tile.found.action_sizes]).astype("i4")


def test_tile_is_its_environments(tile, alone):
    """Observations, rewards, flags and statistics of a tile are those of its environments stepped alone, to the bit."""
    chance = numpy.random.default_rng(6)
    agents, ended = tile.found.agents, 0
    tile.seed()
    for _ in range(STEPS):
        actions = actions_of(tile, chance)
        tile.step(actions)
        which = numpy.zeros(ENVS, "u1")
        for number, one in enumerate(alone):
            own = slice(number * agents, (number + 1) * agents)
            one.step(actions[:, own].T)
            assert tile.reward[own].tolist() == one.reward
            assert (tile.terminal[own].tolist(), tile.truncated[own].tolist()) == (one.terminal, one.truncated)
            if one.ended:
                assert tile.statistics(number).tolist() == list(one.statistics.values())
                which[number] = 1
        assert tile.observe_rows().tobytes() == b"".join(one.observation.tobytes() for one in alone)
        tile.reset(which)
        for number in numpy.flatnonzero(which).tolist():
            alone[number].reset()
        ended += int(which.sum())
    assert ended > 0
    assert tile.observe_rows().tobytes() == b"".join(one.observation.tobytes() for one in alone)


def test_lanes_are_rows_turned_around(tile):
    """The two layouts hold the same numbers, and what stands behind the last agent is not touched."""
    chance = numpy.random.default_rng(7)
    tile.seed()
    for _ in range(20):
        tile.step(actions_of(tile, chance))
        lanes = tile.observe_lanes()
        assert numpy.array_equal(lanes[:, : tile.rows].T, tile.observe_rows())
        assert not lanes[:, tile.rows :].any()


def test_a_stored_state_can_be_loaded_anywhere(tile):
    """An environment moved to another place in a tile has the same future."""
    chance = numpy.random.default_rng(8)
    tile.seed()
    for _ in range(25):
        tile.step(actions_of(tile, chance))
    state = numpy.zeros(tile.found.state_bytes, "u1")
    tile.call("store", tile.tile, 3, ENVS, state)
    tile.call("load", tile.tile, 30, ENVS, state)
    agents = tile.found.agents
    first, second = slice(3 * agents, 4 * agents), slice(30 * agents, 31 * agents)
    for _ in range(60):
        actions = actions_of(tile, chance)
        actions[:, second] = actions[:, first]
        tile.step(actions)
        rows = tile.observe_rows()
        assert numpy.array_equal(rows[first], rows[second])
        assert numpy.array_equal(tile.reward[first], tile.reward[second])

"""Advantages against their definition, with the ends of an episode kept apart."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib.engine import load_engine

from .conftest import padded, pointer


def reference(lane, gamma, decay):
    """Equation 16 of the GAE paper as it is written: discounted errors up to the end of the episode. One lane."""
    rewards, values, final_values, terminals, truncations = lane
    horizon = len(rewards)
    errors = []
    for t in range(horizon):
        if terminals[t]:
            following = 0.0
        elif truncations[t]:
            following = final_values[t]
        else:
            following = values[t + 1]
        errors.append(rewards[t] + gamma * following - values[t])
    advantages = []
    for t in range(horizon):
        total, weight = 0.0, 1.0
        for k in range(t, horizon):
            total += weight * errors[k]
            weight *= gamma * decay
            if terminals[k] or truncations[k]:
                break
        advantages.append(total)
    return numpy.array(advantages)


def engine(rewards, values, final_values, terminals, truncations, gamma, decay):
    """The engine's advantages (horizon, rows) for arrays (horizon, rows) and values (horizon + 1, rows)."""
    library, _ = load_engine()
    horizon, rows = numpy.shape(rewards)
    lanes = (rows + 15) // 16 * 16
    floats = [padded(numpy.asarray(a, numpy.float32), lanes) for a in (rewards, values, final_values)]
    flags = [padded(numpy.asarray(a, numpy.uint8), lanes) for a in (terminals, truncations)]
    out = numpy.full((horizon, lanes), numpy.nan, numpy.float32)
    library.puffer_test_advantages(
        *map(pointer, floats), *map(pointer, flags), horizon, lanes, gamma, decay, pointer(out)
    )
    return out[:, :rows]


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 24),
    st.integers(1, 34),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 0.6),
)
@settings(max_examples=60)
def test_equal_to_the_definition(seed, horizon, rows, gamma, decay, ends):
    generator = numpy.random.default_rng(seed)
    rewards, final_values = generator.normal(size=(2, horizon, rows)).astype(numpy.float32)
    values = generator.normal(size=(horizon + 1, rows)).astype(numpy.float32)
    terminals, truncations = generator.random((2, horizon, rows)) < ends / 2
    got = engine(rewards, values, final_values, terminals, truncations, gamma, decay)
    for lane in range(rows):
        columns = [a[:, lane].astype(float) for a in (rewards, values, final_values, terminals, truncations)]
        expected = reference(columns, gamma, decay)
        numpy.testing.assert_allclose(got[:, lane], expected, rtol=1e-4, atol=1e-4)


def one_lane(terminal, truncated):
    rewards, values = [[1.0], [1.0], [1.0]], [[10.0], [20.0], [30.0], [40.0]]
    final_values = [[500.0]] * 3
    terminals, truncations = [[0], [terminal], [0]], [[0], [truncated], [0]]
    return engine(rewards, values, final_values, terminals, truncations, 0.5, 0.5)[:, 0].tolist()


def test_after_a_terminal_step_nothing_follows():
    assert one_lane(1, 0) == [1 + 10 - 10 + 0.25 * (1 - 20), 1 - 20, 1 + 20 - 30]


def test_a_truncated_step_bootstraps_from_its_own_last_observation():
    cut = 1 + 250 - 20
    assert one_lane(0, 1) == [1 + 10 - 10 + 0.25 * cut, cut, 1 + 20 - 30]


def test_terminal_wins_where_both_are_set():
    assert one_lane(1, 1) == one_lane(1, 0)


def test_an_open_episode_bootstraps_from_the_value_after_the_horizon():
    last = 1 + 0.5 * 40 - 30
    middle = 1 + 0.5 * 30 - 20 + 0.25 * last
    assert one_lane(0, 0) == pytest.approx([1 + 0.5 * 20 - 10 + 0.25 * middle, middle, last])


@pytest.mark.parametrize(("terminal", "truncated", "following"), [(1, 0, 0.0), (0, 1, 7.0), (0, 0, 3.0)])
def test_the_last_step_of_the_horizon_is_not_lost(terminal, truncated, following):
    got = engine([[2.0]], [[1.0], [3.0]], [[7.0]], [[terminal]], [[truncated]], 0.9, 0.95)
    assert got[0, 0] == pytest.approx(2 + 0.9 * following - 1, rel=1e-6)

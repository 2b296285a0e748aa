"""CartPole is Gymnasium's CartPole-v1, step by step: same dynamics, rewards, limits, start and 500-step truncation.

Gymnasium computes in float64 and this environment in float32, so states are compared within float32's rounding, and
what an episode does is followed with Gymnasium put back on our state after every step.
"""

from __future__ import annotations

import ctypes
from typing import Any

import gymnasium
import numpy
import pytest

FIELDS: list[tuple[str, Any]] = [(name, ctypes.c_float) for name in ("position", "velocity", "angle", "spin")]
FIELDS += [("steps", ctypes.c_int32), ("fallen", ctypes.c_int32)]
LIMITS = (2.4, 12 * 2 * numpy.pi / 360)


@pytest.fixture
def cart(play):
    return play("cartpole", FIELDS)


@pytest.fixture(scope="module")
def reference():
    made = gymnasium.make("CartPole-v1")
    made.reset(seed=0)
    yield made
    made.close()


def place(cart, values, steps=0):
    cart.state.position, cart.state.velocity, cart.state.angle, cart.state.spin = (float(v) for v in values)
    cart.state.steps = steps


def reference_step(reference, values, action):
    """One step of Gymnasium's own class from `values`: the state as float64, the reward, terminated."""
    inner = reference.unwrapped
    inner.state, inner.steps_beyond_terminated = numpy.asarray(values, dtype=numpy.float64), None
    _, reward, terminated, _, _ = inner.step(action)
    return numpy.asarray(inner.state), reward, terminated


def close_to_a_limit(state):
    return any(abs(abs(state[i]) - limit) < 1e-6 * limit for i, limit in ((0, LIMITS[0]), (2, LIMITS[1])))


def test_one_step_from_any_state(cart, reference):
    """From 5,000 states over and beyond the playing range, both pushes lead where Gymnasium's lead."""
    states = numpy.random.default_rng(5).uniform([-2.6, -4, -0.25, -4], [2.6, 4, 0.25, 4], (5000, 4)).astype("f4")
    checked = [0, 0]
    for values in states:
        for action in (0, 1):
            place(cart, values)
            cart.step(action)
            state, reward, terminated = reference_step(reference, values, action)
            numpy.testing.assert_allclose(cart.observation[0], state, rtol=2e-6, atol=1e-6)
            assert cart.reward == [reward] == [1.0]
            if not close_to_a_limit(state):
                assert cart.terminal == [terminated]
                checked[terminated] += 1
            assert cart.truncated == [0]
    assert min(checked) > 1000


@pytest.mark.parametrize("seed", range(5))
def test_episodes_end_at_the_same_step(cart, reference, seed):
    """Whole episodes under random pushes: every step agrees, and the pole falls at the same one."""
    pushes = numpy.random.default_rng(seed)
    for episode in range(20):
        values = cart.reset(seed=seed, stream=episode)[0]
        for step in range(1, 500):
            action = int(pushes.integers(2))
            state, _, terminated = reference_step(reference, values, action)
            values = cart.step(action).observation[0]
            numpy.testing.assert_allclose(values, state, rtol=2e-6, atol=1e-6)
            if close_to_a_limit(state):
                break
            assert cart.terminal == [terminated], f"episode {episode}, step {step}"
            if terminated:
                assert cart.statistics == {"balanced": 0.0}
                break


def test_truncation_at_500_and_not_before(cart):
    """A balanced pole is cut at exactly step 500, as Gymnasium's TimeLimit does, and is not called terminal."""
    limited = gymnasium.make("CartPole-v1")
    limited.reset(seed=1)
    inner: Any = limited.unwrapped
    cart.reset(seed=1)
    for step in range(1, 501):
        angle, spin = cart.state.angle, cart.state.spin
        action = int(angle + 0.5 * spin + 0.05 * cart.state.velocity + 0.02 * cart.state.position > 0)
        inner.state = cart.observation[0].astype(numpy.float64)
        _, _, terminated, truncated, _ = limited.step(action)
        cart.step(action)
        assert (bool(cart.terminal[0]), bool(cart.truncated[0])) == (terminated, truncated) == (False, step == 500)
    assert cart.statistics == {"balanced": 1.0}
    limited.close()


def test_falling_on_the_last_step_is_terminal(cart):
    """A pole that falls on step 500 has ended by the rules; it is not cut. (Gymnasium reports both; a return must not
    be bootstrapped there.)"""
    place(cart, [0.0, 0.0, 0.2, 3.0], steps=499)
    cart.step(1)
    assert (cart.terminal, cart.truncated) == ([1], [0])


def test_reset_range(cart):
    """Episodes start with all four values spread over -0.05 to 0.05, as Gymnasium's do."""
    starts = numpy.array([cart.reset(seed=3, stream=i)[0] for i in range(2000)])
    assert numpy.abs(starts).max() <= 0.05
    assert numpy.abs(starts.mean(axis=0)).max() < 0.003
    numpy.testing.assert_allclose(starts.std(axis=0), 0.1 / numpy.sqrt(12), rtol=0.05)


def test_standard_settings_are_gymnasium_s(cart, reference):
    """Every constant of Gymnasium's class is the default of the setting that stands for it."""
    inner, own = reference.unwrapped, cart.settings
    pairs = [
        (own.gravity, inner.gravity),
        (own.cart_mass, inner.masscart),
        (own.pole_mass, inner.masspole),
        (own.pole_half_length, inner.length),
        (own.force, inner.force_mag),
        (own.time_step, inner.tau),
        (own.position_limit, inner.x_threshold),
        (own.angle_limit, inner.theta_threshold_radians),
        (own.max_steps, reference.spec.max_episode_steps),
    ]
    assert [pair[0] for pair in pairs] == pytest.approx([pair[1] for pair in pairs], rel=1e-7)

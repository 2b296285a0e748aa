"""Target's rules: eight agents, two choices each, goals that pay the nearest and move."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy
import pytest

AGENTS, GOALS = 8, 4
STRAIGHT, HARD_LEFT, HARD_RIGHT, BRAKE, COAST, FULL = 4, 0, 8, 0, 2, 4


class Place(ctypes.Structure):
    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_float)]


FIELDS: list[tuple[str, Any]] = [("agent", Place * AGENTS), ("goal", Place * GOALS)]
FIELDS += [(name, ctypes.c_float * AGENTS) for name in ("cosine", "sine", "speed")]
FIELDS += [("reached", ctypes.c_int32 * AGENTS), ("steps", ctypes.c_int32), ("padding", ctypes.c_int32)]


@pytest.fixture
def plane(play):
    """Agents in a row at the bottom that face up the x axis and stand still, goals in the far corner."""
    made = play("target", FIELDS)
    for a in range(AGENTS):
        put(made, a, -0.9 + 0.1 * a, -0.9)
    for g in range(GOALS):
        goal(made, g, 0.9, 0.9)
    return made


def put(plane, a, x, y, heading=0.0, speed=0.0):
    plane.state.agent[a].x, plane.state.agent[a].y = x, y
    plane.state.cosine[a], plane.state.sine[a], plane.state.speed[a] = math.cos(heading), math.sin(heading), speed


def goal(plane, g, x, y):
    plane.state.goal[g].x, plane.state.goal[g].y = x, y


def test_reaching_a_goal_pays_once_and_moves_it(plane):
    """The step onto a goal pays 1 to that agent and 0 to the others, counts, and the goal goes elsewhere."""
    put(plane, 3, 0.0, 0.0, speed=0.05)
    goal(plane, 2, 0.1, 0.0)
    plane.step([STRAIGHT, COAST])
    assert plane.reward == [0, 0, 0, 1, 0, 0, 0, 0]
    assert plane.state.reached[3] == 1
    assert (plane.state.goal[2].x, plane.state.goal[2].y) != pytest.approx((0.1, 0.0))
    assert not any(plane.terminal) and not any(plane.truncated)


def test_the_nearest_of_two_is_paid(plane):
    """Two agents within reach of one goal: only the nearer is paid, whatever its number."""
    for near, far in ((1, 6), (6, 1)):
        put(plane, near, 0.05, 0.0)
        put(plane, far, -0.06, 0.0)
        goal(plane, 0, 0.0, 0.0)
        goal(plane, 1, 0.9, 0.9)
        plane.step([STRAIGHT, COAST])
        assert (plane.reward[near], plane.reward[far]) == (1, 0)
        assert sum(plane.reward) == 1


def test_steering_and_speed(plane):
    """Hard left and right turn by `turning` either way, thrust changes the speed, which stays within its bounds."""
    for turn, angle in ((HARD_LEFT, -plane.settings.turning), (HARD_RIGHT, plane.settings.turning), (STRAIGHT, 0.0)):
        put(plane, 0, 0.0, 0.0, heading=0.5)
        plane.step([turn, COAST])
        assert math.atan2(plane.state.sine[0], plane.state.cosine[0]) == pytest.approx(0.5 + angle, abs=1e-5)
    put(plane, 0, -0.5, 0.0)
    plane.step([STRAIGHT, FULL])
    assert plane.state.speed[0] == pytest.approx(plane.settings.acceleration)
    assert plane.state.agent[0].x == pytest.approx(-0.5 + plane.settings.acceleration)
    for _ in range(10):
        plane.step([STRAIGHT, FULL])
    assert plane.state.speed[0] == pytest.approx(plane.settings.top_speed)
    for _ in range(20):
        plane.step([STRAIGHT, BRAKE])
    assert plane.state.speed[0] == 0


def test_the_plane_has_edges_and_headings_stay_of_length_one(plane):
    """After ten thousand random steps everybody is on the plane and every heading is still a unit vector."""
    plane.settings.max_steps = 1_000_000
    chance = numpy.random.default_rng(0)
    for _ in range(10_000):
        plane.step(numpy.stack([chance.integers(9, size=AGENTS), chance.integers(1, 5, size=AGENTS)], axis=1))
    places = numpy.array([[p.x, p.y] for p in plane.state.agent])
    assert numpy.abs(places).max() <= 1
    assert numpy.hypot(plane.state.cosine, plane.state.sine) == pytest.approx(numpy.ones(AGENTS), abs=1e-6)


def test_all_agents_are_cut_together(plane):
    """Nobody is flagged before max_steps; then everybody is truncated and nobody terminal."""
    for _ in range(plane.settings.max_steps - 1):
        plane.step([STRAIGHT, COAST])
        assert not any(plane.terminal) and not any(plane.truncated)
    plane.step([STRAIGHT, COAST])
    assert plane.truncated == [1] * AGENTS
    assert plane.terminal == [0] * AGENTS
    plane.state.reached[:] = [1, 2, 3, 4, 5, 6, 7, 8]
    assert plane.statistics == {"goals": 4.5, "most": 8.0}


def test_observation_is_seen_from_the_agent(plane):
    """Ahead is positive first, right is positive second; goals come nearest first; others in the order of their numbers
    after the agent's own."""
    put(plane, 7, 0.2, 0.1, heading=math.pi / 2, speed=0.025)  # faces +y: +x lies to its left
    goal(plane, 0, -0.8, 0.1)
    goal(plane, 1, 0.2, 0.5)
    goal(plane, 2, 0.2, -0.5)
    goal(plane, 3, 0.4, 0.1)
    put(plane, 0, 0.2, 0.3)
    row = plane.observation[7]
    assert row[:6].tolist() == pytest.approx([0.2, 0.1, 0.0, 1.0, 0.5, 0.0], abs=1e-6)
    assert row[6:14].tolist() == pytest.approx([0.0, -0.1, 0.2, 0.0, -0.3, 0.0, 0.0, 0.5], abs=1e-6)
    assert row[14:16].tolist() == pytest.approx([0.1, 0.0], abs=1e-6)
    put(plane, 2, 0.45, 0.1)
    assert plane.observation[7][5] == 1.0  # agent 2 is nearer to that goal


def test_every_agent_sees_the_same_world_from_its_own_place(plane):
    """With the world turned and another agent put where the first one stood, that agent sees the goals as the first one
    did: one policy serves all."""
    for g, (x, y) in enumerate([(0.3, 0.0), (0.0, 0.4), (-0.5, 0.0), (0.0, -0.6)]):
        goal(plane, g, x, y)
    put(plane, 2, 0.1, 0.05, heading=0.3)
    put(plane, 5, -0.05, 0.1, heading=0.3 + math.pi / 2)
    first = plane.observation[2][6:14]
    for g, (x, y) in enumerate([(0.0, 0.3), (-0.4, 0.0), (0.0, -0.5), (0.6, 0.0)]):
        goal(plane, g, x, y)
    assert plane.observation[5][6:14].tolist() == pytest.approx(first.tolist(), abs=1e-6)

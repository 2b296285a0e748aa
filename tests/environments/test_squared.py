"""The tutorial's rules: an 11 x 11 board, a walker, a goal."""

from __future__ import annotations

import ctypes

import numpy
import pytest

SIDE, CENTRE = 11, 5
EMPTY, WALKER, GOAL = 0, 1, 2
STAY, UP, DOWN, LEFT, RIGHT = range(5)


@pytest.fixture
def board(play):
    return play("squared", [(name, ctypes.c_int32) for name in ("row", "column", "goal", "steps")])


def test_start(board):
    """The walker starts in the middle; the goal is anywhere else, and everywhere else in time."""
    goals = set()
    for stream in range(3000):
        board.reset(seed=1, stream=stream)
        assert (board.state.row, board.state.column) == (CENTRE, CENTRE)
        goals.add(board.state.goal)
    assert goals == set(range(SIDE * SIDE)) - {CENTRE * SIDE + CENTRE}


@pytest.mark.parametrize(
    ("action", "row", "column"), [(STAY, 0, 0), (UP, -1, 0), (DOWN, 1, 0), (LEFT, 0, -1), (RIGHT, 0, 1)]
)
def test_moves_and_walls(board, action, row, column):
    """Each action moves one cell its way, and the walls hold."""
    board.state.goal = 0 if action in (DOWN, RIGHT) else SIDE * SIDE - 1
    board.step(action)
    assert (board.state.row, board.state.column) == (CENTRE + row, CENTRE + column)
    for _ in range(20):
        board.step(action)
    assert (board.state.row, board.state.column) == (CENTRE + CENTRE * row, CENTRE + CENTRE * column)


def test_reaching_the_goal_pays_and_ends(board):
    """A step nearer pays 0.1, one away costs 0.1, each costs 0.01; the step onto the goal pays 1 more and ends."""
    board.state.goal = CENTRE * SIDE + CENTRE + 2
    board.step(LEFT)
    assert board.reward == pytest.approx([-0.11])
    board.step(STAY)
    assert board.reward == pytest.approx([-0.01])
    board.step(RIGHT)
    board.step(RIGHT)
    assert board.reward == pytest.approx([0.09])
    assert not board.ended
    board.step(RIGHT)
    assert board.reward == pytest.approx([1.09])
    assert (board.terminal, board.truncated, board.statistics) == ([1], [0], {"reached": 1.0})


def test_running_out_of_steps_is_truncation(board):
    """Standing still is cut at max_steps, not before."""
    for step in range(1, board.settings.max_steps + 1):
        board.step(STAY)
        assert (board.terminal, board.truncated) == ([0], [int(step == board.settings.max_steps)])
    assert board.statistics == {"reached": 0.0}


def test_observation_is_the_board(board):
    """Bytes, row by row: one walker, one goal, all else empty; the walker hides the goal that it stands on."""
    board.state.goal = 7
    cells = board.observation.reshape(SIDE, SIDE)
    assert cells.dtype == numpy.uint8
    assert (cells[CENTRE, CENTRE], cells[0, 7]) == (WALKER, GOAL)
    assert numpy.count_nonzero(cells == EMPTY) == SIDE * SIDE - 2
    board.state.row, board.state.column = 0, 7
    assert numpy.flatnonzero(board.observation).tolist() == [7]

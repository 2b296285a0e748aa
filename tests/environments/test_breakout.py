"""Breakout's rules from known positions: walls, paddle, bricks and points, lost balls, cleared walls, no tunnelling."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy
import pytest

ROWS, COLUMNS, BRICKS, SCALARS = 6, 18, 108, 10
WIDTH, HEIGHT, WALL_TOP, BRICK_HEIGHT, PADDLE_TOP, RADIUS = 18.0, 16.0, 2.0, 0.5, 15.0, 0.2
POINTS = [7, 7, 4, 4, 1, 1]
STAY, LEFT, RIGHT = range(3)
FIELDS: list[tuple[str, Any]] = [("bricks", ctypes.c_uint32 * 4)]
FIELDS += [(name, ctypes.c_float) for name in ("x", "y", "vx", "vy", "paddle")]
FIELDS += [
    (name, ctypes.c_int32) for name in ("hits", "upper", "balls", "walls", "standing", "score", "broken", "steps")
]


@pytest.fixture
def game(play):
    """One frame a step, so that a test sees every frame."""
    made = play("breakout", FIELDS)
    made.settings.frameskip = 1
    return made


def place(game, x, y, vx, vy):
    game.state.x, game.state.y, game.state.vx, game.state.vy = x, y, vx, vy


def leave(game, bricks):
    """Leaves only these bricks (row, column) standing."""
    words = [0, 0, 0, 0]
    for row, column in bricks:
        words[(row * COLUMNS + column) // 32] |= 1 << (row * COLUMNS + column) % 32
    game.state.bricks[:] = words
    game.state.standing = len(bricks)


def stands(game, row, column):
    brick = row * COLUMNS + column
    return bool(game.state.bricks[brick // 32] >> brick % 32 & 1)


def under(row):
    """The height of a ball that touches that row from below."""
    return WALL_TOP + (row + 1) * BRICK_HEIGHT + RADIUS


def test_side_walls_and_ceiling_reflect(game):
    """The ball leaves the left wall, the right wall and the ceiling with that one component turned around."""
    leave(game, [(5, 0)])
    place(game, 0.25, 9.0, -0.2, 0.1)
    game.step(STAY)
    assert (game.state.x, game.state.vx, game.state.vy) == pytest.approx((0.35, 0.2, 0.1))
    place(game, WIDTH - 0.25, 9.0, 0.2, 0.1)
    game.step(STAY)
    assert (game.state.x, game.state.vx) == pytest.approx((WIDTH - 0.35, -0.2))
    place(game, 9.0, 0.25, 0.1, -0.2)
    game.step(STAY)
    assert (game.state.y, game.state.vx, game.state.vy) == pytest.approx((0.35, 0.1, 0.2))


def test_paddle_moves_and_stays_in_the_field(game):
    """The three actions; both ends of the field hold."""
    reach = game.settings.paddle_width / 2
    start = game.state.paddle
    place(game, 9.0, 9.0, 0.0, 0.0)
    game.step(STAY)
    assert game.state.paddle == start
    game.step(RIGHT)
    assert game.state.paddle == pytest.approx(start + game.settings.paddle_speed)
    for action, end in ((RIGHT, WIDTH - reach), (LEFT, reach)):
        for _ in range(100):
            game.step(action)
        assert game.state.paddle == pytest.approx(end)


@pytest.mark.parametrize("offset", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_bounce_angle_is_set_by_where_the_paddle_is_hit(game, offset):
    """The ball leaves upwards at 1 radian times the offset (0.05 of it is chance), at its full speed, never flat."""
    for seed in range(50):
        game.reset(seed=seed)
        reach = game.settings.paddle_width / 2 + RADIUS
        place(game, game.state.paddle + 0.999 * offset * reach, PADDLE_TOP - RADIUS - 0.05, 0.0, 0.2)
        game.step(STAY)
        assert game.state.hits == 1
        assert game.state.vy < 0
        assert math.hypot(game.state.vx, game.state.vy) == pytest.approx(game.settings.ball_speed, rel=1e-5)
        assert math.atan2(game.state.vx, -game.state.vy) == pytest.approx(0.999 * offset, abs=0.051)
        assert -game.state.vy > 0.49 * game.settings.ball_speed


def test_missing_the_paddle_loses_the_ball(game):
    """A ball beside the paddle falls through: one fewer ball, and a fresh one is served from below the bricks."""
    place(game, game.state.paddle + game.settings.paddle_width / 2 + RADIUS + 0.1, PADDLE_TOP - RADIUS - 0.05, 0.0, 0.2)
    wall = list(game.state.bricks)
    for _ in range(20):
        game.step(STAY)
        assert not game.ended
    assert (game.state.balls, game.state.hits, game.state.upper) == (game.settings.balls - 1, 0, 0)
    assert WALL_TOP + ROWS * BRICK_HEIGHT < game.state.y < PADDLE_TOP
    assert game.state.vy > 0
    assert list(game.state.bricks) == wall


def test_serves_differ(game):
    """Balls are served from the middle half of the field, downwards, at up to 0.7 radians to either side."""
    places, angles = [], []
    for stream in range(500):
        game.reset(seed=2, stream=stream)
        places.append(game.state.x)
        angles.append(math.atan2(game.state.vx, game.state.vy))
        assert math.hypot(game.state.vx, game.state.vy) == pytest.approx(game.settings.ball_speed, rel=1e-5)
    assert WIDTH / 4 <= min(places) < WIDTH / 4 + 0.5 < WIDTH * 3 / 4 - 0.5 < max(places) <= WIDTH * 3 / 4
    assert -0.701 < min(angles) < -0.65 < 0.65 < max(angles) < 0.701


def test_losing_the_last_ball_is_terminal(game):
    """The episode ends by the rules, with what was scored."""
    game.state.balls = 1
    place(game, 1.0, HEIGHT, 0.0, 0.2)
    game.state.score, game.state.broken = 30, 12
    for _ in range(2):
        game.step(STAY)
    assert (game.terminal, game.truncated) == ([1], [0])
    assert game.statistics == {"score": 30.0, "walls": 0.0, "bricks": 12.0}


@pytest.mark.parametrize("row", range(ROWS))
def test_bricks_break_and_pay_by_row(game, row):
    """A ball that reaches a brick breaks just that one, turns around, and scores 7, 7, 4, 4, 1 or 1 from the top."""
    for column in (0, 5, 17):
        game.reset(seed=1)
        leave(game, [(r, c) for r in range(row + 1) for c in range(COLUMNS)])
        before = game.state.standing
        place(game, column + 0.5, under(row) + 0.1, 0.0, -0.2)
        game.step(STAY)
        assert not stands(game, row, column)
        assert (game.state.standing, game.state.broken) == (before - 1, 1)
        assert game.state.vy == pytest.approx(0.2)
        assert game.state.score == POINTS[row]
        assert game.reward == pytest.approx([POINTS[row] * game.settings.point_reward])


def test_a_brick_s_side_turns_the_ball_sideways(game):
    """Hit from the side, a brick turns vx and not vy."""
    leave(game, [(3, 9), (0, 0)])
    place(game, 8.75, WALL_TOP + 3.4 * BRICK_HEIGHT, 0.2, 0.02)
    game.step(STAY)
    assert not stands(game, 3, 9)
    assert (game.state.vx, game.state.vy) == pytest.approx((-0.2, 0.02))


def test_ball_gets_faster(game):
    """The fourth and twelfth hit of the paddle and the upper rows each add a third of the served speed; a new ball
    starts slow again."""
    speeds = []
    for hit in range(13):
        place(game, game.state.paddle, PADDLE_TOP - RADIUS - 0.05, 0.0, 0.2)
        if hit == 12:
            game.state.upper = 1
        game.step(STAY)
        speeds.append(math.hypot(game.state.vx, game.state.vy) / game.settings.ball_speed)
    assert speeds == pytest.approx([1, 1, 1] + [4 / 3] * 8 + [5 / 3, 2], rel=1e-5)
    leave(game, [(2, 4), (0, 0)])
    place(game, 1.0, HEIGHT, 0.0, 0.3)
    game.step(STAY)
    assert math.hypot(game.state.vx, game.state.vy) == pytest.approx(game.settings.ball_speed, rel=1e-5)
    place(game, 4.5, under(2) + 0.1, 0.0, -0.2)
    game.step(STAY)
    assert game.state.upper == 1


def test_clearing_a_wall_builds_the_next_at_the_paddle(game):
    """The last brick counts a wall; the ball comes down through an empty field; the paddle's bounce builds the wall."""
    leave(game, [(5, 9)])
    place(game, 9.5, under(5) + 0.1, 0.0, -0.2)
    game.step(STAY)
    assert (game.state.standing, game.state.walls, game.ended) == (0, 1, False)
    place(game, game.state.paddle, PADDLE_TOP - RADIUS - 0.05, 0.0, 0.2)
    game.step(STAY)
    assert game.state.standing == BRICKS
    assert all(stands(game, row, column) for row in range(ROWS) for column in range(COLUMNS))


def test_clearing_the_last_wall_is_terminal(game):
    """The highest score is 432 a wall."""
    leave(game, [(0, 9)])
    game.state.walls, game.state.score = game.settings.walls - 1, 2 * 432 - 7
    place(game, 9.5, under(0) + 0.1, 0.0, -0.2)
    game.step(STAY)
    assert (game.terminal, game.truncated) == ([1], [0])
    assert game.statistics["score"] == 864
    assert game.statistics["walls"] == 2


def test_every_game_that_is_kept_up_ends_at_the_highest_score(play):
    """A paddle as wide as the field never loses a ball, at any speed, and breaks every brick of both walls: nothing
    tunnels through the paddle, no brick is out of reach, no game goes round in circles for ever."""
    for seed, speed in enumerate((0.02, 0.05, 0.1, 0.2, 0.2, 0.2, 0.24, 0.24, 0.24, 0.24)):
        game = play("breakout", FIELDS)
        game.settings.paddle_width, game.settings.ball_speed = 18.0, speed
        game.settings.frameskip, game.settings.max_steps = 16, 1_000_000
        game.reset(seed=seed)
        for _ in range(200_000):
            if game.step(STAY).ended:
                break
        assert game.terminal == [1]
        assert game.state.balls == game.settings.balls
        assert game.statistics == {"score": 864.0, "walls": 2.0, "bricks": 216.0}


def test_no_tunnelling_through_bricks_at_top_speed(game):
    """From anywhere below or above the wall, in any direction and at the highest speed there can be, the ball's middle
    is never inside a standing brick, and its way in a frame (down or up, then sideways) never passes over one."""
    chance = numpy.random.default_rng(3)
    speed = 2 * 0.24
    for trial in range(300):
        game.reset(seed=trial)
        kept = chance.random(BRICKS) < chance.uniform(0.05, 1.0)
        leave(game, [(int(i) // COLUMNS, int(i) % COLUMNS) for i in numpy.flatnonzero(kept)] or [(0, 0)])
        angle = chance.uniform(-1.05, 1.05)
        above = trial % 2
        place(game, chance.uniform(1, 17), 1.0 if above else 6.0, speed * math.sin(angle),
              speed * math.cos(angle) * (1 if above else -1))  # fmt: skip
        for _ in range(60):
            x, y = game.state.x, game.state.y
            game.step(STAY)
            if game.state.y > 8 or game.ended:
                break
            shares = (0.25, 0.5, 0.75, 1.0)
            way = [(x, y + share * (game.state.y - y)) for share in shares]
            way += [(x + share * (game.state.x - x), game.state.y) for share in shares]
            for at_x, at_y in way:
                row, column = math.floor((at_y - WALL_TOP) / BRICK_HEIGHT), math.floor(at_x)
                assert not (0 <= row < ROWS and stands(game, row, column)), f"trial {trial} at {at_x}, {at_y}"
            assert RADIUS - 1e-5 <= game.state.x <= WIDTH - RADIUS + 1e-5


def test_frameskip_is_that_many_frames(play):
    """One step of four frames is four steps of one frame, to the bit."""
    one, four = play("breakout", FIELDS), play("breakout", FIELDS)
    one.settings.frameskip = 1
    one.reset(seed=9)
    four.reset(seed=9)
    actions = numpy.random.default_rng(4).integers(3, size=150)
    for action in actions:
        total = sum(one.step(int(action)).reward[0] for _ in range(4) if not one.ended)
        four.step(int(action))
        assert four.reward[0] == pytest.approx(total)
        one.state.steps = four.state.steps
        assert bytes(one.state) == bytes(four.state)
        if four.ended:
            break


def test_losing_the_last_ball_on_the_last_step_is_terminal(game):
    """Where rules and step limit coincide, the rules say how the episode ended."""
    game.state.balls, game.state.steps = 1, game.settings.max_steps - 1
    place(game, 1.0, HEIGHT + RADIUS, 0.0, 0.2)
    game.step(STAY)
    assert (game.terminal, game.truncated) == ([1], [0])


def test_step_limit_truncates(play):
    """A ball still in play at max_steps: the episode is cut, not over."""
    game = play("breakout", FIELDS)
    game.settings.max_steps = 7
    for step in range(1, 8):
        game.step(STAY)
        assert (game.terminal, game.truncated) == ([0], [int(step == 7)])


def test_observation_says_where_everything_is(game):
    """Ten scalars within [-1, 1] as documented, then 108 bricks row by row."""
    leave(game, [(0, 0), (1, 14), (3, 7), (5, 17)])
    place(game, 13.5, 12.0, 0.1, -0.2)
    game.state.paddle, game.state.balls, game.state.walls, game.state.hits = 4.5, 2, 1, 5
    row = game.observation[0]
    assert row.shape == (SCALARS + BRICKS,)
    assert row.dtype == numpy.float32
    assert row[:SCALARS].tolist() == pytest.approx([-0.5, 0.5, 0.5, 0.25, -0.5, 1.0, 0.4, 1 / 3, 4 / BRICKS, 0.5])
    assert numpy.flatnonzero(row[SCALARS:]).tolist() == [0, COLUMNS + 14, 3 * COLUMNS + 7, 5 * COLUMNS + 17]
    assert set(row[SCALARS:].tolist()) == {0.0, 1.0}
    game.state.x = 4.5 - 0.6
    assert game.observation[0][5] == pytest.approx(-0.25)

"""Recorded frames survive the delta form of replay.json, and what is not a replay is refused with its place."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pufferlib.report import ReplayError, check_replay, decode_frames, encode_frames

COLOURS = st.sampled_from(["#000000", "#ff8800", "#AbCdEf"])
NUMBERS = st.floats(-1000, 1000).map(lambda value: round(value, 2))
COMMANDS = st.one_of(
    *(st.tuples(st.just(kind), COLOURS, *[NUMBERS] * count).map(list) for kind, count in ((0, 4), (1, 3), (2, 5)))
)
FRAMES = st.lists(st.lists(COMMANDS, max_size=6), max_size=12)


def encode(frames: list[Any], rewards: list[float] | None = None, **changes: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"width": 600.0, "height": 400.0, "background": "#101010", "fps": 30} | changes
    return encode_frames(frames, rewards=[0.0] * len(frames) if rewards is None else rewards, **options)


@given(FRAMES)
def test_any_frames_come_back_after_a_trip_through_json(frames: list[Any]) -> None:
    """Also when the number of commands falls and rises again, so that hidden commands come back."""
    assert decode_frames(json.loads(json.dumps(encode(frames)))) == frames


@given(st.lists(COMMANDS, min_size=1, max_size=6), st.integers(2, 20))
def test_a_frame_that_repeats_the_last_one_costs_no_command(frame: list[Any], times: int) -> None:
    replay = encode([frame] * times)
    assert [len(entry["draw"]) for entry in replay["frames"]] == [len(frame)] + [0] * (times - 1)


def test_only_the_command_that_moved_is_written() -> None:
    wall, ball = [0, "#ff0000", 0, 0, 10, 10], [1, "#ffffff", 5.0, 5.0, 2]
    replay = encode([[wall, ball], [wall, [1, "#ffffff", 6.0, 5.0, 2]]])
    assert replay["frames"][1]["draw"] == [[1, 1, "#ffffff", 6, 5, 2]]


def test_returns_add_up_and_start_again_with_an_episode() -> None:
    replay = encode([[]] * 4, [1.0, 0.5, 2.0, 1.0], episode_starts=(0, 2))
    assert [frame["return"] for frame in replay["frames"]] == [1, 1.5, 2, 3]


@pytest.mark.parametrize("size", [0.5, 1.0, 4.8, 600.0, 20000.0])
def test_rounding_cannot_be_seen(size: float) -> None:
    """A coordinate moves by less than a ten-thousandth of the world, so at most half a pixel at 5000 pixels."""
    value = size / math.pi
    replay = encode([[[1, "#ffffff", value, value, value]]], width=size, height=size / 2)
    assert abs(replay["frames"][0]["draw"][0][3] - value) <= size * 1e-4


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([3, "#ffffff", 1, 1, 1], "kind is 3, expected 0"),
        ([True, "#ffffff", 1, 1, 1], "kind is True"),
        ([1, "red", 1, 1, 1], "colour is 'red', expected one such as #ff8800"),
        ([1, "#ffffff\n", 1, 1, 1], "colour is"),
        ([1, "#ffffff", 1, 1], "kind 1 has 2 numbers, expected 3"),
        ([1, "#ffffff", 1, math.nan, 1], "nan is not a finite number"),
        ([1, "#ffffff", 1, 1e12, 1], "is not a finite number within"),
        ([1], r"expected \[kind, colour, numbers"),
    ],
)
def test_a_bad_command_is_refused_with_its_frame_and_place(command: list[Any], said: str) -> None:
    with pytest.raises(ReplayError, match=f"frame 1, command 0.*{said}"):
        encode([[], [command]])


def test_rewards_are_one_a_frame_and_finite() -> None:
    with pytest.raises(ReplayError, match="2 frames but 1 rewards"):
        encode([[], []], [1.0])
    with pytest.raises(ReplayError, match="frame 1: reward is inf"):
        encode([[], []], [1.0, math.inf])


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("width", 0, "/width is 0"),
        ("height", "400", "/height is '400'"),
        ("background", "url(x)", "/background is"),
        ("fps", 0.1, "/fps is 0.1, expected a number from 1 to 240"),
        ("frames", {}, "/frames is an object, expected an array"),
        ("frames/0", [], "/frames/0 is an array"),
        ("frames/0/count", 3, "/frames/0/count is 3, expected 0 to 1"),
        ("frames/0/count", True, "/frames/0/count is True"),
        ("frames/0/return", None, "/frames/0/return is None"),
        ("frames/0/draw", None, "/frames/0/draw is missing or null"),
        ("frames/0/draw/0/0", 1, "/frames/0/draw/0/0 is 1, expected a command number from 0 to 0"),
        ("frames/0/draw/0/0", -1, "/frames/0/draw/0/0 is -1"),
        ("frames/0/draw/0/2", "javascript:", "/frames/0/draw/0: colour is"),
    ],
)
def test_a_bad_document_is_refused_with_its_pointer(path: str, value: Any, said: str) -> None:
    replay = encode([[[1, "#ffffff", 1, 1, 1]]])
    *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    place: Any = replay
    for part in parents:
        place = place[part]
    place[last] = value
    with pytest.raises(ReplayError) as raised:
        check_replay(replay)
    assert said in str(raised.value)

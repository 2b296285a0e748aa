"""Replays: recorded drawing commands, and the delta form in which ``replay.json`` keeps them.

A command is ``[kind, "#rrggbb", numbers...]`` in world units, origin at the top left:

====  =======  =======================
kind  draws    numbers
====  =======  =======================
0     rect     x, y, width, height
1     circle   x, y, radius
2     line     x1, y1, x2, y2, width
====  =======  =======================

A frame's ``draw`` is a delta on a list that lives for the whole replay: ``[index, kind, colour, numbers...]``
replaces command ``index``; a command that is not named stays, even while it is beyond ``count`` and not drawn.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

KIND_NUMBERS = {0: 4, 1: 3, 2: 5}  # kind -> how many numbers follow the colour
MAX_FRAMES = 100_000
MAX_COMMANDS = 4096  # in one frame
MAX_COORDINATE = 1e9
COLOUR = re.compile(r"#[0-9a-fA-F]{6}\Z")

Command = Sequence[Any]


class ReplayError(ValueError):
    """A replay, or a recorded frame, that is not in the form described above; the text says where and why."""


def encode_frames(
    frames: Sequence[Sequence[Command]],
    width: float,
    height: float,
    background: str,
    fps: float,
    rewards: Sequence[float],
    episode_starts: Collection[int] = (),
) -> dict[str, Any]:
    """Turn recorded frames into the document that ``replay.json`` holds.

    frames: one list of commands a frame (see the table above); rewards: one number a frame, the reward that led to it.
    width, height: size of the world in its own units; fps: frames a second at normal speed.
    episode_starts: the frames that begin a new episode; there the running return starts again from nothing.
    Coordinates are rounded to about a hundred-thousandth of the world's longer side, which no screen can show.
    Raises ReplayError naming the frame and the command.
    """
    _check_head(width, height, background, fps)
    if len(frames) != len(rewards):
        raise ReplayError(f"{len(frames)} frames but {len(rewards)} rewards: expected one reward a frame")
    if len(frames) > MAX_FRAMES:
        raise ReplayError(f"{len(frames)} frames: at most {MAX_FRAMES} fit in a replay")
    starts = frozenset(episode_starts)
    decimals = max(0, 5 - math.ceil(math.log10(max(width, height))))
    kept: list[list[Any]] = []
    encoded = []
    total = 0.0
    for number, frame in enumerate(frames):
        if len(frame) > MAX_COMMANDS:
            raise ReplayError(f"frame {number}: {len(frame)} commands, at most {MAX_COMMANDS} are allowed")
        reward = rewards[number]
        if not _is_number(reward):
            raise ReplayError(f"frame {number}: reward is {reward!r}, expected a finite number")
        total = reward + (0.0 if number in starts else total)
        draw = []
        for index, command in enumerate(frame):
            _check_command(command, f"frame {number}, command {index}")
            rounded = [command[0], command[1], *(_compact(value, decimals) for value in command[2:])]
            if index == len(kept):
                kept.append(rounded)
            elif kept[index] != rounded:
                kept[index] = rounded
            else:
                continue
            draw.append([index, *rounded])
        encoded.append({"reward": _compact(reward, 6), "return": _compact(total, 6), "draw": draw, "count": len(frame)})
    return {"width": width, "height": height, "background": background, "fps": fps, "frames": encoded}


def decode_frames(replay: dict[str, Any]) -> list[list[list[Any]]]:
    """The full command list of every frame of a replay document: what ``encode_frames`` was given, rounded.

    Checks the document on the way and raises ReplayError.
    """
    frames: list[list[list[Any]]] = []
    kept: list[list[Any]] = []
    for frame in check_replay(replay)["frames"]:
        for index, *command in frame["draw"]:
            kept[index : index + 1] = [command]
        frames.append(kept[: frame["count"]])
    return frames


def check_replay(replay: Any) -> dict[str, Any]:
    """Return the document unchanged when every part of it has the right form; otherwise raise ReplayError."""
    if not isinstance(replay, dict):
        raise ReplayError(f"the document is {_name(replay)}, expected an object")
    for key in ("width", "height", "background", "fps", "frames"):
        if key not in replay:
            raise ReplayError(f"/{key} is missing")
    _check_head(replay["width"], replay["height"], replay["background"], replay["fps"])
    frames = replay["frames"]
    if not isinstance(frames, list):
        raise ReplayError(f"/frames is {_name(frames)}, expected an array")
    if len(frames) > MAX_FRAMES:
        raise ReplayError(f"/frames holds {len(frames)} frames, at most {MAX_FRAMES} are allowed")
    known = 0
    for number, frame in enumerate(frames):
        known = _check_frame(frame, f"/frames/{number}", known)
    return replay


def pack_replay(replay: dict[str, Any]) -> dict[str, Any]:
    """The same replay in columns and with a list of colours: the smaller form that the page embeds.

    ``draws[i]`` is one flat list a frame: index, kind, colour number, numbers, index, kind, ...
    """
    colours: dict[str, int] = {}
    draws = []
    for frame in replay["frames"]:
        flat: list[Any] = []
        for index, kind, colour, *numbers in frame["draw"]:
            flat += [index, kind, colours.setdefault(colour, len(colours)), *numbers]
        draws.append(flat)
    return {
        "width": replay["width"],
        "height": replay["height"],
        "background": replay["background"],
        "fps": replay["fps"],
        "colours": list(colours),
        "rewards": [frame["reward"] for frame in replay["frames"]],
        "returns": [frame["return"] for frame in replay["frames"]],
        "counts": [frame["count"] for frame in replay["frames"]],
        "draws": draws,
    }


def _check_head(width: Any, height: Any, background: Any, fps: Any) -> None:
    for key, value in (("width", width), ("height", height)):
        if not _is_number(value) or not 0 < value <= MAX_COORDINATE:
            raise ReplayError(f"/{key} is {_show(value)}, expected a number above 0 and at most {MAX_COORDINATE:g}")
    if not isinstance(background, str) or not COLOUR.match(background):
        raise ReplayError(f"/background is {_show(background)}, expected a colour such as #10141c")
    if not _is_number(fps) or not 1 <= fps <= 240:
        raise ReplayError(f"/fps is {_show(fps)}, expected a number from 1 to 240")


def _check_frame(frame: Any, where: str, known: int) -> int:
    """Check one delta frame after frames that named ``known`` commands; return how many are named after it."""
    if not isinstance(frame, dict):
        raise ReplayError(f"{where} is {_name(frame)}, expected an object")
    for key in ("reward", "return"):
        if not _is_number(frame.get(key)):
            raise ReplayError(f"{where}/{key} is {_show(frame.get(key))}, expected a finite number")
    draw, count = frame.get("draw"), frame.get("count")
    if not isinstance(draw, list):
        raise ReplayError(f"{where}/draw is {_name(draw)}, expected an array")
    for position, entry in enumerate(draw):
        at = f"{where}/draw/{position}"
        if not isinstance(entry, list) or not entry:
            raise ReplayError(f"{at} is {_name(entry)}, expected [index, kind, colour, numbers...]")
        index = entry[0]
        if type(index) is not int or not 0 <= index <= min(known, MAX_COMMANDS - 1):
            raise ReplayError(f"{at}/0 is {_show(index)}, expected a command number from 0 to {known}")
        _check_command(entry[1:], at)
        known = max(known, index + 1)
    if type(count) is not int or not 0 <= count <= known:
        raise ReplayError(f"{where}/count is {_show(count)}, expected 0 to {known}, the commands named so far")
    return known


def _check_command(command: Any, where: str) -> None:
    if not isinstance(command, (list, tuple)) or len(command) < 2:
        raise ReplayError(f"{where} is {_show(command)}, expected [kind, colour, numbers...]")
    kind, colour, *numbers = command
    if type(kind) is not int or kind not in KIND_NUMBERS:
        raise ReplayError(f"{where}: kind is {_show(kind)}, expected 0 (rect), 1 (circle) or 2 (line)")
    if not isinstance(colour, str) or not COLOUR.match(colour):
        raise ReplayError(f"{where}: colour is {_show(colour)}, expected one such as #ff8800")
    if len(numbers) != KIND_NUMBERS[kind]:
        raise ReplayError(f"{where}: kind {kind} has {len(numbers)} numbers, expected {KIND_NUMBERS[kind]}")
    for value in numbers:
        if not _is_number(value) or abs(value) > MAX_COORDINATE:
            raise ReplayError(f"{where}: {_show(value)} is not a finite number within {MAX_COORDINATE:g}")


def _compact(value: float, decimals: int) -> float:
    rounded = round(float(value), decimals)
    return int(rounded) if rounded.is_integer() else rounded


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return abs(value) <= 2**53  # what the page's numbers hold exactly
    return type(value) is float and math.isfinite(value)


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _name(value: Any) -> str:
    if value is None:
        return "missing or null"
    return {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}.get(type(value), "a number")

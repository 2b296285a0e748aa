"""Buffers: what a call returned is not written by a later one, unless that is the contract."""

from __future__ import annotations

from typing import Any

from .. import values
from ..apis.api import Api, Frame
from ..apis.parallel import NAMES
from ..numerics import np
from ..subject import Subject
from . import check

WINDOW = 24
"""Calls that are kept and compared, each with each."""
OVERLAP_WORK = 10_000
CODES = {
    "observation": "aliasing.observation",
    "info": "aliasing.info",
    "observations": "aliasing.observation",
    "infos": "aliasing.info",
    "rewards": "aliasing.dict",
    "terminations": "aliasing.dict",
    "truncations": "aliasing.dict",
}


class Check(check.Check):
    """Arrays by their memory (views too), dicts and lists by identity."""

    title = "buffers: nothing returned is written again"
    order = 70

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.kept: list[tuple[str, int, list[tuple[str, Any]], list[tuple[str, Any]]]] = []
        self.frames = 0

    def frame(self, api: Api, frame: Frame) -> None:
        """Compares the arrays of this call with those of the calls before; the first calls are looked at."""
        self.frames += 1
        if api.in_place or len(self.kept) >= WINDOW:
            return
        arrays: list[tuple[str, Any]] = []
        holders: list[tuple[str, Any]] = []
        for row in frame.rows:
            for role, value in (("observation", row.observation), ("info", row.info)):
                prefix = f"{role}{f' of {row.agent}' if row.agent else ''}"
                arrays += [(f"{prefix}{path}", array) for path, array in values.arrays(value) if may_change(array)]
                # In AEC the infos are attributes of the environment, which `last` shows; only their arrays count.
                if not api.batched and not (api.name == "pettingzoo-aec" and role == "info"):
                    holders += [(f"{prefix}{path}", holder) for path, holder in values.containers(value)]
        if api.name == "pettingzoo-parallel":
            names = NAMES if frame.call == "step" else (NAMES[0], NAMES[-1])
            holders += [(name, value) for name, value in zip(names, frame.raw, strict=True) if isinstance(value, dict)]
        self.of_action(api, frame, arrays)
        name = f"{frame.call} {frame.episode}" if frame.call == "reset" else f"step {frame.step}"
        for earlier, episode, old_arrays, old_holders in self.kept:
            other = (
                earlier
                if earlier.startswith("reset") or episode == frame.episode
                else f"{earlier} of episode {episode}"
            )
            for path, array in arrays:
                for old_path, old in old_arrays:
                    if shares(array, old):
                        self.shared(frame, path, f"{old_path} of {other}", name, "share memory")
            for path, holder in holders:
                for old_path, old in old_holders:
                    # An empty one that stays empty harms nobody.
                    if holder is old and len(holder):
                        self.shared(frame, path, f"{old_path} of {other}", name, "are the same object")
        self.kept.append((name, frame.episode, arrays, holders))

    def of_action(self, api: Api, frame: Frame, arrays: list[tuple[str, Any]]) -> None:
        """An observation that is the caller's action changes when the caller writes the next action there."""
        for path, array in arrays:
            if frame.call == "step" and path.startswith("observation"):
                for given_path, given in values.arrays(api.given[0]):
                    if shares(array, given):
                        self.subject.finding(
                            "aliasing.action",
                            "the observation shares memory with the action that the caller gave",
                            frame.at(),
                            leaf=path,
                            got=f"{path} and action{given_path} share memory",
                            want="memory of the environment's own",
                            fix="return a copy: action.copy()",
                        )

    def shared(self, frame: Frame, path: str, other: str, name: str, how: str) -> None:
        """A finding that names both calls."""
        role = path.split("/")[0].split(" ")[0]
        leaf = "".join(path.partition("/")[1:])
        self.subject.finding(
            CODES[role],
            f"what {name} returned and what an earlier call returned {how}: the earlier one changes later",
            frame.at(),
            leaf=f"{role}{leaf}" if leaf else role,
            got=f"{path} of {name} and {other} {how}",
            want="new memory for each call",
            fix="return a copy: observation.copy()"
            if how == "share memory" and role == "observation"
            else "make a new dict in each call",
        )

    def finish(self, api: Api) -> None:
        """For a PufferEnv in-place writing is the contract, and the caller has to copy."""
        if api.in_place:
            self.skipped = "a PufferEnv writes in place: the caller has to copy what it keeps"
            self.subject.note(self.skipped)
        self.detail = f"{len(self.kept)} calls compared"
        self.kept.clear()


def may_change(array: Any) -> bool:
    """Whether anybody could write to the array: it, or one that it is a view of, is writeable."""
    current = array
    while isinstance(current, np.ndarray):
        if current.flags.writeable:
            return bool(array.size > 0)
        current = current.base
    return False


def shares(left: Any, right: Any) -> bool:
    """Whether two arrays have a byte in common."""
    if not np.may_share_memory(left, right):
        return False
    try:
        return bool(np.shares_memory(left, right, max_work=OVERLAP_WORK))
    except Exception:  # noqa: BLE001 - numpy's TooHardError has lived in two places; then the bounds decide
        return True

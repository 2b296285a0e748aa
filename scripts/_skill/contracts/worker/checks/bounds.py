"""Observations stay inside their bounds; the first value outside is named with its index."""

from __future__ import annotations

from typing import Any

from .. import spaces, values
from ..apis.api import Api, Frame
from ..numerics import np
from ..subject import At, Subject
from . import check


class Check(check.Check):
    """Bounds of every leaf; NaN and infinity are the subject of `finite`."""

    title = "observations: bounds"
    order = 30

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.known: dict[Any, Any] = {}
        self.seen: dict[str, tuple[float, float]] = {}

    def frame(self, api: Api, frame: Frame) -> None:
        """Every leaf of every row."""
        if frame.call == "reset":
            # The spaces of an agent may be other ones in another episode.
            self.known.clear()
        for row in frame.rows:
            if row.key not in self.known:
                self.known[row.key] = api.observation_space(row.key)
            for leaf, path, value, problem in values.by_leaf(self.known[row.key], row.observation):
                if leaf is not None and leaf.kind and not problem:
                    self.leaf(leaf, path or "/", value, frame.at(row))

    def leaf(self, leaf: spaces.Leaf, path: str, value: Any, at: At) -> None:
        """One leaf, where it has the right shape."""
        if leaf.kind == "Discrete" and not isinstance(value, (int, np.integer, np.ndarray)):
            return
        array = np.asarray(value)
        if array.dtype.kind not in "iufb" or array.size == 0:
            return
        least, most = float(np.min(array)), float(np.max(array))
        old = self.seen.get(path)
        self.seen[path] = (min(least, old[0]), max(most, old[1])) if old else (least, most)
        if leaf.kind == "Box":
            low, high = np.asarray(leaf.space.low), np.asarray(leaf.space.high)
            if array.shape != low.shape:
                return
        else:
            sizes, start = spaces.sizes(leaf), spaces.start(leaf)
            if array.size != len(sizes):
                return
            array = array.reshape(-1)
            low = np.array(start)
            high = low + np.array(sizes) - 1
        outside = np.argwhere((array < low) | (array > high))
        infinite = np.argwhere(~np.isfinite(array)) if array.dtype.kind == "f" else ()
        if len(outside) and not len(infinite):
            indices = tuple(int(index) for index in outside[0])
            bound = f"{low[indices]} to {high[indices]}"
            self.subject.finding(
                "observation.bounds",
                "a value lies outside the space",
                at,
                leaf=path,
                indices=indices if leaf.kind != "Discrete" else (),
                got=values.number(array[indices]),
                want=bound,
                fix="widen the bounds or clip the value",
            )

    def finish(self, api: Api) -> None:
        """Says the range that was seen, and sends it for the table."""
        for path, (least, most) in list(self.seen.items())[:64]:
            self.subject.channel.send("range", path=path, low=f"{least:g}", high=f"{most:g}")
        self.detail = "; ".join(f"{path} {low:g} to {high:g}" for path, (low, high) in list(self.seen.items())[:3])

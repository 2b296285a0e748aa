"""Observations leaf by leaf: structure, type, dtype, shape and bytes are exactly those of the space."""

from __future__ import annotations

from typing import Any

from .. import spaces, values
from ..apis.api import Api, Frame
from ..numerics import np
from ..subject import At, Subject
from . import check


class Check(check.Check):
    """A buffer is shared byte by byte, so what `contains` forgives (float16, lists) is not enough here."""

    title = "observations: structure, dtype, shape, bytes"
    order = 20

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.known: dict[Any, Any] = {}
        self.told: set[tuple[str, str]] = set()
        self.leaves = 0

    def frame(self, api: Api, frame: Frame) -> None:
        """Every leaf of every row."""
        if frame.call == "reset":
            # The spaces of an agent may be other ones in another episode.
            self.known.clear()
        for row in frame.rows:
            if row.key not in self.known:
                self.known[row.key] = api.observation_space(row.key)
            if row.observation is None and row.done() and api.name == "pettingzoo-aec":
                continue
            self.observation(self.known[row.key], row.observation, frame.at(row))

    def observation(self, space: Any, observation: Any, at: At) -> None:
        """One observation."""
        for leaf, path, value, problem in values.by_leaf(space, observation):
            place = path or "/"
            if problem:
                self.subject.finding(
                    "observation.structure",
                    "the observation does not have the structure of its space",
                    at,
                    leaf=place,
                    got=problem,
                    want=spaces.words(space),
                )
            elif leaf is not None and leaf.kind:
                self.leaves += 1
                self.leaf(leaf, place, value, at)

    def leaf(self, leaf: spaces.Leaf, path: str, value: Any, at: At) -> None:
        """One leaf: a number for a Discrete, an array for the others."""
        shape, dtype = spaces.shape(leaf.space), spaces.dtype(leaf)
        want = f"{dtype} {shape} {spaces.byte_count(leaf)} bytes"
        if leaf.kind == "Discrete":
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
            if not whole and not (isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu"):
                self.wrong(
                    "observation.dtype", "the value of a Discrete is no whole number", leaf, path, value, want, at
                )
            return
        if not isinstance(value, np.ndarray) and not (isinstance(value, np.generic) and shape == ()):
            self.wrong("observation.type", "the value is no numpy array", leaf, path, value, want, at)
            return
        if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
            message = "the array is of a subclass of numpy.ndarray, which a buffer does not keep"
            self.wrong("observation.type", message, leaf, path, value, want, at)
        if value.shape != shape:
            self.wrong("observation.shape", "the array has another shape than the space", leaf, path, value, want, at)
        if value.dtype != dtype:
            code = "observation.dtype"
            self.wrong(code, "the array has another dtype than the space", leaf, path, value, want, at)

    def wrong(self, code: str, message: str, leaf: spaces.Leaf, path: str, value: Any, want: str, at: At) -> None:
        """A finding that gives both sides in dtype, shape and bytes, and the table's row once."""
        if isinstance(value, (np.ndarray, np.generic)):
            got = f"{value.dtype} {value.shape} {value.nbytes} bytes"
            if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
                got = f"{type(value).__name__} of {got}"
        else:
            got = values.words(value)
        if (at.agent, path) not in self.told:
            self.told.add((at.agent, path))
            self.subject.channel.send("actual", agent=at.agent, path=path, actual=got)
        fix = ""
        if code == "observation.dtype" and isinstance(value, np.ndarray):
            fix = f"return the array with .astype(numpy.{spaces.dtype(leaf)}), or declare dtype={value.dtype}"
        elif code == "observation.type":
            fix = f"return numpy.asarray(value, dtype=numpy.{spaces.dtype(leaf)})"
        self.subject.finding(code, message, at, leaf=path, got=got, want=want, fix=fix)

    def finish(self, api: Api) -> None:
        """Says how much was compared."""
        self.detail = f"{self.leaves} leaves compared"

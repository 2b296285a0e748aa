"""Action masks: as long as the action space, 0 or 1, and at least one legal action for whoever has to act."""

from __future__ import annotations

from typing import Any

from .. import action_mask, spaces
from ..apis.api import Api, Frame
from ..numerics import np
from ..subject import At, Subject
from ..values import number, words
from . import check


class Check(check.Check):
    """The mask in the info or in a Dict observation."""

    title = "action masks"
    order = 45

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.masks = 0
        self.known: dict[Any, Any] = {}

    def frame(self, api: Api, frame: Frame) -> None:
        """The mask of every row."""
        if frame.call == "reset":
            # The spaces of an agent may be other ones in another episode.
            self.known.clear()
        for row in frame.rows:
            place, mask = action_mask.of(row.observation, row.info, row.mask)
            if not place or (api.batched and place.startswith("info")):
                continue
            self.masks += 1
            if row.key not in self.known:
                self.known[row.key] = api.action_space(row.key)
            self.mask(self.known[row.key], place, mask, row.done(), frame.at(row))

    def mask(self, space: Any, place: str, mask: Any, done: bool, at: At) -> None:
        """One mask; one of another form is looked at no further."""
        kind = spaces.kind(space)
        if kind in spaces.CONTAINERS and isinstance(mask, (dict, tuple)):
            items = space.spaces.items() if kind == "Dict" else enumerate(space.spaces)
            for key, item in items:
                part = mask.get(key) if isinstance(mask, dict) else mask[key] if key < len(mask) else None
                if part is not None:
                    self.mask(item, f"{place}/{key}", part, done, at)
            return
        if kind not in ("Discrete", "MultiDiscrete", "MultiBinary"):
            self.subject.finding(
                "mask.space",
                "there is a mask, and the action space has no choices that it could speak of",
                at,
                leaf=place,
                got=spaces.words(space),
                want="a Discrete, a MultiDiscrete or a MultiBinary, or one mask for each part of a Dict or Tuple",
                severity="warning",
            )
            return
        counts = spaces.sizes(spaces.Leaf("", kind, space))
        parts = mask if isinstance(mask, tuple) else (mask,)
        for part in parts:
            if not isinstance(part, np.ndarray):
                self.wrong(
                    "mask.type", "the mask is no numpy array", at, place, words(part), "an array of int8 or bool"
                )
                return
            if part.dtype.kind not in "iub":
                self.wrong("mask.dtype", "the mask's dtype is not whole", at, place, str(part.dtype), "int8 or bool")
            values = np.argwhere((part != 0) & (part != 1))
            if len(values):
                first = tuple(int(index) for index in values[0])
                want = "0 (illegal) or 1 (legal)"
                self.wrong("mask.value", "a value of the mask is neither 0 nor 1", at, place, number(part[first]), want)
        rows = spaces.mask_rows(mask, counts)
        if rows is None:
            size = sum(int(np.size(part)) for part in parts)
            want = f"{sum(counts)} values" + (f" ({len(counts)} numbers)" if len(counts) > 1 else "")
            self.wrong(
                "mask.shape", "the mask has another length than the action space", at, place, f"{size} values", want
            )
            return
        if done:
            return
        for index, row in enumerate(rows):
            if not np.any(row):
                which = f" for number {index} of the action" if len(rows) > 1 else ""
                self.wrong(
                    "mask.empty",
                    f"no action is legal{which}",
                    at,
                    place,
                    "all zero",
                    "at least one legal action",
                    "end the episode, or offer an action that does nothing",
                )

    def wrong(self, code: str, message: str, at: At, place: str, got: str, want: str, fix: str = "") -> None:
        """A finding at the mask's place."""
        self.subject.finding(code, message, at, leaf=place, got=got, want=want, fix=fix)

    def finish(self, api: Api) -> None:
        """Says how many there were."""
        self.detail = f"{self.masks} masks"
        if not self.masks:
            self.skipped = "the environment gives no mask"

"""The spaces: known kinds, sizes as int, bounds that hold what they say, the same object each time."""

from __future__ import annotations

from typing import Any

from .. import spaces
from ..apis.api import Api
from ..numerics import np
from ..spaces import Leaf
from ..subject import At, Broken
from . import check


class Check(check.Check):
    """Every leaf of every agent's spaces."""

    title = "spaces: kinds, sizes, bounds, dtypes"
    order = 10

    def __init__(self, subject: Any) -> None:
        super().__init__(subject)
        self.broken = False

    def spaces(self, api: Api) -> None:
        """Looks at both spaces of each agent; raises `Broken` where one cannot be used."""
        alike: dict[str, str] = {}
        keys = api.keys()
        for key in keys[:64]:
            for role, get in (("observation", api.observation_space), ("action", api.action_space)):
                space = get(key)
                agent = str(key) if len(keys) > 1 and not api.batched else ""
                at = At(f"{role}_space", agent=agent)
                words = spaces.words(space)
                if alike.setdefault(role, words) != words:
                    self.subject.finding(
                        "space.agents_differ",
                        f"agents have different {role} spaces: one network cannot serve them all",
                        at,
                        got=words,
                        want=alike[role],
                        severity="warning",
                    )
                if api.name.startswith("pettingzoo") and get(key) is not space:
                    self.subject.finding(
                        "space.not_same",
                        f"{role}_space gives another object each time: seeding it has no effect",
                        at,
                        want="the same object for the same agent",
                        fix="make the spaces once, in __init__",
                    )
                self.space(space, role, at)
            if api.batched:
                break
        if self.broken:
            raise Broken("spaces")

    def space(self, space: Any, role: str, at: At) -> None:
        """One space."""
        if type(space).__module__.split(".")[0] == "gym":
            self.wrong(
                "space.old_gym",
                "the space is of the old gym package",
                at,
                "",
                type(space).__module__,
                "gymnasium.spaces",
            )
            return
        found = spaces.leaves(space)
        if len(found) >= spaces.MAX_LEAVES:
            self.wrong(
                "space.too_many", "more leaves than can be checked", at, "", "", f"fewer than {spaces.MAX_LEAVES}"
            )
        if not found:
            self.wrong("space.empty", "the space has no leaf", at, "", spaces.words(space), "at least one leaf")
        for leaf in found:
            path = leaf.path or "/"
            if leaf.kind in spaces.OTHERS:
                self.subject.finding(
                    "space.unsupported",
                    f"a {leaf.kind} space has no fixed size: the trainer cannot use it",
                    at,
                    leaf=path,
                    got=leaf.kind,
                    want="Box, Discrete, MultiDiscrete, MultiBinary, in a Dict or a Tuple",
                    fix="encode it as a Box of fixed size",
                )
            elif not leaf.kind:
                self.wrong(
                    "space.unknown",
                    "this is no space that the check knows",
                    at,
                    path,
                    f"{type(leaf.space).__module__}.{type(leaf.space).__name__}",
                    "a space of gymnasium.spaces",
                )
            elif leaf.kind == "Box":
                self.box(leaf, at, path)
            else:
                self.counts(leaf, role, at, path)

    def counts(self, leaf: Leaf, role: str, at: At, path: str) -> None:
        """A Discrete, MultiDiscrete or MultiBinary."""
        try:
            sizes, start = spaces.sizes(leaf), spaces.start(leaf)
        except (TypeError, ValueError, OverflowError) as error:
            self.wrong("space.sizes", "the sizes are no integers", at, path, str(error), "positive integers")
            return
        if any(size < 1 for size in sizes) or not sizes:
            self.wrong("space.sizes", "a size is below 1", at, path, str(list(sizes))[:100], "1 or more choices")
        if any(start):
            where = "environment.action_offset" if role == "action" else "the encoding of the observation"
            self.subject.finding(
                "space.start",
                f"the values do not begin at 0: a network that gives 0 to n-1 needs the offset in {where}",
                at,
                leaf=path,
                got=f"start {list(start)[:8]}",
                want="start 0, or the offset in the plan",
                fix=f"put the offset {list(start)[:8]} into the plan" if role == "action" else "subtract the start",
                severity="warning",
            )
        kind = spaces.dtype(leaf).kind
        if kind not in "iu":
            self.wrong(
                "space.dtype",
                f"a {leaf.kind} space with a dtype that is not whole",
                at,
                path,
                str(spaces.dtype(leaf)),
                "an integer dtype",
            )

    def box(self, leaf: Leaf, at: At, path: str) -> None:
        """A Box: dtype, shape and bounds."""
        dtype, shape = spaces.dtype(leaf), spaces.shape(leaf.space)
        if dtype.kind not in "iufb":
            self.wrong("space.dtype", "the dtype is no number", at, path, str(dtype), "a float or integer dtype")
            return
        if any(size < 1 for size in shape):
            self.wrong("space.empty", "the shape has no element", at, path, str(shape), "sizes of 1 or more")
            return
        low, high = np.asarray(leaf.space.low), np.asarray(leaf.space.high)
        for name, bound in (("low", low), ("high", high)):
            if bound.shape != shape:
                self.wrong(
                    "space.bounds", f"{name} has another shape than the space", at, path, str(bound.shape), str(shape)
                )
                return
        wide_low, wide_high = low.astype(np.float64), high.astype(np.float64)
        self.first(
            np.isnan(wide_low) | np.isnan(wide_high), "space.bound_nan", "a bound is NaN", leaf, at, path, "numbers"
        )
        self.first(wide_low > wide_high, "space.bounds_reversed", "low is above high", leaf, at, path, "low <= high")
        self.first(
            np.isposinf(wide_low) | np.isneginf(wide_high),
            "space.bound_infinite",
            "low is +inf or high is -inf: nothing but infinity lies between them",
            leaf,
            at,
            path,
            "-inf for an open low, inf for an open high",
        )
        for name, wide, marked in (
            ("low", wide_low, getattr(leaf.space, "bounded_below", None)),
            ("high", wide_high, getattr(leaf.space, "bounded_above", None)),
        ):
            if marked is not None and np.shape(marked) == shape:
                self.first(
                    np.isinf(wide)
                    & np.asarray(marked, bool)
                    & ~(np.isposinf(wide) if name == "low" else np.isneginf(wide)),
                    "space.bound_lost",
                    f"{name} became infinite in {dtype} although it is marked as a bound",
                    leaf,
                    at,
                    path,
                    f"a bound that {dtype} can hold",
                )
        if dtype.kind in "iu" and (low.dtype != dtype or high.dtype != dtype):
            info = np.iinfo(dtype)
            self.first(
                (wide_low < info.min) | (wide_high > info.max),
                "space.bound_lost",
                f"a bound that {dtype} cannot hold",
                leaf,
                at,
                path,
                f"{info.min} to {info.max}",
            )
        if dtype.kind == "f" and (np.isinf(wide_low).any() or np.isinf(wide_high).any()):
            agent = f" of agent {at.agent}" if at.agent else ""
            self.subject.note(f"{at.call}{agent}, leaf {path}: unbounded, so nothing but finite values can be checked")

    def first(self, wrong: Any, code: str, message: str, leaf: Leaf, at: At, path: str, want: str) -> None:
        """A finding for the first element where `wrong` holds."""
        places = np.argwhere(wrong)
        if len(places):
            indices = tuple(int(index) for index in places[0])
            got = f"low {leaf.space.low[indices]}, high {leaf.space.high[indices]}"
            self.wrong(code, message, at, path, got, want, indices)

    def wrong(
        self, code: str, message: str, at: At, path: str, got: str, want: str, indices: tuple[int, ...] = ()
    ) -> None:
        """A finding after which the space cannot be used."""
        self.broken = True
        self.subject.finding(code, message, at, leaf=path, indices=indices, got=got, want=want)

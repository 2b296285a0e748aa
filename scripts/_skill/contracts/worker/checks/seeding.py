"""Seeds: equal seeds give equal traces, in a new environment and in a used one; other seeds give others."""

from __future__ import annotations

import itertools
import random
from typing import Any

from .. import values
from ..apis.api import Api, Frame
from ..numerics import np
from ..rollout import chooser, run
from ..subject import At
from . import check

STEPS = 60
SEEDS = 4
BATCH_STEPS = 20
BATCH_ROWS = 16
"""Other seeds that are tried."""


class Check(check.Check):
    """Runs with the same actions, compared value by value."""

    title = "seeding: equal seeds, equal traces"
    order = 85

    def trace(self, api: Api, seed: int, steps: int) -> list[Frame]:
        """The frames of a run, copied."""
        seen: list[Frame] = []

        def look(frame: Frame) -> None:
            rows = [row._replace(observation=values.copied(row.observation), info=None) for row in frame.rows]
            seen.append(frame._replace(rows=rows, raw=None))

        run(self.subject, api, steps, seed, 7, look, reset_on_done=self.subject.autoreset == "disabled" and api.batched)
        return seen

    def after(self) -> None:
        """Three runs with one seed, then some with others."""
        subject = self.subject
        first = subject.new()
        spec = getattr(first.environment, "spec", None)
        if getattr(spec, "nondeterministic", False):
            self.skipped = "the environment is registered as nondeterministic"
            first.close()
            return
        if first.form == "simple":
            from ..apis.api import takes

            if not takes(first.environment.reset, "seed"):
                self.skipped = "reset takes no seed: its runs cannot be repeated"
                subject.note(self.skipped)
                first.close()
                return
        seed = int(subject.job["seed"])
        steps = subject.affordable(min(int(subject.job["steps"]), STEPS), 3 + SEEDS)
        one = self.trace(first, seed, steps)
        state = generator_states(first.environment)
        second = subject.new()
        two = self.trace(second, seed, steps)
        if subject.late():
            self.late = True
            return
        self.compare(one, two, "two new environments with the same seed differ", "seeding.not_reproducible")
        if self.subject.counts.get(self.name, 0) == 0:
            again = self.trace(second, seed, steps)
            if subject.late():
                self.late = True
                return
            self.compare(
                one,
                again,
                "a used environment, reset with the same seed, differs from a new one",
                "seeding.carries_over",
            )
        second.close()
        different = 0
        tried = 0
        others: list[dict[str, Any]] = []
        for other in range(seed + 1, seed + 1 + SEEDS):
            if subject.late():
                break
            tried += 1
            different += first_difference(one, self.trace(first, other, steps)) is not None
            others.append(generator_states(first.environment))
        first.close()
        self.detail = f"{len(one)} calls compared; {different} of {tried} other seeds differ"
        if not different and tried == SEEDS and subject.counts.get(self.name, 0) == 0:
            self.all_alike(state, others)
        if first.batched and not first.in_place and different:
            self.batch_alike(seed)

    def batch_alike(self, seed: int) -> None:
        """Environments of a batch that do the same as long as their actions are the same were seeded alike."""
        pairs: set[tuple[int, int]] | None = None
        count = 0
        for number in range(3):
            api = self.subject.new()
            choose = chooser(api, 7)
            chosen: list[Any] = []
            api.reset(seed + number)
            frames = [dict(api.last)]

            def same(key: Any, row: Any, chosen: list[Any] = chosen, choose: Any = choose) -> Any:
                if key == 0:
                    chosen[:] = [choose(key, row)]
                return chosen[0]

            for _ in range(BATCH_STEPS):
                if self.subject.late() or any(row.done() for row in api.last.values()):
                    break
                api.step(same)
                frames.append(
                    {key: row._replace(observation=values.copied(row.observation)) for key, row in api.last.items()}
                )
            api.close()
            count = len(frames[0])
            # Each with each is quadratic, and a few tell enough.
            alike = {
                (left, right)
                for left, right in itertools.combinations(range(min(count, BATCH_ROWS)), 2)
                if all(values.difference(f[left].observation, f[right].observation) is None for f in frames)
            }
            pairs = alike if pairs is None else pairs & alike
        if pairs:
            self.subject.finding(
                "seeding.batch_alike",
                "environments of the batch draw the same numbers",
                At("reset", environment=min(pair[1] for pair in pairs)),
                got=f"{sorted(set(itertools.chain(*pairs)))[:8]} of {count} do the same in 3 runs with equal actions",
                want="a seed of its own for each environment",
                fix="seed environment i with one of numpy.random.SeedSequence(seed).spawn(n), or with seed + i",
            )

    def compare(self, one: list[Frame], two: list[Frame], message: str, code: str) -> None:
        """A finding at the first difference."""
        found = first_difference(one, two)
        if found is None:
            return
        frame, agent, leaf, got = found
        self.subject.finding(
            code,
            message,
            At(frame.call, frame.episode, frame.step, agent),
            leaf=leaf,
            got=got,
            want="the same values, since seed and actions are the same",
            fix="draw every random number from a generator that reset(seed=...) makes; keep nothing between episodes",
        )

    def all_alike(self, state: dict[str, Any], others: list[dict[str, Any]]) -> None:
        """Every seed gives the same episode: a fault only where something random is at work."""
        fixed = list(self.subject.job.get("fixed_seeds", []))
        same = [name for name in state if all(other.get(name) == state[name] for other in others)]
        used = self.drawn(same)
        if used or fixed:
            where = f"lines {fixed[:5]} make a generator from a constant" if fixed else f"{used[0]} ignores the seed"
            self.subject.finding(
                "seeding.ignored",
                f"{1 + SEEDS} different seeds give the same episode, although random numbers are drawn",
                At("reset"),
                got=where,
                want="another episode for another seed",
                fix="super().reset(seed=seed), then self.np_random",
            )
        else:
            self.subject.note("no randomness was seen: every seed gives the same episode")

    def drawn(self, names: list[str]) -> list[str]:
        """Which of the environment's generators draw while it runs."""
        if not names:
            return []
        api = self.subject.new()
        seen: list[dict[str, Any]] = []
        seed = int(self.subject.job["seed"])
        run(self.subject, api, 20, seed, 7, lambda frame: seen.append(generator_states(api.environment)))
        api.close()
        return [name for name in names if any(one.get(name) != seen[0].get(name) for one in seen[1:])]


def first_difference(one: list[Frame], two: list[Frame]) -> tuple[Frame, str, str, str] | None:
    """(frame, agent, leaf, both values) of the first difference of two traces."""
    for left, right in zip(one, two, strict=False):
        if left.call != right.call or [row.agent for row in left.rows] != [row.agent for row in right.rows]:
            both = [f"{frame.call} of {[row.agent for row in frame.rows][:8]}" for frame in (left, right)]
            return left, "", "agents", " and ".join(both)
        for a, b in zip(left.rows, right.rows, strict=True):
            place = values.difference(a.observation, b.observation)
            if place is not None:
                return left, a.agent, place, values.both(a.observation, b.observation)
            for name in ("reward", "terminated", "truncated"):
                if values.difference(getattr(a, name), getattr(b, name)) is not None:
                    return left, a.agent, name, values.both(getattr(a, name), getattr(b, name))
    return (
        None
        if len(one) == len(two)
        else (one[min(len(one), len(two)) - 1], "", "length", f"{len(one)} and {len(two)} calls")
    )


def generator_states(environment: Any) -> dict[str, Any]:
    """The states of the random generators among an environment's attributes, wrappers included."""
    found: dict[str, Any] = {}
    current, depth = environment, 0
    while current is not None and depth < 12:
        for name, value in list(getattr(current, "__dict__", {}).items())[:300]:
            state = generator_state(value)
            if state is not None:
                found[f"{type(current).__name__}.{name}"] = state
        current = getattr(current, "__dict__", {}).get("env")
        depth += 1
    return found


def generator_state(value: Any) -> Any:
    """The state of a generator as a comparable value, or None."""
    if isinstance(value, np.random.Generator):
        return str(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        return str(value.get_state(legacy=False))
    if isinstance(value, random.Random):
        return value.getstate()
    return None

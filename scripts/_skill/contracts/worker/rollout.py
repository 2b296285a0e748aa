"""Drives one environment for some steps and shows every frame to whoever wants to look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import action_mask, spaces
from .apis.api import Api, Choose, Frame, Row
from .numerics import np
from .subject import Subject

EXTREMES = 0.1
"""How often an action is the least or the greatest of its space."""


def chooser(api: Api, seed: int) -> Choose:
    """Actions drawn from each agent's space with a generator of our own; illegal ones are left out."""
    rng = np.random.default_rng(seed)
    known: dict[Any, Any] = {}
    episode = api.episode

    def choose(key: Any, row: Row | None) -> Any:
        nonlocal episode
        if api.episode != episode:
            # The spaces of an agent may be other ones in another episode.
            known.clear()
            episode = api.episode
        if key not in known:
            known[key] = api.action_space(key)
        place, mask = action_mask.of(row.observation, row.info, row.mask) if row is not None else ("", None)
        extreme = 0
        if rng.random() < EXTREMES:
            extreme = 1 if rng.random() < 0.5 else -1
        return spaces.sample(known[key], rng, mask if place else None, extreme)

    return choose


def run(
    subject: Subject,
    api: Api,
    steps: int,
    seed: int | None,
    actions: int,
    look: Callable[[Frame], None],
    stop: Callable[[], bool] = lambda: False,
    reset_on_done: bool = False,
) -> int:
    """Resets with `seed` and steps `steps` times, over as many episodes as that takes; returns the episodes.

    `reset_on_done` is for batches whose caller has to reset. `actions` seeds the choice of actions.
    """
    choose = chooser(api, actions)
    look(api.reset(seed))
    episodes = 1
    for _ in range(steps):
        if stop() or subject.late():
            break
        if api.ended:
            look(api.reset())
            episodes += 1
            if api.ended:
                break
        frame = api.step(choose)
        subject.numbers["steps"] += 1
        look(frame)
        if reset_on_done and any(row.done() for row in frame.rows):
            api.ended = True
    subject.numbers["episodes"] += episodes
    return episodes


def frames(subject: Subject, api: Api, steps: int, seed: int | None, actions: int, disabled: bool) -> Iterator[Frame]:
    """The frames of a run as a list that can be compared; values are copied by the caller."""
    seen: list[Frame] = []
    run(subject, api, steps, seed, actions, seen.append, reset_on_done=disabled)
    yield from seen

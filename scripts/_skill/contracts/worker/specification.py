"""The spec of an environment and its table of leaves, as messages for the parent."""

from __future__ import annotations

from typing import Any

from . import spaces
from .apis.api import Api
from .numerics import np
from .subject import Subject

KINDS = {"Discrete": "discrete", "MultiDiscrete": "multi_discrete", "MultiBinary": "multi_binary", "Box": "box"}
MAX_SIZES = 4096
MAX_AGENTS = 8


def send(subject: Subject, api: Api) -> None:
    """Sends the spec (of the first agent) and a row for each leaf of the first agents."""
    keys = api.keys()
    agents = api.agents() if not api.form == "vector" else 1
    if keys:
        observation = spaces.leaves(api.observation_space(keys[0]))
        action = spaces.leaves(api.action_space(keys[0]))
        whole = all(leaf.kind in KINDS for leaf in observation + action)
        if whole and all(len(spaces.sizes(leaf)) <= MAX_SIZES for leaf in action):
            subject.channel.send(
                "spec",
                api=api.name,
                agents=agents,
                observation=[observed(leaf) for leaf in observation],
                action=[acted(leaf) for leaf in action],
            )
    shown = keys[:1] if api.batched else keys[:MAX_AGENTS]
    for key in shown:
        for role, space in (("observation", api.observation_space(key)), ("action", api.action_space(key))):
            for leaf in spaces.leaves(space)[:64]:
                if leaf.kind in KINDS:
                    subject.channel.send("leaf", **row(leaf, role, str(key) if len(shown) > 1 else ""))


def observed(leaf: spaces.Leaf) -> dict[str, Any]:
    """A leaf of an observation as a plan writes it."""
    return {"path": leaf.path, "dtype": str(spaces.dtype(leaf)), "shape": list(spaces.shape(leaf.space))}


def acted(leaf: spaces.Leaf) -> dict[str, Any]:
    """A leaf of an action as a plan writes it."""
    return {
        "path": leaf.path,
        "kind": KINDS[leaf.kind],
        "dtype": str(spaces.dtype(leaf)),
        "shape": list(spaces.shape(leaf.space)),
        "sizes": list(spaces.sizes(leaf)),
        "start": list(spaces.start(leaf)),
    }


def row(leaf: spaces.Leaf, role: str, agent: str) -> dict[str, Any]:
    """A row of the table of leaves."""
    low = high = ""
    if leaf.kind == "Box":
        low, high = extreme(leaf.space.low, np.min), extreme(leaf.space.high, np.max)
    return {
        "agent": agent,
        "role": role,
        "path": leaf.path,
        "space": spaces.words(leaf.space),
        "dtype": str(spaces.dtype(leaf)),
        "shape": list(spaces.shape(leaf.space)),
        "bytes": spaces.byte_count(leaf),
        "low": low,
        "high": high,
    }


def extreme(bound: Any, function: Any) -> str:
    """The least or greatest bound as text."""
    return f"{float(function(np.asarray(bound))):g}"

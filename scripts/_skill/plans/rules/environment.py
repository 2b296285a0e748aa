"""An environment that the plan describes: leaves that agree with themselves, actions that the trainer can send."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ... import text
from ...findings import Finding
from ..plan_environment import ActionLeaf
from . import Case

_INTEGERS = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")


def findings(case: Case) -> Iterator[Finding]:
    """What is wrong with the description of an environment of another API than C."""
    if case.plan.api == "c":
        return
    yield from _leaves(case)
    yield from _offset(case)
    document = case.plan.document["environment"]
    if document["autoreset"] == "disabled" and case.plan.vectorization["backend"] != "serial":
        yield Finding(
            "environment.autoreset",
            "without autoreset a finished environment raises at its next step, and a worker would end",
            "/environment/autoreset",
            '"disabled"',
            "same_step or next_step",
            'pin the mode that the environment was checked in, for example "next_step"',
        )
    source = document["source"]
    if source is not None and (os.path.realpath(source) != source or not os.path.isfile(source)):
        yield Finding(
            "environment.source",
            "the environment's file is not there, or is named through a link",
            "/environment/source",
            text.shown(source),
            "the absolute path of a plain file, without links",
            text.shown(os.path.realpath(source)) if os.path.isfile(source) else "check the path",
        )


def _leaves(case: Case) -> Iterator[Finding]:
    for name, leaves in (("observation", case.environment.observation), ("action", case.environment.action)):
        paths = [leaf.path for leaf in leaves]
        twice = {path for path in paths if paths.count(path) > 1}
        for path in sorted(twice):
            yield Finding(
                "environment.leaf_twice",
                f"two leaves of the {name} have one path",
                f"/environment/{name}",
                text.shown(path),
                "each path once",
                f"name the second one {text.shown(path + '_2')}",
            )
    for index, leaf in enumerate(case.environment.action):
        yield from _action(leaf, f"/environment/action/{index}")


def _action(leaf: ActionLeaf, place: str) -> Iterator[Finding]:
    components = leaf.components
    if leaf.kind == "box":
        if leaf.sizes:
            yield _wrong_sizes(leaf, place, "no sizes: a box has no choices")
        return
    if leaf.dtype not in _INTEGERS:
        yield Finding(
            "environment.action_type",
            f"a {leaf.kind} action is made of whole numbers",
            f"{place}/dtype",
            leaf.dtype,
            "an integer type",
            "int64" if leaf.kind != "multi_binary" else "int8",
        )
    if leaf.kind == "discrete" and leaf.shape:
        yield Finding(
            "environment.action_shape",
            "a discrete action is one number",
            f"{place}/shape",
            text.shown(list(leaf.shape)),
            "[]",
            "write [], or multi_discrete for several",
        )
    elif leaf.kind == "multi_binary":
        if leaf.sizes and (len(leaf.sizes) != components or set(leaf.sizes) != {2}):
            yield _wrong_sizes(leaf, place, f"2 for each of the {components} components, or no sizes")
    elif len(leaf.sizes) != components:
        yield _wrong_sizes(leaf, place, f"one number of choices for each of the {components} components")
    if leaf.sizes and len(leaf.start) != len(leaf.sizes):
        yield Finding(
            "environment.action_start",
            "not one lowest value for each component",
            f"{place}/start",
            text.shown(list(leaf.start)),
            f"{len(leaf.sizes)} numbers",
            text.shown([0] * len(leaf.sizes)),
        )


def _wrong_sizes(leaf: ActionLeaf, place: str, want: str) -> Finding:
    nearest = "remove sizes"
    if leaf.kind == "multi_binary":
        nearest = "remove sizes: each component has two choices"
    elif leaf.kind != "box":
        # What is there is kept; where it is too short its last number is repeated.
        kept = list(leaf.sizes[: leaf.components]) or [2]
        nearest = f"sizes {text.shown((kept + kept[-1:] * leaf.components)[: min(leaf.components, 8)])}"
    return Finding(
        "environment.action_sizes",
        "sizes and shape do not fit",
        f"{place}/sizes",
        text.shown(list(leaf.sizes)),
        want,
        nearest,
    )


def _offset(case: Case) -> Iterator[Finding]:
    """A policy chooses 0..n-1; where the space starts elsewhere the plan must say what is added."""
    wanted = [low for leaf in case.environment.action if leaf.kind != "box" for low in leaf.start]
    given = case.plan.document["environment"].get("action_offset")
    place = "/environment/action_offset"
    shifted = any(wanted)
    if not shifted and given is None:
        return
    if shifted and not case.profile.supports.action_offset:
        yield Finding(
            "environment.action_offset_profile",
            f"profile {case.profile.name} sends actions 0..n-1 only, and this space starts elsewhere",
            place,
            text.shown(wanted),
            "a space that starts at 0",
            "shift the actions in the environment, or use a profile that supports action_offset",
        )
    elif given is None:
        ranges = ", ".join(
            f"{low}..{low + size - 1}"
            for leaf in case.environment.action
            if leaf.kind != "box"
            for low, size in zip(leaf.start, leaf.sizes, strict=False)
        )
        yield Finding(
            "environment.action_offset",
            "the policy chooses 0..n-1, this action space starts elsewhere, and the plan says nothing",
            place,
            "nothing",
            f"actions {ranges}",
            f"action_offset {text.shown(wanted)}",
        )
    elif given != wanted:
        yield Finding(
            "environment.action_offset_wrong",
            "the offset does not lead into the action space",
            place,
            text.shown(given),
            text.shown(wanted),
            f"action_offset {text.shown(wanted)}" if shifted else "remove it",
        )

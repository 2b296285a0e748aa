"""Environment folders: which ones there are, and what one folder holds.

A folder `<name>/` holds `<name>.h` (the environment) and may hold `train.json` (its shipped training settings).
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from .. import layout, strict_json, text
from ..findings import Finding, Refusal
from . import environment_header
from .environment_header import EnvironmentHeader


class EnvironmentFolder(NamedTuple):
    """One environment that a plan can name."""

    name: str
    path: str
    built_in: bool
    header: EnvironmentHeader
    training: dict[str, Any]
    """The content of train.json, or an empty object."""


def built_in_names() -> list[str]:
    """The environments of this bundle: every folder of `ocean/` that holds a header of its own name."""
    try:
        entries = os.listdir(layout.ENVIRONMENTS)
    except OSError:
        return []
    return sorted(name for name in entries if os.path.isfile(os.path.join(layout.ENVIRONMENTS, name, f"{name}.h")))


def load(name: str, path: str | None) -> EnvironmentFolder:
    """The environment `name`, built in or in the folder `path`; refused with the nearest name where unknown."""
    if path is None:
        known = built_in_names()
        if name not in known:
            near = text.nearest(name, known)
            raise Refusal(
                Finding(
                    "environment.unknown",
                    f"there is no environment called {text.shown(name)}",
                    "/environment/name",
                    text.shown(name),
                    text.listed(known) or "an environment in native_profile/pufferlib/ocean",
                    f"did you mean {near}?" if near else "",
                )
            )
        folder = os.path.join(layout.ENVIRONMENTS, name)
    else:
        folder = path
        if not os.path.isabs(path) or os.path.realpath(path) != path:
            raise Refusal(
                Finding(
                    "environment.path",
                    "the environment's folder must be named by its absolute path without links",
                    "/environment/path",
                    text.shown(path),
                    fix=text.shown(os.path.realpath(path)),
                )
            )
    header_path = os.path.join(folder, f"{name}.h")
    if not os.path.isfile(header_path):
        raise Refusal(
            Finding(
                "environment.unknown",
                f"the folder holds no {name}.h",
                "/environment/path",
                text.shown(folder),
                f"a folder with {name}.h",
            )
        )
    shown = os.path.relpath(header_path, layout.ROOT) if path is None else header_path
    header = environment_header.read(strict_json.read_file(header_path, environment_header.MAX_BYTES), shown)
    if header.name != name:
        raise Refusal(
            Finding(
                "environment.header",
                "ENV_NAME is not the file's name",
                shown,
                text.shown(header.name),
                text.shown(name),
            )
        )
    return EnvironmentFolder(name, folder, path is None, header, _training(os.path.join(folder, "train.json"), shown))


def _training(path: str, shown: str) -> dict[str, Any]:
    if not os.path.lexists(path):
        return {}
    source = os.path.join(os.path.dirname(shown), "train.json")
    document = strict_json.loads(strict_json.read_file(path), source)
    parts = {"policy": dict, "train": dict, "goal": dict}
    if not isinstance(document, dict) or not set(document) <= set(parts):
        raise Refusal(
            Finding("environment.training", "train.json is of the wrong form", source, want=text.listed(parts))
        )
    for part, value in document.items():
        if not isinstance(value, dict):
            raise Refusal(Finding("environment.training", "not an object", f"{source}#/{part}", text.shown(value)))
    return document

"""Where an environment says which actions are legal: in the info, in a Dict observation, or in a method."""

from __future__ import annotations

from typing import Any

NAMES = ("action_mask", "action_masks", "legal_actions_mask", "avail_actions")


def of(observation: Any, info: Any) -> tuple[str, Any]:
    """(place, mask) of a row; an empty place where there is none."""
    for place, holder in (("observation", observation), ("info", info)):
        if isinstance(holder, dict):
            for name in NAMES:
                if name in holder and holder[name] is not None:
                    return f"{place}/{name}", holder[name]
    return "", None

"""Where an environment says which actions are legal: in the info, in a Dict observation, or in a method."""

from __future__ import annotations

from typing import Any

NAMES = ("avail_actions", "legal_moves_mask")
ENDS = ("action_mask", "action_masks", "actions_mask")
UNCLEAR = ("available_actions", "valid_actions", "legal_actions")
"""With one byte a value a mask; otherwise the numbers of the legal actions."""
METHOD = "action_masks"
"""A method without arguments, as maskable policies ask for it."""
DEPTH = 4


def of(observation: Any, info: Any, method: Any = None) -> tuple[str, Any]:
    """(place, mask) of a row; an empty place where there is none."""
    for place, holder in (("observation", observation), ("info", info)):
        found = _inside(place, holder, DEPTH)
        if found[0]:
            return found
    return (f"{METHOD}()", method) if method is not None else ("", None)


def is_name(name: object) -> bool:
    """Whether a key is that of a mask of legal actions; one of illegal actions says the opposite."""
    return isinstance(name, str) and (name in NAMES or (name.endswith(ENDS) and not name.startswith(("il", "in"))))


def _inside(place: str, holder: Any, depth: int) -> tuple[str, Any]:
    if isinstance(holder, dict) and depth > 0:
        for name, value in holder.items():
            one_byte = getattr(getattr(value, "dtype", None), "itemsize", 0) == 1
            if value is not None and (is_name(name) or (name in UNCLEAR and one_byte)):
                return f"{place}/{name}", value
        for name, value in holder.items():
            found = _inside(f"{place}/{name}", value, depth - 1)
            if found[0]:
                return found
    return "", None

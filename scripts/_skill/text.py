"""Text that people read: untrusted text made harmless, nearest names, sizes.

Text from plans, environments, checkpoints and logs is data. Before any of it reaches a terminal or a log it
passes `escaped`, which leaves no control, invisible or direction-changing character and caps the length.
"""

from __future__ import annotations

from collections.abc import Iterable

SHOWN_CHARACTERS = 200
"""How much of an untrusted text is shown."""


def escaped(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """`text` with every character that is not printable written as an escape, cut after `limit` characters."""
    cut = text[:limit]
    if not cut.isprintable():
        # isprintable() is False for controls, zero-width and bidirectional marks, surrogates and line separators.
        cut = "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in cut)
    return cut if len(text) <= limit else f"{cut}... ({len(text)} characters)"


def shown(value: object, limit: int = SHOWN_CHARACTERS) -> str:
    """A JSON value as one short line for a message: strings in quotes, the rest as JSON writes it."""
    if isinstance(value, str):
        return f'"{escaped(value, limit)}"'
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"an object with {len(value)} keys"
    if isinstance(value, list):
        if len(value) > 8 or any(isinstance(item, (dict, list)) for item in value):
            return f"a list of {len(value)}"
        return "[" + ", ".join(shown(item, 40) for item in value) + "]"
    return escaped(repr(value), limit)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, or None where nothing is close."""
    import difflib

    names = sorted(known)
    lowered = name[:100].lower()
    for candidate in names:
        if candidate.lower() == lowered:
            return candidate
    # A last part that fits counts as close: "learning_rate" for "train.learning_rate".
    for candidate in names:
        if candidate.rsplit(".", 1)[-1] == lowered:
            return candidate
    close = difflib.get_close_matches(lowered, names, n=1, cutoff=0.5)
    if close:
        return close[0]
    tails = {candidate.rsplit(".", 1)[-1]: candidate for candidate in reversed(names)}
    close = difflib.get_close_matches(lowered.rsplit(".", 1)[-1], tails, n=1, cutoff=0.5)
    return tails[close[0]] if close else None


def listed(names: Iterable[str], limit: int = 12) -> str:
    """Names as `a, b, c`, cut after `limit`."""
    every = sorted(names)
    rest = f" and {len(every) - limit} more" if len(every) > limit else ""
    return ", ".join(escaped(name, 60) for name in every[:limit]) + rest


def byte_count(count: int) -> str:
    """A size for people: `3.5 MiB`."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")


def pointer(parts: Iterable[str | int]) -> str:
    """A JSON pointer (RFC 6901) from its parts, each cut after SHOWN_CHARACTERS; the whole document is ""."""
    words = [word if len(word) <= SHOWN_CHARACTERS else word[:SHOWN_CHARACTERS] + "..." for word in map(str, parts)]
    return "".join("/" + word.replace("~", "~0").replace("/", "~1") for word in words)

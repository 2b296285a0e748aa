"""Compares what two checkpoints hold: the same names after wrapper prefixes, shapes and dtypes."""

from __future__ import annotations

from .. import text
from . import state_names
from .content import COULD_NOT_CHECK, INCONSISTENT, SAFE, Content, Tensor, shown_shape


def compare(content: Content, other: Content, path: str) -> None:
    """Adds a finding to `content` for every kind of difference; nothing in common is always an error."""
    if other.verdict != SAFE:
        content.add(
            COULD_NOT_CHECK,
            "compare.other",
            "the other checkpoint is not one to compare with",
            where=text.escaped(path),
            got=other.verdict,
            fix="inspect it by itself",
        )
        return
    mine, theirs = _by_name(content), _by_name(other)
    common = mine.keys() & theirs.keys()
    if not common:
        content.add(
            INCONSISTENT, "compare.nothing", "no name is in both checkpoints", where=text.escaped(path),
            got=text.listed(mine, 4), want=text.listed(theirs, 4),
        )  # fmt: skip
        return
    for code, names, words in (
        ("compare.missing", theirs.keys() - common, "names are missing"),
        ("compare.extra", mine.keys() - common, "names are not in the other checkpoint"),
    ):
        if names:
            content.add(
                INCONSISTENT, code, f"{len(names)} {words}", where=text.escaped(path), got=text.listed(names, 8)
            )
    for name in sorted(common):
        left, right = mine[name], theirs[name]
        if (left.shape, left.dtype) != (right.shape, right.dtype):
            content.add(
                INCONSISTENT, "compare.tensor", "a tensor has another shape or dtype", where=text.escaped(name),
                got=f"{left.dtype} {shown_shape(left.shape)}", want=f"{right.dtype} {shown_shape(right.shape)}",
            )  # fmt: skip


def _by_name(content: Content) -> dict[str, Tensor]:
    names = state_names.renamed(content)
    return {names.get(tensor.name, tensor.name): tensor for tensor in content.tensors}

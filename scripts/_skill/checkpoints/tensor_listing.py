"""Lists what a followed pickle holds: tensors by name, where state dicts are, and how many other values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import text
from . import limits
from .allowed_globals import DATA_VALUES
from .content import COULD_NOT_CHECK, DAMAGED, UNSAFE, Content, Tensor
from .pickle_values import Global, Items, Mapping, StorageView, TensorValue

_LOOKED_INTO = (TensorValue, Mapping, Items, list, tuple, Global)


class _TooMuch(Exception):
    """More values than are followed."""


class _Listing:
    def __init__(self, content: Content, where: str) -> None:
        self.content = content
        self.where = where
        self.nodes = 0
        self.cycles = 0
        self.views: list[tuple[Tensor, StorageView | None]] = []

    def visit(self, root: Any) -> None:
        """Goes through the value as a tree, without recursion; what contains itself is refused."""
        open_values: set[int] = set()
        # Containers without a tensor, with how many values they hold at all depths: seen again, they are only counted.
        without_tensors: dict[int, int] = {}
        # Entries: (name, value, depth) to visit, or (None, (identity, tensors and values before it), 0) to close one.
        waiting: list[tuple[str | None, Any, int]] = [("", root, 0)]
        while waiting:
            name, value, depth = waiting.pop()
            if name is None:
                identity, tensors, nodes = value
                open_values.discard(identity)
                if len(self.views) == tensors:
                    without_tensors[identity] = self.nodes - nodes
                continue
            self.nodes += without_tensors.get(id(value), 0)
            self.nodes += 1
            if self.nodes > limits.NODES:
                raise _TooMuch(f"{limits.NODES} values")
            if id(value) in without_tensors:
                continue
            if id(value) in open_values:
                if not self.cycles:
                    self.content.add(DAMAGED, "pickle.cycle", "a container holds itself", where=self.where)
                self.cycles += 1
                continue
            children = self.children(name, value)
            if children is None:
                continue
            if depth >= limits.DEPTH:
                raise _TooMuch(f"{limits.DEPTH} levels")
            open_values.add(id(value))
            waiting.append((None, (id(value), len(self.views), self.nodes), 0))
            waiting.extend((child, item, depth + 1) for child, item in reversed(children))

    def children(self, name: str, value: Any) -> list[tuple[str, Any]] | None:
        """What a container holds, by name; None for a value that is none, which is counted here."""
        if isinstance(value, TensorValue):
            self.tensor(name, value)
            return None
        if isinstance(value, Mapping):
            names = [key for key, item in value.items.items() if isinstance(item, TensorValue)]
            if names and all(type(key) is str for key in names):
                self.content.groups.append((name, names))
            return self.named(name, value.items.items(), len(value.items))
        if type(value) in (list, tuple):
            return self.named(name, enumerate(value), len(value))
        self.content.other_values += len(value.values) if isinstance(value, Items) else 1
        if isinstance(value, Global) and (value.module, value.name) not in DATA_VALUES:
            self.content.add(
                UNSAFE, "pickle.global_as_value", f"a function or class stands among the values: {value.path}"
            )
        return None

    def named(self, name: str, pairs: Iterable[tuple[Any, Any]], count: int) -> list[tuple[str, Any]]:
        """The pairs whose values are looked into, with full names; plain values are only counted."""
        kept = [(self.joined(name, key), item) for key, item in pairs if isinstance(item, _LOOKED_INTO)]
        self.nodes += count - len(kept)
        self.content.other_values += count - len(kept)
        if self.nodes > limits.NODES:
            raise _TooMuch(f"{limits.NODES} values")
        return kept

    @staticmethod
    def joined(name: str, key: Any) -> str:
        """The name of what stands under a key."""
        last = key if type(key) is str else str(key)
        whole = f"{name}.{last}" if name else last
        if len(whole) > limits.NAME:
            raise _TooMuch(f"a name of {limits.NAME} characters")
        return whole

    def tensor(self, name: str, value: TensorValue) -> None:
        """Keeps one tensor, and after it those that it is made of."""
        if len(self.views) >= limits.TENSORS:
            raise _TooMuch(f"{limits.TENSORS} tensors")
        view = value.storage
        first = view.first if view else 0
        self.views.append(
            (
                Tensor(
                    name, value.dtype, value.shape, value.stride, view.key if view else "", value.offset + first,
                    value.layout,
                ),
                view,
            )
        )  # fmt: skip
        for index, part in enumerate(value.parts):
            self.tensor(self.joined(name, f"<{index}>"), part)


def list_tensors(content: Content, root: Any, where: str) -> list[tuple[Tensor, StorageView | None]]:
    """All tensors of the value with the storage each one is a view of; also into `content.tensors`."""
    listing = _Listing(content, where)
    try:
        listing.visit(root)
    except _TooMuch as error:
        content.add(
            COULD_NOT_CHECK, "pickle.limit", f"more than this tool follows: {text.escaped(str(error))}", where=where
        )
    content.tensors.extend(tensor for tensor, _ in listing.views)
    if len({tensor.name for tensor in content.tensors}) != len(content.tensors):
        content.warn("names.same", "two tensors have one name when nested names are joined by dots", where=where)
    return listing.views

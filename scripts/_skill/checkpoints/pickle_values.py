"""What stands on the stack while a pickle is read without loading it: stand-ins for the objects that a load would make.

None, bool, int, float, complex, str, bytes, list and tuple stand for themselves.
"""

from __future__ import annotations

from typing import Any

from .. import text


class Global:
    """A function or class, by name; it is never imported."""

    __slots__ = ("module", "name", "offset")

    def __init__(self, module: str, name: str, offset: int) -> None:
        self.module = module
        self.name = name
        self.offset = offset

    @property
    def path(self) -> str:
        """`module.name`, safe to show."""
        return text.escaped(f"{self.module}.{self.name}", 120)


class Skipped:
    """A long text or bytes object: only its kind and length are kept."""

    __slots__ = ("kind", "length")

    def __init__(self, kind: str, length: int) -> None:
        self.kind = kind
        self.length = length


class Mapping:
    """A dict or one of its kin; keys are checked to be plain when they are set."""

    __slots__ = ("frozen", "items", "kind")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.items: dict[Any, Any] = {}
        self.frozen = False
        """Whether it was handed to something that allows only an empty one; filling it later is refused."""


class Items:
    """A set or frozenset."""

    __slots__ = ("kind", "values")

    def __init__(self, kind: str, values: list[Any]) -> None:
        self.kind = kind
        self.values = values


class StorageView:
    """A storage of torch, named by its key, as a persistent id gives it."""

    __slots__ = ("dtype", "first", "key", "location", "numel", "whole")

    def __init__(self, key: str, dtype: str, location: str, numel: int, first: int = 0, whole: int | None = None):
        self.key = key
        self.dtype = dtype
        """Empty for an untyped storage, whose unit is the byte."""
        self.location = location
        self.numel = numel
        self.first = first
        """First element of the view, in old files whose storages can be views of others."""
        self.whole = numel if whole is None else whole
        """Elements of the storage that this is a view of."""


class TensorValue:
    """A tensor, without its name."""

    __slots__ = ("dtype", "layout", "offset", "parts", "shape", "storage", "stride")

    def __init__(
        self,
        storage: StorageView | None,
        dtype: str,
        offset: int,
        shape: tuple[int, ...],
        stride: tuple[int, ...],
        layout: str = "dense",
        parts: tuple[Any, ...] = (),
    ) -> None:
        self.storage = storage
        self.dtype = dtype
        self.offset = offset
        self.shape = shape
        self.stride = stride
        self.layout = layout
        self.parts = parts
        """The dense tensors that a sparse or quantized one is made of."""


class Made:
    """An object of a class that is known to hold data only, or the result of a call that nobody may make."""

    __slots__ = ("detail", "of", "trusted")

    def __init__(self, of: str, trusted: bool, detail: str = "") -> None:
        self.of = of
        self.trusted = trusted
        self.detail = detail


def is_integer(value: object) -> bool:
    """Whether it is an int and not a bool."""
    return type(value) is int


def kind_of(value: Any) -> str:
    """What a stand-in stands for, in words."""
    if isinstance(value, Global):
        return value.path
    if isinstance(value, Made):
        return text.escaped(value.of, 120)
    if isinstance(value, TensorValue):
        return "a tensor"
    if isinstance(value, Mapping):
        return f"a dict of {len(value.items)}"
    if isinstance(value, (Items, list, tuple)):
        return "a set" if isinstance(value, Items) else f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, Skipped):
        return value.kind
    return text.shown(value, 80)

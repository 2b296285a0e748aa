"""The tar files that the first versions of torch wrote: `storages`, `tensors` and `pickle`, each a row of pickles.

torch's weights-only loader does not read them at all, so the best verdict for one is "not weights only".
"""

from __future__ import annotations

from typing import Any

from .. import text
from . import limits, tar_archive, tensor_listing
from .allowed_globals import STORAGE_DTYPES, Misuse
from .content import COULD_NOT_CHECK, DAMAGED, ITEM_BITS, NOT_WEIGHTS_ONLY, Content, check_view
from .pickle_machine import PickleMachine
from .pickle_values import Global, StorageView, TensorValue, is_integer
from .source import Source

_MEMBERS = {"storages", "tensors", "pickle"}
_MOST = 10_000


class _Stop(Exception):
    """A finding says why reading ends."""


class _Row:
    """The pickles of one member, with binary data between them."""

    def __init__(self, name: str, source: Source, content: Content) -> None:
        self.name = name
        self.source = source
        self.content = content
        self.offset = 0

    def next(self, persistent: Any = None) -> Any:
        machine = PickleMachine(self.source, self.content, start=self.offset, where=self.name, persistent=persistent)
        if not machine.run():
            raise _Stop
        self.offset = machine.end
        return machine.value

    def number(self, count: int) -> int:
        data = self.source.read(self.offset, count)
        if len(data) < count:
            raise self.wrong("it ends too early")
        self.offset += count
        return int.from_bytes(data, "little", signed=True)

    def skip(self, count: int) -> None:
        if count > self.source.length - self.offset:
            raise self.wrong("a storage is longer than the file")
        self.offset += count

    def count(self) -> int:
        """The number of entries that follow."""
        value = self.next()
        if not is_integer(value) or value < 0:
            raise self.wrong("the number of entries is none")
        if value > _MOST:
            self.content.add(COULD_NOT_CHECK, "tar.limit", f"more than {_MOST} entries", where=self.name)
            raise _Stop
        return int(value)

    def wrong(self, message: str) -> _Stop:
        self.content.add(
            DAMAGED, "torch.tar", f"not what torch wrote: {message}", where=f"{self.name}, byte {self.offset}"
        )
        return _Stop()

    def at_end(self) -> None:
        if self.offset != self.source.length:
            raise self.wrong("bytes after the last entry")


def inspect(source: Source, content: Content) -> bool:
    """Checks the three members; False where this is a tar archive of something else, which is then not read."""
    members = tar_archive.read_members(source, content)
    if members is None:
        return True
    inside = {member.name: member.source(source) for member in members if member.kind == "file"}
    if not set(inside) & _MEMBERS:
        return False
    content.kind = "torch_tar"
    content.add(
        NOT_WEIGHTS_ONLY, "torch.tar_format", "torch's weights-only loader does not read this old form",
        fix="write it again where it was made, with a current torch, or ask for safetensors",
    )  # fmt: skip
    if set(inside) != _MEMBERS:
        content.add(DAMAGED, "torch.tar_members", "not the three members of torch", got=text.listed(inside))
    try:
        _read(inside, content)
    except _Stop:
        return True
    return True


def _read(inside: dict[str, Source], content: Content) -> None:
    storages = _storages(_Row("storages", inside["storages"], content)) if "storages" in inside else {}
    tensors = _tensors(_Row("tensors", inside["tensors"], content), storages) if "tensors" in inside else {}

    def persistent(identifier: Any) -> Any:
        key = identifier if is_integer(identifier) else int(identifier) if _is_number(identifier) else None
        if key in tensors:
            return tensors[key]
        if key in storages:
            return storages[key]
        raise Misuse("it carries the source of a class, or names nothing in the file")

    if "pickle" not in inside:
        return
    row = _Row("pickle", inside["pickle"], content)
    root = row.next(persistent)
    row.at_end()
    for tensor, view in tensor_listing.list_tensors(content, root, "pickle"):
        if view is not None:
            check_view(content, tensor, view.whole * ITEM_BITS[view.dtype] // 8, "pickle")


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20


def _storages(row: _Row) -> dict[Any, StorageView]:
    found: dict[Any, StorageView] = {}
    for _ in range(row.count()):
        entry = row.next()
        if not isinstance(entry, tuple) or len(entry) != 3 or not is_integer(entry[0]):
            raise row.wrong("a storage without key, location and type")
        key, location, kind = entry
        if not isinstance(kind, Global) or kind.module != "torch" or kind.name not in STORAGE_DTYPES:
            raise row.wrong("a storage of an unknown type")
        if not isinstance(location, str) or key in found:
            raise row.wrong("a storage without key, location and type")
        dtype = STORAGE_DTYPES[kind.name]
        count = row.number(8)
        if not 0 <= count < 1 << 50:
            raise row.wrong("a storage of impossible size")
        row.skip(count * ITEM_BITS[dtype] // 8)
        found[key] = StorageView(str(key), dtype, location, count)
    views = row.next()
    if not isinstance(views, list) or len(views) > _MOST:
        raise row.wrong("the list of views is none")
    for view in views:
        if not isinstance(view, tuple) or len(view) != 4 or not all(is_integer(number) for number in view):
            raise row.wrong("a view is four numbers")
        target, root, first, count = view
        if root not in found or first < 0 or count < 0 or first + count > found[root].whole:
            raise row.wrong("a view beyond its storage")
        whole = found[root]
        found[target] = StorageView(whole.key, whole.dtype, whole.location, count, first, whole.whole)
    row.at_end()
    return found


def _tensors(row: _Row, storages: dict[Any, StorageView]) -> dict[Any, TensorValue]:
    found: dict[Any, TensorValue] = {}
    for _ in range(row.count()):
        entry = row.next()
        if not isinstance(entry, tuple) or len(entry) != 3 or not all(is_integer(key) for key in entry[:2]):
            raise row.wrong("a tensor without key, storage and type")
        if entry[1] not in storages:
            raise row.wrong("a tensor of an unknown storage")
        dimensions = row.number(4)
        row.number(4)
        if not 0 <= dimensions <= limits.DIMENSIONS:
            raise row.wrong(f"{dimensions} dimensions")
        sizes = tuple(row.number(8) for _ in range(dimensions))
        strides = tuple(row.number(8) for _ in range(dimensions))
        offset = row.number(8)
        if min((offset, *sizes, *strides)) < 0:
            raise row.wrong("a negative size")
        view = storages[entry[1]]
        found[entry[0]] = TensorValue(view, view.dtype, offset, sizes, strides)
    row.at_end()
    return found

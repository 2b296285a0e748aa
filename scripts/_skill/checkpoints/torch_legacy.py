"""The files that torch.save wrote before it wrote zip files: five pickles in a row, then the bytes of each storage."""

from __future__ import annotations

from typing import Any

from .. import text
from . import limits, tensor_listing
from .allowed_globals import Misuse
from .content import AMBIGUOUS, DAMAGED, ITEM_BITS, Content, Storage, check_view
from .pickle_machine import PickleMachine
from .pickle_values import Mapping, StorageView, is_integer
from .source import Source
from .torch_zip import StorageTable, parse_storage, storage_bytes

MAGIC = 0x1950A86A20F9469CFC6C
START = b"\x80\x02\x8a\x0a" + MAGIC.to_bytes(10, "little") + b"."
VERSION = 1001


class _Storages(StorageTable):
    def persistent(self, identifier: Any) -> StorageView:
        """The stand-in for `("storage", type, key, location, elements, view)`."""
        view = parse_storage(identifier, 6)
        part = identifier[5]
        if part is not None:
            if not isinstance(part, tuple) or len(part) != 3 or not all(is_integer(number) for number in part[1:]):
                raise Misuse("a view of a storage is a key, an offset and a size")
            _, first, numel = part
            if first < 0 or numel < 0 or first + numel > view.numel:
                raise Misuse("a view reaches beyond its storage")
            view = StorageView(view.key, view.dtype, view.location, numel, first, view.numel)
        self.keep(view)
        return view


def inspect(source: Source, content: Content) -> None:
    """Checks all five pickles and that the storages' bytes fill the rest of the file."""
    content.kind = "torch_legacy"
    table = _Storages()
    values: list[Any] = []
    end = 0
    for name in ("magic", "version", "system", "content", "keys"):
        persistent = table.persistent if name == "content" else None
        machine = PickleMachine(source, content, start=end, where=f"{name} pickle", persistent=persistent)
        if not machine.run():
            return
        values.append(machine.value)
        end = machine.end
    _, version, system, root, keys = values
    if version != VERSION:
        content.add(DAMAGED, "torch.version", "an unknown version of the old format", got=text.shown(version))
        return
    big_endian = False
    if isinstance(system, Mapping) and system.items.get("little_endian") is False:
        big_endian = True
    views = tensor_listing.list_tensors(content, root, "content pickle")
    for tensor, view in views:
        if view is None:
            continue
        if check_view(content, tensor, storage_bytes(view), "content pickle") and view.first:
            first, last = tensor.span
            if first < view.first or last > view.first + view.numel:
                content.add(
                    DAMAGED, "tensor.outside", f"{text.shown(tensor.name)} reaches beyond its view of a storage"
                )
    _storages(source, end, keys, table, content, big_endian)


def _storages(source: Source, start: int, keys: Any, table: StorageTable, content: Content, big_endian: bool) -> None:
    if not isinstance(keys, list) or len(keys) > limits.ZIP_MEMBERS or any(type(key) is not str for key in keys):
        content.add(DAMAGED, "torch.keys", "the list of storages is not one")
        return
    if sorted(keys) != sorted(table.views):
        content.add(DAMAGED, "torch.keys", "the list of storages is not that of the pickle", got=text.listed(keys))
        return
    position = start
    for key in keys:
        view = table.views[key]
        promised = storage_bytes(view)
        head = source.read(position, 8)
        count = int.from_bytes(head, "little", signed=True)
        item = ITEM_BITS[view.dtype] // 8 if view.dtype else 1
        if len(head) < 8 or count * item != promised or promised > source.length - position - 8:
            content.add(
                DAMAGED, "torch.storage_size", f"the storage {key} has the wrong size, or is cut",
                got=f"{count} elements, {max(0, source.length - position - 8)} bytes left", want=f"{promised} bytes",
            )  # fmt: skip
            return
        content.storages[key] = Storage(key, source.part(position + 8, promised), promised, big_endian)
        position += 8 + promised
    if position != source.length:
        content.add(
            AMBIGUOUS, "torch.trailing", "bytes after the last storage", got=f"{source.length - position} bytes"
        )

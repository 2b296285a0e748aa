"""The zip files that torch.save writes: one pickle, one member for each storage, and a few small notes."""

from __future__ import annotations

import re
from typing import Any

from .. import text
from . import tensor_listing, zip_archive
from .allowed_globals import DEVICE, DTYPES, STORAGE_DTYPES, Misuse
from .content import AMBIGUOUS, COULD_NOT_CHECK, DAMAGED, ITEM_BITS, UNSAFE, Content, Storage, check_view
from .pickle_machine import PickleMachine, summary_of_protocol
from .pickle_values import Global, StorageView, is_integer
from .source import Source, Truncated
from .zip_archive import Member

_NOTES = {
    "version": re.compile(rb"[0-9]{1,4}\n?"),
    ".format_version": re.compile(rb"[0-9]{1,4}\n?"),
    ".storage_alignment": re.compile(rb"[0-9]{1,6}\n?"),
    "byteorder": re.compile(rb"little|big"),
    ".data/serialization_id": re.compile(rb"[0-9]{1,80}"),
}
_KEY = re.compile(r"[0-9]{1,20}")
_PROGRAM = ("code/", "constants.pkl", "attributes.pkl", "model.json", "models/", "archive_format")


def is_torch(members: list[Member]) -> bool:
    """Whether the archive has the layout of torch, or of a program that torch exports."""
    names = {member.name.partition("/")[2] for member in members}
    return bool(names & {"data.pkl", "constants.pkl", "byteorder"}) or any(name.startswith("code/") for name in names)


class StorageTable:
    """The storages that the persistent ids of one pickle name."""

    def __init__(self) -> None:
        self.views: dict[str, StorageView] = {}

    def persistent(self, identifier: Any) -> StorageView:
        """The stand-in for `("storage", type, key, location, elements)`."""
        view = parse_storage(identifier, 5)
        self.keep(view)
        return view

    def keep(self, view: StorageView) -> None:
        """Remembers a storage; one that is described in two ways is a misuse."""
        known = self.views.setdefault(view.key, view)
        if (known.dtype, known.whole, known.location) != (view.dtype, view.whole, view.location):
            raise Misuse("one storage is described in two ways")


def parse_storage(identifier: Any, length: int) -> StorageView:
    """Reads the id that torch gives a storage; Misuse where it is anything else."""
    if not isinstance(identifier, tuple) or not identifier or identifier[0] != "storage":
        if isinstance(identifier, tuple) and identifier and identifier[0] == "module":
            raise Misuse("it carries the source of a class")
        raise Misuse("only storages are kept outside the pickle")
    if len(identifier) != length:
        raise Misuse("a storage is described in another way")
    _, kind, key, location, numel = identifier[:5]
    if not isinstance(kind, Global):
        raise Misuse("a storage without a type")
    if (kind.module, kind.name) in (("torch.storage", "UntypedStorage"), ("torch", "UntypedStorage")):
        dtype = ""
    elif kind.module == "torch" and kind.name in STORAGE_DTYPES:
        dtype = STORAGE_DTYPES[kind.name]
    elif kind.module == "torch" and kind.name in DTYPES and length == 6:
        dtype = DTYPES[kind.name]
    else:
        raise Misuse("a storage of an unknown type")
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise Misuse("the key of a storage is a number")
    if not isinstance(location, str) or not DEVICE.fullmatch(location):
        raise Misuse("the location of a storage is named like cpu or cuda:0")
    if not is_integer(numel) or not 0 <= numel < 1 << 50:
        raise Misuse("the size of a storage is a number from 0 on")
    return StorageView(key, dtype, location, numel)


def inspect(source: Source, members: list[Member], content: Content) -> None:
    """Checks layout, pickle, and that each storage has the bytes that the pickle promises."""
    content.kind = "torch_zip"
    tops = {member.name.partition("/")[0] for member in members}
    if len(tops) != 1:
        content.add(AMBIGUOUS, "torch.folders", "members lie in more than one folder", got=text.listed(tops))
    inside = {member.name.partition("/")[2]: member for member in members if not member.name.endswith("/")}
    program = sorted(name for name in inside if name.startswith(_PROGRAM))
    if program:
        content.kind = "torchscript"
        content.add(
            UNSAFE,
            "torch.program",
            "this is a program (TorchScript or an exported model), not weights",
            got=text.listed(program),
            fix="save the state dict: torch.save(model.state_dict(), path)",
        )
    big_endian = _notes(source, inside, content)
    table = StorageTable()
    whole = True
    for name, member in sorted(inside.items()):
        if name == "data.pkl" or (name.endswith(".pkl") and name in program):
            whole = _pickle(source, member, content, table, main=name == "data.pkl" and not program) and whole
        elif not program and not name.startswith("data/") and name not in _NOTES:
            content.add(UNSAFE, "torch.unknown_member", "a member that torch does not write", where=text.escaped(name))
    if "data.pkl" not in inside:
        content.add(DAMAGED, "torch.no_pickle", "there is no data.pkl")
    elif whole and not program:
        _storages(source, inside, content, table, big_endian)


def _notes(source: Source, inside: dict[str, Member], content: Content) -> bool:
    """Checks the small members; whether the storages are big-endian."""
    big_endian = False
    for name, form in _NOTES.items():
        member = inside.get(name)
        if member is None:
            continue
        opened = zip_archive.open_member(source, member)
        data = opened.read(0, 128) if opened and opened.length <= 128 else b""
        if not form.fullmatch(data):
            content.add(DAMAGED, "torch.note", f"{name} is not what torch writes", got=text.shown(repr(data[:40])))
        elif name == "byteorder":
            big_endian = data == b"big"
            content.details["byteorder"] = data.decode()
    return big_endian


def _pickle(source: Source, member: Member, content: Content, table: StorageTable, main: bool) -> bool:
    """Follows a pickle; whether it is whole."""
    opened = zip_archive.open_member(source, member)
    if opened is None:
        content.add(
            COULD_NOT_CHECK, "zip.limit", "a packed pickle is too large to read", where=text.escaped(member.name)
        )
        return False
    where = text.escaped(member.name)
    machine = PickleMachine(opened, content, where=where, persistent=table.persistent)
    if not machine.run():
        return False
    if machine.end != opened.length:
        content.add(AMBIGUOUS, "pickle.trailing", "bytes after the end of the pickle", where=where)
    if not main:
        return True
    warning = summary_of_protocol(machine.protocol)
    if warning:
        content.warn("pickle.protocol", warning, where=where, fix="save with torch's default protocol")
    views = tensor_listing.list_tensors(content, machine.value, where)
    for tensor, view in views:
        if view is not None:
            check_view(content, tensor, storage_bytes(view), where)
    return True


def storage_bytes(view: StorageView) -> int:
    """The bytes of the whole storage."""
    return view.whole * ITEM_BITS[view.dtype] // 8 if view.dtype else view.whole


def _storages(
    source: Source, inside: dict[str, Member], content: Content, table: StorageTable, big_endian: bool
) -> None:
    files = {name[5:]: member for name, member in inside.items() if name.startswith("data/")}
    for key, view in table.views.items():
        member = files.pop(key, None)
        promised = storage_bytes(view)
        if member is None:
            if view.location != "meta":
                content.add(DAMAGED, "torch.no_storage", f"the storage {key} is missing", want=f"{promised} bytes")
            continue
        if member.size != promised:
            content.add(
                DAMAGED, "torch.storage_size", f"the storage {key} has the wrong size", got=f"{member.size} bytes",
                want=f"{promised} bytes",
            )  # fmt: skip
            continue
        part = None
        if member.method == zip_archive.STORED:
            try:
                part = member.source(source)
            except Truncated:
                part = None
        content.storages[key] = Storage(key, part, promised, big_endian)
    if files:
        content.add(
            DAMAGED, "torch.unused_storage", "storages that no tensor uses", got=text.listed(files),
            fix="write the file again",
        )  # fmt: skip

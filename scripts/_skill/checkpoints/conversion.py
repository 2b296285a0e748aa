"""Writes the tensors of an inspected file as safetensors: their bytes are copied, nothing is unpickled.

The new file is read back and every tensor's digest compared before it gets its name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from typing import NamedTuple

from .. import atomic_file, text
from ..findings import COULD_NOT, PROBLEM, Finding, Refusal
from . import safetensors_file, state_names, tensor_bytes
from .content import ITEM_BITS, SAFE, Content, Storage, Tensor
from .inspection import Inspection
from .source import Source

KINDS = ("torch_zip", "torch_legacy", "npy", "npz")
"""What can be converted."""


class Converted(NamedTuple):
    """What was written."""

    path: str
    nbytes: int
    sha256: str
    tensors: int
    left_out: list[str]
    """Names that share the bytes of one that was kept."""
    renamed: int
    values_left_out: int
    """Numbers, texts and so on beside the tensors, which safetensors cannot hold."""


class _Plan(NamedTuple):
    tensors: list[tuple[str, Tensor]]
    """In the order of the new file."""
    tied: dict[str, str]
    """Left-out name to the kept one."""
    renamed: int


def convert(inspected: Inspection, path: str, keep: list[str]) -> Converted:
    """Writes `path`, which must not exist; a Refusal says what stands in the way."""
    content = inspected.content
    if content.verdict != SAFE:
        raise _refused("convert.not_safe", "only a file that is safe to load is converted", got=content.verdict)
    if content.kind not in KINDS:
        raise _refused("convert.kind", "nothing to convert in a file of this kind", got=content.kind)
    if not path.endswith(".safetensors"):
        raise _refused("convert.name", "the new file's name does not end with .safetensors", got=text.shown(path))
    plan = _plan(content, keep)
    header = _header(plan, inspected.sha256)
    digests: dict[str, str] = {}

    def write(handle: int) -> None:
        atomic_file.write_all(handle, header)
        for name, tensor in plan.tensors:
            digest = hashlib.sha256()
            try:
                for block in tensor_bytes.blocks(tensor, content.storages[tensor.storage]):
                    digest.update(block)
                    atomic_file.write_all(handle, block)
            except tensor_bytes.Scattered:
                raise _refused(
                    "convert.scattered", "the view is too scattered to copy, or lies in a packed member",
                    where=text.escaped(name), fix="save it with .contiguous()", exit_status=COULD_NOT,
                ) from None  # fmt: skip
            digests[name] = digest.hexdigest()
        _read_back(handle, digests)

    atomic_file.create_streamed(path, write)
    with open(path, "rb") as stream:
        nbytes = os.fstat(stream.fileno()).st_size
        whole = hashlib.sha256()
        while block := stream.read(1 << 20):
            whole.update(block)
    return Converted(
        path, nbytes, whole.hexdigest(), len(plan.tensors), sorted(plan.tied), plan.renamed, content.other_values
    )


def _read_back(handle: int, digests: dict[str, str]) -> None:
    """The new file must be one that this tool calls safe, with the same bytes in every tensor."""
    source = Source(handle, 0, os.fstat(handle).st_size)
    content = Content()
    safetensors_file.inspect(source, content)
    found = {}
    for tensor in content.tensors:
        digest = hashlib.sha256()
        for block in tensor_bytes.blocks(tensor, content.storages["data"]):
            digest.update(block)
        found[tensor.name] = digest.hexdigest()
    if content.verdict != SAFE or found != digests:
        raise _refused(
            "convert.read_back", "what was written does not read back the same", fix="check disk and memory",
            exit_status=COULD_NOT,
        )  # fmt: skip


def _plan(content: Content, keep: list[str]) -> _Plan:
    names = state_names.renamed(content)
    unknown = [name for name in keep if name not in {tensor.name for tensor in content.tensors}]
    if unknown:
        near = text.nearest(unknown[0], [tensor.name for tensor in content.tensors])
        raise _refused(
            "convert.keep",
            f"there is no tensor {text.shown(unknown[0])}",
            fix=f"did you mean {text.escaped(near)}?" if near else "list the names with --tensors",
            exit_status=COULD_NOT,
        )
    for tensor in content.tensors:
        _check_convertible(tensor, content.storages)
    tied = _tied(content, keep)
    chosen: dict[str, Tensor] = {}
    renamed = 0
    for tensor in content.tensors:
        if tensor.name in tied:
            continue
        name = names.get(tensor.name, tensor.name)
        renamed += name != tensor.name
        if name in chosen or not name or name == "__metadata__" or not name.isprintable():
            raise _refused(
                "convert.names",
                "two tensors would have one name, or one has a name that cannot be written",
                where=text.escaped(name),
            )
        chosen[name] = tensor
    if not chosen:
        raise _refused("convert.empty", "there is no tensor to convert")
    # Wide elements first, so that every tensor begins at a multiple of its elements' size.
    order = sorted(chosen.items(), key=lambda item: (-ITEM_BITS[item[1].dtype], item[0]))
    return _Plan(order, {names.get(a, a): names.get(b, b) for a, b in tied.items()}, renamed)


def _check_convertible(tensor: Tensor, storages: dict[str, Storage]) -> None:
    where = text.escaped(tensor.name)
    if tensor.layout != "dense" or tensor.dtype not in safetensors_file.DTYPES:
        raise _refused(
            "convert.tensor", "safetensors has no such tensor", where=where, got=f"{tensor.layout} {tensor.dtype}",
            want="a dense tensor of a plain dtype", fix="convert it where it was made, for example with .to_dense()",
        )  # fmt: skip
    storage = storages.get(tensor.storage)
    if tensor.elements and (storage is None or storage.source is None):
        raise _refused(
            "convert.packed", "its bytes are packed, or not in this file", where=where, exit_status=COULD_NOT
        )


def _tied(content: Content, keep: list[str]) -> dict[str, str]:
    """Names to leave out, each with the kept name; a group of overlapping tensors without a choice is refused."""
    findings = []
    tied: dict[str, str] = {}
    for group in overlapping(content.tensors):
        names = [tensor.name for tensor in group]
        kept = [name for name in names if name in keep]
        if not kept:
            shown = text.listed(names)
            findings.append(
                Finding(
                    "convert.shared",
                    f"{len(names)} tensors share bytes of storage {group[0].storage}: choose",
                    got=shown,
                    want="each byte once, or copies that you ask for",
                    fix=f"--keep {text.escaped(names[0])} (each --keep is written; the others are left out)",
                )
            )
            continue
        tied.update((name, kept[0]) for name in names if name not in kept)
    if findings:
        raise Refusal(*findings)
    return tied


def overlapping(tensors: Iterable[Tensor]) -> list[list[Tensor]]:
    """Groups of tensors that have bytes of one storage in common."""
    by_storage: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        if tensor.elements and tensor.storage and tensor.stride is not None:
            by_storage.setdefault(tensor.storage, []).append(tensor)
    groups = []
    for views in by_storage.values():
        views.sort(key=lambda tensor: tensor.span)
        group: list[Tensor] = []
        reach = -1
        for tensor in views:
            first, last = tensor.span
            if group and first >= reach:
                groups.append(group)
                group = []
            group.append(tensor)
            reach = max(reach, last) if len(group) > 1 else last
        groups.append(group)
    return [group for group in groups if len(group) > 1]


def _header(plan: _Plan, source_digest: str) -> bytes:
    metadata = {"format": "pt", "converted_from_sha256": source_digest}
    if plan.tied:
        metadata["tied"] = json.dumps(plan.tied, sort_keys=True)
    document: dict[str, object] = {"__metadata__": metadata}
    position = 0
    for name, tensor in plan.tensors:
        end = position + (tensor.elements * ITEM_BITS[tensor.dtype] + 7) // 8
        document[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [position, end]}
        position = end
    data = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "strict")
    data += b" " * (-len(data) % 8)
    return len(data).to_bytes(8, "little") + data


def _refused(
    code: str,
    message: str,
    *,
    where: str = "",
    got: str = "",
    want: str = "",
    fix: str = "",
    exit_status: int = PROBLEM,
) -> Refusal:
    return Refusal(Finding(code, message, where, got, want, fix), exit_status=exit_status)

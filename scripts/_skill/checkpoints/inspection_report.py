"""What an inspection says: the JSON results and the lines for people."""

from __future__ import annotations

from typing import Any

from .. import strict_json, text
from ..findings import COULD_NOT, OK, PROBLEM, Report
from . import conversion, file_kind
from .content import (
    ALLOWED,
    COULD_NOT_CHECK,
    KNOWN_DATA,
    NOT_ALLOWED,
    SAFE,
    Content,
    GlobalUse,
    Tensor,
    shown_shape,
)
from .conversion import Converted
from .inspection import Inspection

SHOWN_TENSORS = 2000
_SHOWN_LINES = 40

_SUMMARIES = {
    "safe": "safe to load: tensors and plain values only",
    "not_weights_only": "not weights only: refused, although nothing hostile was found",
    "unsafe": "UNSAFE: do not load it",
    "ambiguous": "ambiguous: refused, because two readers can see two different files",
    "damaged": "damaged, or not what it claims to be: refused",
    "inconsistent": "nothing hostile was found, but its names cannot be used as they are",
    "could_not_check": "could not be checked: that is not a pass",
}


def exit_status(inspected: Inspection) -> int:
    """0 only for a file that was read whole and found safe."""
    return {SAFE: OK, COULD_NOT_CHECK: COULD_NOT}.get(inspected.content.verdict, PROBLEM)


def summary(path: str, inspected: Inspection) -> str:
    """The last line."""
    return f"{path}: {_SUMMARIES[inspected.content.verdict]}"


def fill(report: Report, inspected: Inspection, list_tensors: bool) -> None:
    """Puts findings, results and lines into the report."""
    content = inspected.content
    report.findings.extend(content.findings)
    report.results["checkpoint"] = as_json(inspected, list_tensors)
    report.say(*_lines(inspected, list_tensors))


def as_json(inspected: Inspection, list_tensors: bool) -> dict[str, Any]:
    """The results as `schemas/checkpoint_report.schema.json` describes them."""
    content = inspected.content
    result: dict[str, Any] = {
        "schema": "checkpoint_report/1",
        "kind": content.kind,
        "verdict": content.verdict,
        "nbytes": inspected.nbytes,
        "sha256": inspected.sha256 or None,
        "tensor_count": len(content.tensors),
        "parameter_count": number(parameter_count(content)),
        "tensor_nbytes": number(sum(tensor.nbytes for tensor in content.tensors)),
        "dtypes": [{"dtype": dtype, "tensors": count} for dtype, count in dtypes(content).items()],
        "other_values": content.other_values,
        "shared": shared_groups(content),
        "globals": [
            {
                "module": text.escaped(use.module),
                "name": text.escaped(use.name),
                "use": use.use,
                "status": use.status,
                "offset": use.offset,
                "times": use.times,
            }
            for use in content.globals.values()
        ],
        "metadata": [{"key": key, "value": value} for key, value in content.metadata.items()],
        "details": [{"key": key, "value": value} for key, value in content.details.items()],
        "left_out": content.left_out,
    }
    if list_tensors:
        result["tensors"] = [tensor_json(tensor) for tensor in content.tensors[:SHOWN_TENSORS]]
    return result


def tensor_json(tensor: Tensor) -> dict[str, Any]:
    """One tensor."""
    return {
        "name": text.escaped(tensor.name),
        "dtype": tensor.dtype,
        "shape": [number(size) for size in tensor.shape],
        "stride": None if tensor.stride is None else [number(step) for step in tensor.stride],
        "storage": text.escaped(tensor.storage),
        "offset": number(tensor.offset),
        "layout": tensor.layout,
    }


def number(value: int) -> int | str:
    """An integer for JSON: beyond 2^53-1 as text, because readers round it. Only an empty or broken tensor has one."""
    return value if value <= strict_json.MAX_INTEGER else str(value)


def parameter_count(content: Content) -> int:
    """All elements of all tensors, shared ones once for each name."""
    return sum(tensor.elements for tensor in content.tensors)


def dtypes(content: Content) -> dict[str, int]:
    """How many tensors of each dtype there are."""
    counts: dict[str, int] = {}
    for tensor in content.tensors:
        counts[tensor.dtype] = counts.get(tensor.dtype, 0) + 1
    return dict(sorted(counts.items()))


def shared_groups(content: Content) -> list[dict[str, Any]]:
    """The storages that more than one tensor is a view of."""
    by_storage: dict[str, list[Tensor]] = {}
    for tensor in content.tensors:
        if tensor.stride is not None and tensor.storage and tensor.elements:
            by_storage.setdefault(tensor.storage, []).append(tensor)
    groups: list[dict[str, Any]] = []
    for key, tensors in by_storage.items():
        if len(tensors) > 1 and len(groups) < SHOWN_TENSORS:
            groups.append(
                {
                    "storage": text.escaped(key),
                    "overlap": bool(conversion.overlapping(tensors)),
                    "tensors": [tensor_json(tensor) for tensor in tensors[:50]],
                }
            )
    return groups


def _lines(inspected: Inspection, list_tensors: bool) -> list[str]:
    content = inspected.content
    rows = [
        ("kind", file_kind.WORDS.get(content.kind, content.kind)),
        ("size", f"{inspected.nbytes} bytes"),
        ("sha256", inspected.sha256 or "not known"),
    ]
    if content.tensors:
        counted = ", ".join(f"{count} {dtype}" for dtype, count in dtypes(content).items())
        rows += [("tensors", f"{len(content.tensors)} ({counted})"), ("parameters", f"{parameter_count(content):,}")]
    if content.other_values:
        rows.append(("other values", str(content.other_values)))
    rows += [(name, value) for name, value in content.details.items()]
    lines = [f"{name:<14} {value}" for name, value in rows]
    if content.globals:
        lines.append("what a load would import:")
        lines += _global_lines(content)
    groups = shared_groups(content)
    for group in groups[:_SHOWN_LINES]:
        names = ", ".join(f"{tensor['name']} at {tensor['offset']}" for tensor in group["tensors"][:8])
        lines.append(f"shared storage {group['storage']}: {names}")
    if content.metadata:
        lines.append("metadata, as the file words it (data, not instructions):")
        lines += [f"  {name} = {value}" for name, value in list(content.metadata.items())[:_SHOWN_LINES]]
    if list_tensors:
        lines += [
            f"  {text.escaped(tensor.name, 80):<50} {tensor.dtype} {shown_shape(tensor.shape)}"
            + ("" if tensor.layout == "dense" else f" {tensor.layout}")
            for tensor in content.tensors[:SHOWN_TENSORS]
        ]
    return lines


def _global_lines(content: Content) -> list[str]:
    """Each global on one line, what is not allowed first."""
    uses: dict[tuple[str, str], list[GlobalUse]] = {}
    for use in content.globals.values():
        uses.setdefault((use.module, use.name), []).append(use)
    order = [NOT_ALLOWED, KNOWN_DATA, ALLOWED]
    rows = sorted(uses.items(), key=lambda item: order.index(item[1][0].status))
    lines = [
        f"  {text.escaped(f'{module}.{name}', 70):<46} {found[0].status}: "
        f"{', '.join(use.use for use in found)} (byte {found[0].offset})"
        for (module, name), found in rows[:_SHOWN_LINES]
    ]
    return lines if len(rows) <= _SHOWN_LINES else [*lines, f"  and {len(rows) - _SHOWN_LINES} more"]


def converted_lines(written: Converted) -> list[str]:
    """What a conversion wrote, for people."""
    lines = [
        f"{'written':<14} {text.escaped(written.path)}, {written.nbytes} bytes, {written.tensors} tensors",
        f"{'sha256':<14} {written.sha256}",
    ]
    if written.left_out:
        lines.append(f"{'left out':<14} {text.listed(written.left_out)} (their bytes are those of a kept tensor)")
    if written.values_left_out:
        lines.append(f"{'':<14} {written.values_left_out} values that are no tensors: keep the old file for them")
    if written.renamed:
        lines.append(f"{'renamed':<14} {written.renamed} names lost a wrapper prefix")
    return lines

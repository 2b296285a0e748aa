"""What an inspection has found so far: findings by what they mean, tensors, globals, metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .. import text
from ..findings import Finding
from . import limits
from .source import Source

# Verdicts, worst first: the worst that any finding asks for is the file's.
UNSAFE = "unsafe"
AMBIGUOUS = "ambiguous"
DAMAGED = "damaged"
NOT_WEIGHTS_ONLY = "not_weights_only"
INCONSISTENT = "inconsistent"
COULD_NOT_CHECK = "could_not_check"
SAFE = "safe"
VERDICTS = (UNSAFE, AMBIGUOUS, DAMAGED, NOT_WEIGHTS_ONLY, INCONSISTENT, COULD_NOT_CHECK, SAFE)

ALLOWED = "allowed"
KNOWN_DATA = "known data"
NOT_ALLOWED = "not allowed"

ITEM_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64,
    "F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C32": 32, "C64": 64, "C128": 128,
    "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
    "QI8": 8, "QU8": 8, "QI32": 32, "QU4X2": 8, "QU2X4": 8, "BITS8": 8, "BITS16": 16, "BITS1X8": 8, "BITS2X4": 8,
    "BITS4X2": 8, "F4X2": 8,
}  # fmt: skip
"""Bits of one element, by the name that safetensors uses, or would use."""


PACKED = {
    "Q4_0": (32, 18), "Q4_1": (32, 20), "Q5_0": (32, 22), "Q5_1": (32, 24), "Q8_0": (32, 34), "Q2_K": (256, 84),
    "Q3_K": (256, 110), "Q4_K": (256, 144), "Q5_K": (256, 176), "Q6_K": (256, 210), "Q8_K": (256, 292),
    "IQ2_XXS": (256, 66), "IQ2_XS": (256, 74), "IQ3_XXS": (256, 98), "IQ1_S": (256, 50), "IQ4_NL": (32, 18),
    "IQ3_S": (256, 110), "IQ2_S": (256, 82), "IQ4_XS": (256, 136), "IQ1_M": (256, 56), "TQ1_0": (256, 54),
    "TQ2_0": (256, 66),
}  # fmt: skip
"""Elements of one group and its bytes, for the quantized types of GGUF."""


class GlobalUse(NamedTuple):
    """One name that loading the file would import, and what it would do with it."""

    module: str
    name: str
    use: str
    """referenced, called, built (an object of it is made or filled)."""
    status: str
    offset: int
    """Of the first such use, in bytes from the start of the pickle."""
    times: int


class Tensor(NamedTuple):
    """One tensor as the file describes it; its bytes stay in the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...] | None
    """In elements; None where the elements lie one after another."""
    storage: str
    """The key of the storage that holds it."""
    offset: int
    """In elements, into the storage."""
    layout: str = "dense"
    """dense; sparse, quantized and meta tensors, and such with a pending conjugation, cannot be converted."""

    @property
    def elements(self) -> int:
        """How many elements it has."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        if self.dtype in PACKED:
            group, size = PACKED[self.dtype]
            return self.elements // group * size
        return (self.elements * ITEM_BITS[self.dtype] + 7) // 8

    @property
    def span(self) -> tuple[int, int]:
        """First and last-plus-one element of the storage that it touches; equal where it is empty."""
        if self.elements == 0:
            return self.offset, self.offset
        if self.stride is None:
            return self.offset, self.offset + self.elements
        reach = sum((size - 1) * step for size, step in zip(self.shape, self.stride, strict=True))
        return self.offset, self.offset + reach + 1

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie one after another in the storage."""
        if self.stride is None or self.elements == 0:
            return True
        expected = 1
        for size, step in zip(reversed(self.shape), reversed(self.stride), strict=True):
            if size != 1 and step != expected:
                return False
            expected *= size
        return True


class Storage(NamedTuple):
    """One block of bytes that tensors are views of."""

    key: str
    source: Source | None
    """Where the bytes lie; None where they are packed, or are not in this file."""
    nbytes: int
    big_endian: bool = False


class Content:
    """Everything found in one file."""

    def __init__(self) -> None:
        self.kind = "unknown"
        self.findings: list[Finding] = []
        self.left_out = 0
        self.asked: set[str] = set()
        """Verdicts that findings asked for."""
        self.tensors: list[Tensor] = []
        self.storages: dict[str, Storage] = {}
        self.other_values = 0
        """Numbers, texts and so on beside the tensors."""
        self.globals: dict[tuple[str, str, str], GlobalUse] = {}
        self.metadata: dict[str, str] = {}
        self.groups: list[tuple[str, list[str]]] = []
        """For each place that holds tensors directly, its own name and their names in it: a state dict."""
        self.details: dict[str, str] = {}

    def add(
        self, verdict: str, code: str, message: str, *, where: str = "", got: str = "", want: str = "", fix: str = ""
    ) -> None:
        """Keeps a finding that asks for a verdict. All words must be escaped already."""
        self.asked.add(verdict)
        if len(self.findings) >= limits.FINDINGS:
            self.left_out += 1
            return
        self.findings.append(Finding(code, message, where, got, want, fix))

    def warn(self, code: str, message: str, *, where: str = "", got: str = "", want: str = "", fix: str = "") -> None:
        """Keeps a finding that changes no verdict."""
        if len(self.findings) >= limits.FINDINGS:
            self.left_out += 1
            return
        self.findings.append(Finding(code, message, where, got, want, fix, "warning"))

    @property
    def verdict(self) -> str:
        """The worst verdict that was asked for."""
        return next((verdict for verdict in VERDICTS if verdict in self.asked), SAFE)

    def used(self, module: str, name: str, use: str, status: str, offset: int) -> None:
        """Notes that a load would use a global."""
        key = (module, name, use)
        known = self.globals.get(key)
        if known:
            self.globals[key] = known._replace(times=known.times + 1)
        elif len(self.globals) < limits.GLOBALS:
            self.globals[key] = GlobalUse(module, name, use, status, offset, 1)
        else:
            self.left_out += 1

    def describe(self, name: str, value: object) -> None:
        """Keeps one entry of the file's own metadata as text for people."""
        if len(self.metadata) < limits.METADATA:
            self.metadata[text.escaped(name, 100)] = text.escaped(str(value))
        else:
            self.left_out += 1


def check_view(content: Content, tensor: Tensor, available: int, where: str = "") -> bool:
    """Whether a tensor lies inside the storage of `available` bytes; a finding where it does not."""
    first, last = tensor.span
    bits = ITEM_BITS[tensor.dtype]
    if first >= 0 and last * bits <= available * 8:
        return True
    content.add(
        DAMAGED,
        "tensor.outside",
        f"the tensor {text.shown(tensor.name)} reaches beyond its storage",
        where=where,
        got=f"elements {first} to {last} of {bits} bits (offset {tensor.offset}, shape {shown_shape(tensor.shape)})",
        want=f"at most {available * 8 // bits} elements (storage {text.shown(tensor.storage)}: {available} bytes)",
    )
    return False


def shown_shape(shape: Sequence[int]) -> str:
    """`[3, 4]`, cut where it is long."""
    shown = ", ".join(str(size) for size in shape[:8])
    return f"[{shown}{', ...' if len(shape) > 8 else ''}]"

"""Checks the indices of sparse tensors: a loader does not, and one beyond the size reads foreign memory later."""

from __future__ import annotations

import array
import sys

from .. import text
from . import tensor_bytes
from .content import COULD_NOT_CHECK, DAMAGED, Content, Storage, Tensor

SPARSE = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


def check(content: Content) -> None:
    """Looks at every sparse tensor; its parts stand behind it in the list."""
    tensors = content.tensors
    for place, tensor in enumerate(tensors):
        if tensor.layout not in SPARSE:
            continue
        where = text.escaped(tensor.name)
        if tensor.layout != "sparse_coo":
            content.add(
                COULD_NOT_CHECK, "tensor.sparse", "the indices of this sparse layout are not checked here", where=where,
                got=tensor.layout, want="sparse_coo or dense", fix="save it with .to_dense() or .to_sparse()",
            )  # fmt: skip
            continue
        indices, values = tensors[place + 1 : place + 3]
        wrong = _wrong(tensor, indices, values, content.storages.get(indices.storage))
        if wrong:
            content.add(DAMAGED, "tensor.indices", f"a sparse tensor whose {wrong}", where=where)


def _wrong(tensor: Tensor, indices: Tensor, values: Tensor, storage: Storage | None) -> str:
    """What is wrong, in words; empty where nothing is."""
    if indices.dtype != "I64" or len(indices.shape) != 2 or not values.shape or indices.shape[1] != values.shape[0]:
        return "indices do not fit its values"
    dimensions, count = indices.shape
    if tensor.shape[dimensions:] != values.shape[1:] or len(tensor.shape) < dimensions:
        return "values do not fit its shape"
    if not count:
        return ""
    if storage is None or storage.source is None:
        return "indices cannot be read"
    for row in range(dimensions):
        step = indices.stride[1] if indices.stride else 1
        first = indices.offset + row * (indices.stride[0] if indices.stride else count)
        line = indices._replace(shape=(count,), stride=(step,), offset=first)
        try:
            for block in tensor_bytes.blocks(line, storage):
                numbers = array.array("q", block)
                if sys.byteorder == "big":
                    numbers.byteswap()
                if min(numbers) < 0 or max(numbers) >= tensor.shape[row]:
                    return "indices lie outside its shape"
        except tensor_bytes.Scattered:
            return "indices cannot be read"
    return ""

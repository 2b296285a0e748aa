"""Which names a checkpoint may use, and how: the allow-list of torch's weights-only loader, narrowed to honest uses.

Each allowed callable has a rule that looks at the arguments and gives the stand-in of the result. A name without a
rule may not be called; a name that is on no list fails closed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from . import limits
from .pickle_values import Global, Items, Made, Mapping, Skipped, StorageView, TensorValue, is_integer


class Misuse(Exception):
    """An allowed name is used in a way that no checkpoint needs."""


STORAGE_DTYPES = {
    "DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16",
    "LongStorage": "I64", "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8",
    "BoolStorage": "BOOL", "ComplexFloatStorage": "C64", "ComplexDoubleStorage": "C128",
    "QInt8Storage": "QI8", "QUInt8Storage": "QU8", "QInt32Storage": "QI32", "QUInt4x2Storage": "QU4X2",
    "QUInt2x4Storage": "QU2X4",
}  # fmt: skip
"""torch's typed storages, and the dtype of their elements."""

DTYPES = {
    "float32": "F32", "float": "F32", "float64": "F64", "double": "F64", "float16": "F16", "half": "F16",
    "bfloat16": "BF16", "int64": "I64", "long": "I64", "int32": "I32", "int": "I32", "int16": "I16", "short": "I16",
    "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64", "bool": "BOOL",
    "complex32": "C32", "complex64": "C64", "cfloat": "C64", "complex128": "C128", "cdouble": "C128",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ", "float8_e8m0fnu": "F8_E8M0", "float4_e2m1fn_x2": "F4X2",
    "qint8": "QI8", "quint8": "QU8", "qint32": "QI32", "quint4x2": "QU4X2", "quint2x4": "QU2X4",
    "bits8": "BITS8", "bits16": "BITS16", "bits1x8": "BITS1X8", "bits2x4": "BITS2X4", "bits4x2": "BITS4X2",
}  # fmt: skip
"""torch's dtypes by name."""

_SCHEMES = {
    "per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric",
    "per_channel_affine_float_qparams",
}  # fmt: skip
_LAYOUTS = {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "_mkldnn", "jagged"}
_SPARSE = {"sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"}
_LATIN = ("latin1", "latin-1")
DEVICE = re.compile(
    r"(?:cpu|cuda|xpu|mps|meta|hpu|mtia|npu|mlu|musa|ipu|xla|vulkan|lazy|privateuseone)(?::[0-9]{1,4})?"
)
"""How torch names a place for a tensor."""
_ATTRIBUTE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
_TENSOR_ATTRIBUTES = {
    "T", "H", "mT", "mH", "data", "grad", "grad_fn", "requires_grad", "is_leaf", "names", "real", "imag", "shape",
    "dtype", "device", "layout", "itemsize", "nbytes", "backward",
}  # fmt: skip

# Rules: arguments of the call to the stand-in of its result.

Rule = Callable[[tuple[Any, ...]], Any]


def _ordered_dict(arguments: tuple[Any, ...]) -> Mapping:
    result = Mapping("OrderedDict")
    if arguments:
        if len(arguments) != 1 or not isinstance(arguments[0], list):
            raise Misuse("takes nothing, or one list of pairs")
        for pair in arguments[0]:
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                raise Misuse("takes nothing, or one list of pairs")
            result.items[plain_key(pair[0])] = pair[1]
    return result


def _counter(arguments: tuple[Any, ...]) -> Mapping:
    result = Mapping("Counter")
    if len(arguments) > 1 or any(not isinstance(argument, Mapping) for argument in arguments):
        raise Misuse("takes one dict")
    for argument in arguments:
        result.items.update(argument.items)
    return result


def _sizes(value: Any) -> tuple[int, ...]:
    if not isinstance(value, tuple) or len(value) > limits.DIMENSIONS:
        raise Misuse("sizes and strides are tuples of integers")
    if any(not is_integer(size) or not 0 <= size < 1 << 62 for size in value):
        raise Misuse("sizes and strides are integers from 0 on")
    return value


def _offset(value: Any) -> int:
    if not is_integer(value) or not 0 <= value < 1 << 62:
        raise Misuse("an offset is an integer from 0 on")
    return int(value)


def _hooks(value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping) or value.kind != "OrderedDict" or value.items:
        raise Misuse("a tensor of a checkpoint has no backward hooks")
    value.frozen = True


def _gradient(value: Any, dtype: str) -> None:
    if not isinstance(value, bool):
        raise Misuse("requires_grad is true or false")
    if value and not dtype.startswith(("F", "BF", "C")):
        raise Misuse("only real and complex numbers have a gradient")


def _dtype(value: Any) -> str:
    if isinstance(value, Global) and value.module == "torch" and value.name in DTYPES:
        return DTYPES[value.name]
    raise Misuse("a dtype of torch is needed here")


def _pending(value: Any) -> str:
    """The layout for a tensor's metadata: torch keeps a pending conjugation or negation in it."""
    if value is None:
        return "dense"
    if not isinstance(value, Mapping) or any(
        key not in ("conj", "neg") or not isinstance(flag, bool) for key, flag in value.items.items()
    ):
        raise Misuse("the metadata of a tensor is conj and neg")
    return "lazy" if any(value.items.values()) else "dense"


def _strided(storage: Any, dtype: str, offset: Any, size: Any, stride: Any, layout: str = "dense") -> TensorValue:
    shape, steps = _sizes(size), _sizes(stride)
    if len(shape) != len(steps):
        raise Misuse("as many strides as sizes are needed")
    if not isinstance(storage, StorageView):
        raise Misuse("a tensor is a view of a storage")
    return TensorValue(storage, dtype, _offset(offset), shape, steps, layout)


def _typed(storage: Any) -> str:
    if not isinstance(storage, StorageView) or not storage.dtype:
        raise Misuse("a tensor is a view of a typed storage")
    return storage.dtype


def _tensor(arguments: tuple[Any, ...]) -> TensorValue:
    if len(arguments) != 4:
        raise Misuse("takes 4 arguments")
    storage, offset, size, stride = arguments
    return _strided(storage, _typed(storage), offset, size, stride)


def _tensor_v2(arguments: tuple[Any, ...]) -> TensorValue:
    if len(arguments) not in (6, 7):
        raise Misuse("takes 6 or 7 arguments")
    storage, offset, size, stride, requires_grad, hooks = arguments[:6]
    _gradient(requires_grad, _typed(storage))
    _hooks(hooks)
    layout = _pending(arguments[6] if len(arguments) == 7 else None)
    return _strided(storage, _typed(storage), offset, size, stride, layout)


def _tensor_v3(arguments: tuple[Any, ...]) -> TensorValue:
    if len(arguments) not in (7, 8):
        raise Misuse("takes 7 or 8 arguments")
    storage, offset, size, stride, requires_grad, hooks, dtype = arguments[:7]
    _gradient(requires_grad, _dtype(dtype))
    _hooks(hooks)
    layout = _pending(arguments[7] if len(arguments) == 8 else None)
    return _strided(storage, _dtype(dtype), offset, size, stride, layout)


def _parameter(arguments: tuple[Any, ...]) -> TensorValue:
    if len(arguments) != 3 or not isinstance(arguments[0], TensorValue):
        raise Misuse("takes a tensor, requires_grad and hooks")
    _gradient(arguments[1], arguments[0].dtype)
    _hooks(arguments[2])
    return arguments[0]


def _parameter_with_state(arguments: tuple[Any, ...]) -> TensorValue:
    if len(arguments) != 4:
        raise Misuse("takes 4 arguments")
    _tensor_state(arguments[3])
    return _parameter(arguments[:3])


def _tensor_state(state: Any) -> None:
    """Attributes that a load would set on a tensor: plain names that mean nothing to torch."""
    parts = state if isinstance(state, tuple) and len(state) == 2 else (state,)
    for part in parts:
        if part is None:
            continue
        if not isinstance(part, Mapping):
            raise Misuse("the state of a tensor is a dict")
        for key in part.items:
            if not isinstance(key, str) or not _ATTRIBUTE.fullmatch(key) or key in _TENSOR_ATTRIBUTES:
                raise Misuse("the state of a tensor would replace something of torch")
        part.frozen = True


def _from_type(arguments: tuple[Any, ...]) -> TensorValue:
    if len(arguments) != 4:
        raise Misuse("takes 4 arguments")
    function, new_type, inner, state = arguments
    if not isinstance(new_type, Global) or (new_type.module, new_type.name) not in _TENSOR_TYPES:
        raise Misuse("makes tensors and parameters only")
    if not isinstance(function, Global) or (function.module, function.name) not in _REBUILDS:
        raise Misuse("calls a rebuilding function of torch only")
    if not isinstance(inner, tuple):
        raise Misuse("the arguments are a tuple")
    _tensor_state(state)
    result: TensorValue = _REBUILDS[function.module, function.name](inner)
    return result


def _sparse(arguments: tuple[Any, ...]) -> TensorValue:
    if len(arguments) != 2 or not isinstance(arguments[0], Made) or not isinstance(arguments[1], tuple):
        raise Misuse("takes a layout and a tuple")
    layout, data = arguments
    tensors = [part for part in data if isinstance(part, TensorValue)]
    sizes = [part for part in data if isinstance(part, tuple)]
    rest = [part for part in data if not isinstance(part, (TensorValue, tuple, bool))]
    if layout.detail not in _SPARSE or rest or len(sizes) != 1 or len(tensors) not in (2, 3):
        raise Misuse("takes indices, values and a size")
    if any(tensor.layout != "dense" for tensor in tensors):
        raise Misuse("indices and values are dense")
    shape = _sizes(sizes[0])
    return TensorValue(None, tensors[-1].dtype, 0, shape, (0,) * len(shape), layout.detail, tuple(tensors))


def _quantized(arguments: tuple[Any, ...]) -> TensorValue:
    if len(arguments) != 7:
        raise Misuse("takes 7 arguments")
    storage, offset, size, stride, parameters, requires_grad, hooks = arguments
    _gradient(requires_grad, _typed(storage))
    _hooks(hooks)
    if not isinstance(parameters, tuple) or not 3 <= len(parameters) <= 4:
        raise Misuse("takes a scheme, scale and zero point")
    scheme, *numbers = parameters
    if not isinstance(scheme, Global) or scheme.module != "torch" or scheme.name not in _SCHEMES:
        raise Misuse("takes a quantization scheme of torch")
    result = _strided(storage, _typed(storage), offset, size, stride, "quantized")
    if math.prod(result.shape) > storage.whole:
        # The loader makes room for every element before it looks at the storage.
        raise Misuse("more elements than its storage has")
    if scheme.name.startswith("per_channel"):
        _check_channels(numbers, result.shape)
    elif len(numbers) != 2 or any(type(number) not in (int, float) for number in numbers):
        raise Misuse("scale and zero point are numbers")
    result.parts = tuple(number for number in numbers if isinstance(number, TensorValue))
    return result


def _check_channels(numbers: list[Any], shape: tuple[int, ...]) -> None:
    """Old versions of torch do not look whether there is a scale for each channel."""
    if len(numbers) != 3 or not is_integer(numbers[2]) or not 0 <= numbers[2] < len(shape):
        raise Misuse("takes scales, zero points and an axis of the tensor")
    for number in numbers[:2]:
        if not isinstance(number, TensorValue) or number.shape != (shape[numbers[2]],):
            raise Misuse("takes one scale and one zero point for each channel")


def _meta(arguments: tuple[Any, ...]) -> TensorValue:
    if len(arguments) != 4:
        raise Misuse("takes 4 arguments")
    dtype, size, stride, requires_grad = arguments
    _gradient(requires_grad, _dtype(dtype))
    shape, steps = _sizes(size), _sizes(stride)
    if len(shape) != len(steps):
        raise Misuse("as many strides as sizes are needed")
    return TensorValue(None, _dtype(dtype), 0, shape, steps, "meta")


def _device_tensor(arguments: tuple[Any, ...]) -> TensorValue:
    if len(arguments) != 4 or not isinstance(arguments[0], TensorValue):
        raise Misuse("takes a tensor, dtype, device and requires_grad")
    _dtype(arguments[1])
    _device_name(arguments[2])
    _gradient(arguments[3], _dtype(arguments[1]))
    return arguments[0]


def _device_name(value: Any) -> str:
    if isinstance(value, Made) and value.of == "torch.device":
        return value.detail
    if not isinstance(value, str) or not DEVICE.fullmatch(value):
        raise Misuse("a device is named like cpu or cuda:0")
    return value


def _device(arguments: tuple[Any, ...]) -> Made:
    if not 1 <= len(arguments) <= 2 or any(not is_integer(number) for number in arguments[1:]):
        raise Misuse("takes a name and an index")
    return Made("torch.device", True, _device_name(arguments[0]))


def _layout(arguments: tuple[Any, ...]) -> Made:
    if len(arguments) != 1 or not isinstance(arguments[0], str):
        raise Misuse("takes the name of a layout")
    family, _, name = arguments[0].partition(".")
    if family != "torch" or name not in _LAYOUTS:
        raise Misuse("takes the name of a layout")
    return Made("torch.layout", True, name)


def _size(arguments: tuple[Any, ...]) -> tuple[int, ...]:
    if len(arguments) != 1 or not isinstance(arguments[0], (tuple, list)):
        raise Misuse("takes a tuple of integers")
    return _sizes(tuple(arguments[0]))


def _encode(arguments: tuple[Any, ...]) -> Any:
    if len(arguments) != 2 or not isinstance(arguments[0], (str, Skipped)) or arguments[1] not in _LATIN:
        raise Misuse("turns text into bytes, as latin-1 only")
    if isinstance(arguments[0], Skipped):
        return Skipped("bytes", arguments[0].length)
    try:
        return arguments[0].encode("latin-1")
    except UnicodeEncodeError:
        raise Misuse("turns text into bytes, as latin-1 only") from None


def _bytearray(arguments: tuple[Any, ...]) -> Any:
    if not arguments:
        return b""
    if len(arguments) == 2:
        return _encode(arguments)
    if len(arguments) != 1 or not isinstance(arguments[0], (bytes, Skipped)):
        raise Misuse("takes bytes")
    return arguments[0]


def _set(kind: str) -> Rule:
    def rule(arguments: tuple[Any, ...]) -> Items:
        if len(arguments) > 1 or any(not isinstance(argument, (list, tuple)) for argument in arguments):
            raise Misuse("takes one list")
        return Items(kind, [plain_key(value) for argument in arguments for value in argument])

    return rule


def _complex(arguments: tuple[Any, ...]) -> complex:
    if len(arguments) != 2 or any(type(number) not in (int, float) for number in arguments):
        raise Misuse("takes two numbers")
    return complex(float(arguments[0]), float(arguments[1]))


_KEY_INTEGER = 1 << 53


def plain_key(value: Any) -> Any:
    """A key that hashes at once and runs no code: text, number, truth value, None, or a short tuple of those."""
    if type(value) is tuple and len(value) <= 16:
        return tuple(_plain(item) for item in value)
    return _plain(value)


def _plain(value: Any) -> Any:
    if value is None or type(value) in (str, bytes, bool, float):
        return value
    if type(value) is int:
        if -_KEY_INTEGER < value < _KEY_INTEGER:
            return value
        raise Misuse("a key is a small number, a text or a short tuple")
    if isinstance(value, Global) and value.module == "torch" and value.name in DTYPES:
        return f"torch.{value.name}"
    if isinstance(value, Made) and value.of == "torch.device":
        return value.detail
    raise Misuse("a key is a small number, a text or a short tuple")


_UTILS = "torch._utils"
_REBUILDS: dict[tuple[str, str], Rule] = {
    (_UTILS, "_rebuild_tensor"): _tensor,
    (_UTILS, "_rebuild_tensor_v2"): _tensor_v2,
    (_UTILS, "_rebuild_tensor_v3"): _tensor_v3,
    (_UTILS, "_rebuild_parameter"): _parameter,
    (_UTILS, "_rebuild_parameter_with_state"): _parameter_with_state,
    (_UTILS, "_rebuild_sparse_tensor"): _sparse,
    (_UTILS, "_rebuild_qtensor"): _quantized,
    (_UTILS, "_rebuild_meta_tensor_no_storage"): _meta,
    (_UTILS, "_rebuild_device_tensor_from_cpu_tensor"): _device_tensor,
}
_TENSOR_TYPES = {("torch", "Tensor"), ("torch._tensor", "Tensor"), ("torch.nn.parameter", "Parameter")}

CALLABLE: dict[tuple[str, str], Rule] = {
    **_REBUILDS,
    ("torch._tensor", "_rebuild_from_type_v2"): _from_type,
    ("torch", "Size"): _size,
    ("torch", "device"): _device,
    ("torch.serialization", "_get_layout"): _layout,
    ("collections", "OrderedDict"): _ordered_dict,
    ("collections", "Counter"): _counter,
    ("_codecs", "encode"): _encode,
    ("builtins", "bytearray"): _bytearray,
    ("builtins", "set"): _set("set"),
    ("builtins", "complex"): _complex,
    # Protocols before 3 write Python 2's name of the module, and every loader maps it back.
    ("__builtin__", "bytearray"): _bytearray,
    ("__builtin__", "set"): _set("set"),
    ("__builtin__", "complex"): _complex,
}
"""What may be called, each with the rule for its arguments."""

MENTIONED: frozenset[tuple[str, str]] = frozenset(
    [("torch", name) for name in (*STORAGE_DTYPES, *DTYPES, *_SCHEMES)]
    + [("torch", name.replace("Storage", "Tensor")) for name in STORAGE_DTYPES if not name.startswith("Q")]
    + [("torch.storage", "UntypedStorage"), ("torch", "UntypedStorage")]
    + sorted(_TENSOR_TYPES)
)
"""What may be named, as a type or a value, and never called."""

DATA_VALUES: frozenset[tuple[str, str]] = frozenset([("torch", name) for name in DTYPES])
"""What may stand among the values of a checkpoint."""

UNREAD: frozenset[tuple[str, str]] = frozenset(
    {
        (_UTILS, "_rebuild_nested_tensor"),
        (_UTILS, "_rebuild_wrapper_subclass"),
        (_UTILS, "_rebuild_device_tensor_from_numpy"),
    }
)
"""Allowed by torch's loader, but nothing here knows what they make: could not check."""

NESTED_LOAD: frozenset[tuple[str, str]] = frozenset({("torch.storage", "_load_from_bytes")})
"""A tensor inside a plain pickle: its bytes are a checkpoint of their own, which torch loads without protection."""


def is_allowed(module: str, name: str) -> bool:
    """Whether torch's weights-only loader and this tool both know the name."""
    return (module, name) in CALLABLE or (module, name) in MENTIONED

"""Names outside torch's allow-list that are known to make plain data: a file that uses them is not "weights only".

Such a file is refused with the list of the names, because only a loader without protection would read it. It is not
called hostile. The rules are as strict as those of the allow-list.
"""

from __future__ import annotations

import re
from typing import Any

from .allowed_globals import CALLABLE, Misuse, Rule, plain_key
from .pickle_values import Global, Items, Made, Mapping, Skipped, is_integer

_NUMPY_DTYPE = re.compile(r"[<>|=]?[?bBhHiIlLqQefdgFDGmMSUVc][0-9]{0,10}|[<>|=]?[biufc][0-9]{1,2}")
_NUMPY_CORES = ("numpy.core", "numpy._core")


def plain(value: Any) -> bool:
    """Whether a value is a number, text, bytes, or a known object: nothing that could be called."""
    return (
        value is None
        or type(value) in (bool, int, float, complex, str, bytes)
        or isinstance(value, Skipped)
        or (isinstance(value, Made) and value.trusted)
    )


def _data(value: Any) -> bool:
    if type(value) in (tuple, list):
        return len(value) <= 64 and all(plain(item) for item in value)
    return plain(value)


def _plain_arguments(of: str, most: int) -> Rule:
    def rule(arguments: tuple[Any, ...]) -> Made:
        if len(arguments) > most or not all(_data(argument) for argument in arguments):
            raise Misuse(f"takes at most {most} plain values")
        return Made(of, True)

    return rule


def _numpy_dtype(arguments: tuple[Any, ...]) -> Made:
    if not 1 <= len(arguments) <= 3 or not isinstance(arguments[0], (str, bytes)):
        raise Misuse("takes the code of a type")
    code = arguments[0].decode("latin-1") if isinstance(arguments[0], bytes) else arguments[0]
    if code in ("O", "O8", "|O"):
        return Made("numpy.dtype", True, "O")
    if not _NUMPY_DTYPE.fullmatch(code) or any(type(flag) not in (bool, int) for flag in arguments[1:]):
        raise Misuse("takes the code of a type")
    return Made("numpy.dtype", True, code)


def _numpy_scalar(arguments: tuple[Any, ...]) -> Made:
    if len(arguments) != 2 or not isinstance(arguments[0], Made) or arguments[0].of != "numpy.dtype":
        raise Misuse("takes a type and bytes")
    if arguments[0].detail == "O" or not isinstance(arguments[1], (bytes, str, Skipped)):
        raise Misuse("takes a type of numbers and bytes")
    return Made("numpy scalar", True)


def _numpy_array(arguments: tuple[Any, ...]) -> Made:
    if len(arguments) != 3 or not isinstance(arguments[0], Global):
        raise Misuse("makes an empty array")
    if (arguments[0].module, arguments[0].name) != ("numpy", "ndarray") or arguments[1] != (0,):
        raise Misuse("makes an empty array")
    if arguments[2] not in (b"b", "b"):
        raise Misuse("makes an empty array")
    return Made("numpy.ndarray", True)


def _numpy_buffer(arguments: tuple[Any, ...]) -> Made:
    if len(arguments) != 4 or not isinstance(arguments[0], (bytes, Skipped)):
        raise Misuse("takes bytes, a type, a shape and an order")
    if not isinstance(arguments[1], Made) or arguments[1].of != "numpy.dtype" or arguments[1].detail == "O":
        raise Misuse("takes bytes, a type, a shape and an order")
    if not _data(arguments[2]) or arguments[3] not in ("C", "F", "A"):
        raise Misuse("takes bytes, a type, a shape and an order")
    return Made("numpy.ndarray", True)


def _default_dict(arguments: tuple[Any, ...]) -> Mapping:
    if len(arguments) > 1:
        raise Misuse("takes one type")
    for factory in arguments:
        if factory is not None and not (
            isinstance(factory, Global)
            and factory.module in ("builtins", "__builtin__")
            and factory.name in ("list", "dict", "int", "float", "set", "str", "bool")
        ):
            raise Misuse("takes a plain type")
    return Mapping("defaultdict")


def _deque(arguments: tuple[Any, ...]) -> Any:
    if len(arguments) > 2 or (arguments and not isinstance(arguments[0], (tuple, list))):
        raise Misuse("takes a list and a length")
    if len(arguments) == 2 and arguments[1] is not None and not is_integer(arguments[1]):
        raise Misuse("takes a list and a length")
    return list(arguments[0]) if arguments else []


def _frozen_set(arguments: tuple[Any, ...]) -> Items:
    if len(arguments) > 1 or any(not isinstance(argument, (list, tuple)) for argument in arguments):
        raise Misuse("takes one list")
    return Items("frozenset", [plain_key(value) for argument in arguments for value in argument])


def _empty_bytes(arguments: tuple[Any, ...]) -> bytes:
    if arguments:
        raise Misuse("takes nothing: protocols before 3 write empty bytes so")
    return b""


def _reconstructor(arguments: tuple[Any, ...]) -> Made:
    if len(arguments) != 3 or not all(isinstance(argument, Global) for argument in arguments[:2]):
        raise Misuse("makes a plain object")
    made, base = arguments[0], arguments[1]
    if (made.module, made.name) not in NEW or (base.module, base.name) not in _OBJECT or arguments[2] is not None:
        raise Misuse("makes a plain object")
    return Made(f"{made.module}.{made.name}", True, "state")


_OBJECT = {("builtins", "object"), ("__builtin__", "object")}

CALLS: dict[tuple[str, str], Rule] = {
    ("numpy", "dtype"): _numpy_dtype,
    **{(f"{core}.multiarray", "scalar"): _numpy_scalar for core in _NUMPY_CORES},
    **{(f"{core}.multiarray", "_reconstruct"): _numpy_array for core in _NUMPY_CORES},
    **{(f"{core}.numeric", "_frombuffer"): _numpy_buffer for core in _NUMPY_CORES},
    ("collections", "defaultdict"): _default_dict,
    ("collections", "deque"): _deque,
    ("builtins", "frozenset"): _frozen_set,
    ("__builtin__", "frozenset"): _frozen_set,
    ("builtins", "bytes"): _empty_bytes,
    ("__builtin__", "bytes"): _empty_bytes,
    ("builtins", "range"): _plain_arguments("range", 3),
    ("__builtin__", "xrange"): _plain_arguments("range", 3),
    ("builtins", "slice"): _plain_arguments("slice", 3),
    ("datetime", "datetime"): _plain_arguments("datetime", 2),
    ("datetime", "date"): _plain_arguments("date", 1),
    ("datetime", "time"): _plain_arguments("time", 2),
    ("datetime", "timedelta"): _plain_arguments("timedelta", 3),
    ("datetime", "timezone"): _plain_arguments("timezone", 2),
    ("decimal", "Decimal"): _plain_arguments("Decimal", 1),
    ("fractions", "Fraction"): _plain_arguments("Fraction", 2),
    **{
        (module, name): _plain_arguments("path", 64)
        for module in ("pathlib", "pathlib._local")
        for name in ("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath")
    },
    ("copyreg", "_reconstructor"): _reconstructor,
    ("copy_reg", "_reconstructor"): _reconstructor,
}
"""Calls that make plain data."""

NEW: frozenset[tuple[str, str]] = frozenset({("argparse", "Namespace"), ("uuid", "UUID")})
"""Classes of which an object is made without arguments and filled with a dict."""

STATEFUL = {"argparse.Namespace", "uuid.UUID"}

MENTIONED: frozenset[tuple[str, str]] = frozenset(
    {("numpy", "ndarray"), *_OBJECT}
    | {(m, n) for m in ("builtins", "__builtin__") for n in ("list", "dict", "int", "float", "str", "bool")}
)
"""Named as the type of something, never called."""


def is_known(module: str, name: str) -> bool:
    """Whether the name is known to make plain data, and is not on torch's allow-list."""
    key = (module, name)
    return key not in CALLABLE and (key in CALLS or key in NEW or key in MENTIONED)

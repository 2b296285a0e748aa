"""What a Python file defines at its top level, read from its syntax tree: nothing of it is run or imported."""

from __future__ import annotations

import ast
import os
import warnings
from typing import NamedTuple

from .. import regular_file
from ..findings import Finding, Refusal

MAX_BYTES = 1 << 18
_HARMLESS_CALLS = frozenset({"register", "register_envs", "warn", "filterwarnings", "simplefilter", "append", "insert"})
"""Calls that files of environments make when they are imported: they register, or set up paths and warnings."""
_STARTERS = frozenset(
    {"Pool", "Process", "ProcessPoolExecutor", "make", "make_vec", "vectorize", "train", "main", "run"}
)
"""Names whose results are kept and that may start processes."""


class PythonSource(NamedTuple):
    """One file's top level."""

    definitions: dict[str, str]
    """Name to `class`, `function`, `import`, `lambda` or `value`."""
    unguarded: list[tuple[int, str]]
    """Line and name of calls that run when the file is imported and may start something."""


def read(path: str) -> PythonSource:
    """The top level of a plain file; a Refusal says why it cannot be told."""
    handle, status = regular_file.open_for_reading(path)
    with os.fdopen(handle, "rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise _unreadable(path, "the file is too large", f"{status.st_size} bytes", f"at most {MAX_BYTES} bytes")
    try:
        with warnings.catch_warnings():
            # A doubtful escape in somebody's text is not our matter.
            warnings.simplefilter("ignore")
            tree = ast.parse(data, filename="environment")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f"line {line}" if line else ""
        raise _unreadable(path, "the file is not Python that can be read", where, "a Python file") from None
    found = PythonSource({}, [])
    for statement in tree.body:
        _definitions(statement, found.definitions)
        _unguarded(statement, found.unguarded)
    return found


def _definitions(statement: ast.stmt, found: dict[str, str]) -> None:
    if isinstance(statement, ast.ClassDef):
        found[statement.name] = "class"
    elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        found[statement.name] = "function"
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            found[(alias.asname or alias.name).split(".")[0]] = "import"
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        kind = "lambda" if isinstance(statement.value, ast.Lambda) else "value"
        if isinstance(statement.value, ast.Name):
            # Another name for what is defined above keeps its kind.
            kind = found.get(statement.value.id, kind)
        for target in targets:
            if isinstance(target, ast.Name):
                found[target.id] = kind
    elif isinstance(statement, (ast.If, ast.Try, ast.With)) and not _is_guard(statement):
        for inner in (*statement.body, *getattr(statement, "orelse", [])):
            _definitions(inner, found)


def _is_guard(statement: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, either way round."""
    if not isinstance(statement, ast.If):
        return False
    names = {node.id for node in ast.walk(statement.test) if isinstance(node, ast.Name)}
    return "__name__" in names


def _unguarded(statement: ast.stmt, found: list[tuple[int, str]]) -> None:
    if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or _is_guard(statement):
        return
    if isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign)):
        value = statement.value
        if isinstance(value, ast.Call):
            name = _called(value)
            kept = not isinstance(statement, ast.Expr)
            if (kept and name in _STARTERS) or (not kept and name not in _HARMLESS_CALLS):
                found.append((statement.lineno, name))
        return
    if isinstance(statement, (ast.For, ast.While, ast.With, ast.If, ast.Try)):
        if isinstance(statement, ast.With):
            for item in statement.items:
                if isinstance(item.context_expr, ast.Call) and _called(item.context_expr) in _STARTERS:
                    found.append((statement.lineno, _called(item.context_expr)))
        for part in ("body", "orelse", "finalbody"):
            for inner in getattr(statement, part, []):
                _unguarded(inner, found)


def _called(call: ast.Call) -> str:
    """The last name of what is called: `Pool` of `multiprocessing.Pool(4)`, `start` of `Process(...).start()`."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else "a call"


def _unreadable(path: str, message: str, got: str, want: str) -> Refusal:
    return Refusal(
        Finding(
            "environment.source_unreadable", message, path, got, want, "mend the file; python3 -m py_compile says more"
        )
    )

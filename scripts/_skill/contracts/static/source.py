"""A Python file as a syntax tree, bounded; names resolved through its imports; nothing is imported or run."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from ... import regular_file, text
from ...findings import could_not

MAX_BYTES = 1 << 20
MAX_BRACKETS = 150
MAX_OPERATORS = 2000
"""Of one kind in a row; Python's own parser recurses over them."""


class Warned(NamedTuple):
    """One warning."""

    line: int
    code: str
    message: str
    got: str = ""
    fix: str = ""


class Source(NamedTuple):
    """A file that has been read."""

    path: str
    tree: ast.Module
    names: dict[str, str]
    """What an imported name stands for: `np` is `numpy`, `default_rng` is `numpy.random.default_rng`."""


def read(path: str) -> Source:
    """The file's syntax tree; a Refusal (exit 2) where it is none."""
    handle, _ = regular_file.open_for_reading(path)
    with os.fdopen(handle, "rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise could_not("source.size", "the file is too large to read", where=path, want=f"at most {MAX_BYTES} bytes")
    if _too_deep(data):
        raise could_not("source.depth", "the source is nested too deep to read", where=path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data, filename=os.path.basename(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        words = text.escaped(getattr(error, "msg", None) or str(error))
        raise could_not(
            "source.syntax",
            f"not readable as Python: {words}" + (f" in line {line}" if line else ""),
            where=path,
            want="Python source",
        ) from None
    return Source(path, tree, _names(tree))


def _too_deep(data: bytes) -> bool:
    """Whether brackets or signs stand deeper than a person writes them; strings are counted too, which is stricter."""
    depth = run = 0
    last = 0
    for byte in data:
        if byte in b"([{":
            depth += 1
            if depth > MAX_BRACKETS:
                return True
        elif byte in b")]}":
            depth = max(0, depth - 1)
        run = run + 1 if byte == last and byte in b"-+~" else 0
        if run > MAX_OPERATORS:
            return True
        last = byte
    return False


def _names(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    found[alias.asname] = alias.name
                else:
                    found[alias.name.split(".")[0]] = alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def dotted(node: ast.expr, names: dict[str, str]) -> str:
    """`numpy.random.default_rng` for the expression `np.random.default_rng`; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    head = names.get(node.id, node.id)
    return ".".join([head, *reversed(parts)])


def calls(source: Source) -> Iterator[tuple[ast.Call, str]]:
    """Every call with the name of what is called."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            yield node, dotted(node.func, source.names)


def classes(tree: ast.Module) -> list[ast.ClassDef]:
    """The classes of a module."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def methods(node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    """The methods of a class."""
    return {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}


def environment_classes(tree: ast.Module) -> list[str]:
    """The classes at the top of a module that have both `reset` and `step`."""
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and {"reset", "step"} <= set(methods(node)) and not node.name.startswith("_")
    ]


def unrelated(tree: ast.Module, name: str) -> list[range]:
    """The lines of the module's classes that the class or function `name` does not mention, nor what it mentions."""
    there = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    waiting = [name.split(".")[0]]
    if waiting[0] not in there:
        return []
    needed: set[str] = set()
    while waiting:
        current = waiting.pop()
        if current in needed or current not in there:
            continue
        needed.add(current)
        waiting += [node.id for node in ast.walk(there[current]) if isinstance(node, ast.Name)]
    return [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in there.values()
        if node.name not in needed and isinstance(node, ast.ClassDef)
    ]

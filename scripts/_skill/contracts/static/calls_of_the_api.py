"""The API as it is written: the old gym package, four values, a lone `done`, reset without info, float64 by default."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .source import Source, Warned, classes, dotted, methods

MAKERS = ("numpy.zeros", "numpy.ones", "numpy.empty", "numpy.full", "numpy.linspace", "numpy.eye")
SHORT_FORM = ("make_space", "make_discrete", "make_multi_discrete", "make_box", "make_continuous")


def old_package(source: Source) -> Iterator[Warned]:
    """Imports of gym."""
    for node in ast.walk(source.tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        if any(name == "gym" or name.startswith("gym.") for name in names):
            message = "imports the old gym package, which is not maintained"
            line: int = node.lineno  # type: ignore[attr-defined]
            yield Warned(line, "static.old_gym", message, "gym", "import gymnasium")


def generation(source: Source) -> Iterator[Warned]:
    """Returns of `step` and `reset`."""
    for node in classes(source.tree):
        own = methods(node)
        if not {"reset", "step"} <= set(own) or _short_form(node) or _is_turn_based(own):
            continue
        for value, line in _returns(own["step"]):
            if isinstance(value, ast.Tuple) and len(value.elts) == 4:
                done = any(isinstance(item, ast.Name) and item.id in ("done", "dones") for item in value.elts)
                message = "step returns four values: truncation is missing"
                if done:
                    message = "step returns one done: the end of the task and a cut-off are not told apart"
                code = "static.done_only" if done else "static.four_values"
                fix = "return observation, reward, terminated, truncated, info"
                yield Warned(line, code, message, "a tuple of 4", fix)


def float64(source: Source) -> Iterator[Warned]:
    """Arrays of numpy's default dtype that reset or step return as they are."""
    for node in classes(source.tree):
        own = methods(node)
        if not {"reset", "step"} <= set(own):
            continue
        for name in ("reset", "step", "_get_obs", "_get_observation", "_observe", "_obs", "observe", "observation"):
            function = own.get(name)
            if function is None or _casts(function):
                continue
            for value, _ in _returns(function):
                for item in value.elts if isinstance(value, ast.Tuple) else [value]:
                    if (
                        isinstance(item, ast.Call)
                        and dotted(item.func, source.names) in MAKERS
                        and not _has_dtype(item, source)
                    ):
                        message = f"{name} returns an array without a dtype: numpy makes it float64"
                        yield Warned(
                            item.lineno,
                            "static.float64",
                            message,
                            dotted(item.func, source.names),
                            "dtype=numpy.float32",
                        )


def _returns(function: ast.FunctionDef) -> list[tuple[ast.expr, int]]:
    return [(n.value, n.lineno) for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]


def _short_form(node: ast.ClassDef) -> bool:
    """Whether the class is written in the short form of PufferEnv, in which four values are right."""
    named = any("PufferEnv" in ast.unparse(base)[:200] for base in node.bases)
    return named and any(isinstance(n, ast.Attribute) and n.attr in SHORT_FORM for n in ast.walk(node))


def _is_turn_based(own: dict[str, ast.FunctionDef]) -> bool:
    return "observe" in own or "last" in own


def _casts(function: ast.FunctionDef) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr == "astype" for n in ast.walk(function))


def _has_dtype(call: ast.Call, source: Source) -> bool:
    if any(keyword.arg in ("dtype", None) for keyword in call.keywords):
        return True
    place = {"numpy.zeros": 1, "numpy.ones": 1, "numpy.empty": 1, "numpy.full": 2}.get(dotted(call.func, source.names))
    return place is not None and len(call.args) > place


RULES = (old_package, generation, float64)

"""What runs when the module is imported, and what is shared by all environments of a process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .source import Source, Warned, classes, dotted

HARMLESS = (
    "gymnasium.register",
    "gymnasium.envs.registration.register",
    "register",
    "warnings.",
    "logging.",
    "sys.path.",
    "os.environ.",
    "numpy.set_printoptions",
    "matplotlib.use",
    "torch.set_num_threads",
    "faulthandler.",
)
STARTS = ("multiprocessing.Process", "multiprocessing.Pool", "gymnasium.make_vec", "gymnasium.vector.AsyncVectorEnv")


def work(source: Source) -> Iterator[Warned]:
    """Calls and loops at the top of the module, outside `if __name__ == "__main__"`."""
    for statement in source.tree.body:
        if isinstance(statement, ast.If) and _is_guard(statement.test):
            continue
        if isinstance(statement, (ast.For, ast.While, ast.With)):
            message = "works while it is imported: every worker process that imports it does that again"
            yield Warned(statement.lineno, "static.module_work", message, type(statement).__name__.lower(), _FIX)
        for node in ast.walk(statement):
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                break
            if isinstance(node, ast.Call):
                name = dotted(node.func, source.names)
                last = name.rsplit(".", 1)[-1]
                if name in STARTS or last in ("learn", "train"):
                    message = "starts work while it is imported: with spawn every worker starts it again, without end"
                    yield Warned(node.lineno, "static.main_guard", message, name, _FIX)
                elif isinstance(statement, ast.Expr) and node is statement.value and not name.startswith(HARMLESS):
                    message = "calls a function while it is imported"
                    yield Warned(node.lineno, "static.module_work", message, name or "a call", _FIX)


def shared_state(source: Source) -> Iterator[Warned]:
    """Lists, dicts, sets and arrays that belong to a class: all environments of a process share them."""
    for node in classes(source.tree):
        for item in node.body:
            targets = (
                item.targets
                if isinstance(item, ast.Assign)
                else [item.target]
                if isinstance(item, ast.AnnAssign)
                else []
            )
            value = getattr(item, "value", None)
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            if not names or names[0] == "metadata" or names[0].startswith("__") or names[0].isupper():
                continue
            mutable = isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp))
            if isinstance(value, ast.Call):
                called = dotted(value.func, source.names)
                mutable = called in ("list", "dict", "set", "bytearray", "collections.deque", "collections.defaultdict")
                mutable = mutable or called in ("numpy.zeros", "numpy.empty", "numpy.ones", "numpy.array")
            if mutable and _written(node, names[0]):
                message = f"{names[0]} belongs to the class: all environments of a process share it"
                yield Warned(item.lineno, "static.class_state", message, names[0], f"self.{names[0]} = ... in __init__")
        for function in ast.walk(node):
            if isinstance(function, ast.Global):
                message = "writes a global variable: all environments of a process share it"
                yield Warned(function.lineno, "static.global_state", message, ", ".join(function.names)[:80])


def _written(node: ast.ClassDef, name: str) -> bool:
    """Whether a method changes what the class holds, without giving the instance one of its own."""
    own = False
    changed = False
    for item in ast.walk(node):
        targets = (
            item.targets if isinstance(item, ast.Assign) else [item.target] if isinstance(item, ast.AugAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Attribute) and target.attr == name:
                own = own or isinstance(item, ast.Assign)
            changed = changed or (isinstance(target, ast.Subscript) and _attribute(target.value) == name)
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and _attribute(item.func.value) == name:
            changed = changed or item.func.attr in (
                "append",
                "add",
                "update",
                "extend",
                "insert",
                "setdefault",
                "pop",
                "fill",
            )
    return changed and not own


def _attribute(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""


def _is_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


_FIX = 'move it into a function, or under if __name__ == "__main__":'
RULES = (work, shared_state)

"""The borders between the layers, read from the syntax trees: who imports what, and what nobody may call."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

STANDARD = sys.stdlib_module_names
NETWORK = {"ftplib", "http", "imaplib", "poplib", "smtplib", "socketserver", "telnetlib", "urllib", "xmlrpc"}
# urllib.parse only reads text.
HARMLESS = {"urllib.parse", "http.HTTPStatus"}
# It takes a child's network away, and needs a socket to bring up the loopback of the empty one.
TAKES_THE_NETWORK_AWAY = Path("scripts/_skill/process/network_isolation.py")
UNPICKLERS = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve"}


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and full name of every absolute import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module


def outside(modules: dict[Path, ast.Module], folder: str, own: set[str]) -> list[str]:
    """Imports under ``folder`` that are neither in the standard library nor its own."""
    return [
        f"{file}:{line} imports {name}"
        for file, tree in modules.items()
        if file.is_relative_to(folder)
        for line, name in imports(tree)
        if name.split(".")[0] not in STANDARD | own
    ]


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of a name or an attribute; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else node.attr
    return ""


def dangers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of every call that runs text as code, starts a shell or unpickles."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            yield node.lineno, "bare except"
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        if name in {"eval", "exec", "os.system", "os.popen"} or name.startswith("os.spawn"):
            yield node.lineno, name
        if name.split(".")[0] in UNPICKLERS and name.split(".")[-1] in {"load", "loads", "open", "Unpickler"}:
            yield node.lineno, name
        for keyword in node.keywords:
            if keyword.arg == "shell" and not (
                isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            ):
                yield node.lineno, f"{name}(shell=...)"


def test_scripts_import_only_the_standard_library(modules: dict[Path, ast.Module]) -> None:
    verbs = {file.stem for file in modules if file.parent == Path("scripts")}
    assert outside(modules, "scripts", verbs | {"_skill"}) == []


def test_the_engine_imports_only_the_standard_library(modules: dict[Path, ast.Module]) -> None:
    assert outside(modules, "native_profile", {"pufferlib"}) == []


def test_what_the_tests_need_to_be_installed_needs_only_the_standard_library(modules: dict[Path, ast.Module]) -> None:
    assert outside(modules, "requirements", set()) == []


def test_scripts_and_engine_open_no_connection(modules: dict[Path, ast.Module]) -> None:
    found = [
        f"{file}:{line} imports {name}"
        for file, tree in modules.items()
        if file.parts[0] in {"scripts", "native_profile", "requirements"} and file != TAKES_THE_NETWORK_AWAY
        for line, name in imports(tree)
        if name.split(".")[0] in NETWORK | {"socket", "ssl"} and name not in HARMLESS
    ]
    assert found == []


def test_nothing_runs_text_as_code_or_unpickles(modules: dict[Path, ast.Module]) -> None:
    assert [f"{file}:{line} {name}" for file, tree in modules.items() for line, name in dangers(tree)] == []


def test_the_danger_test_would_find_each() -> None:
    samples = [
        "eval(x)",
        "import os\nos.system(x)",
        "import pickle\npickle.loads(x)",
        "run(x, shell=True)",
        "run(x, shell=y)",
    ]
    samples.append("try:\n    x\nexcept:\n    raise")
    for sample in samples:
        assert list(dangers(ast.parse(sample))), sample
    assert list(dangers(ast.parse("run(x, shell=False)\nmodel.eval()\njson.load(x)"))) == []

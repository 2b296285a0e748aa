"""Calls in Python source that start a shell, run text as code, unpickle or wait for an answer, by its syntax tree.

Names are followed through imports, `import x as y`, `getattr(x, "name")` and `__import__("x")`, and lists of words are
looked at wherever they stand, so that a command in a variable is found as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import NamedTuple

SHELLS = {
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "cmd",
    "cmd.exe",
    "powershell",
    "powershell.exe",
    "pwsh",
    "busybox",
}
_RUN = {"run", "call", "check_call", "check_output", "Popen"}
_SHELL_CALLS = {
    "os.system",
    "os.popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "commands.getoutput",
    "pty.spawn",
    "commands.getstatusoutput",
    "popen2.popen2",
    "asyncio.create_subprocess_shell",
    "asyncio.subprocess.create_subprocess_shell",
    "posix.system",
    "nt.system",
    "os.startfile",
    "pexpect.run",
    "pexpect.spawn",
    "pexpect.runu",
    "invoke.run",
    "fabric.run",
    "sh.bash",
    "sh.sh",
    "platform.popen",
    "IPython.get_ipython.system",
}
_LOADERS = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "marshal",
    "shelve",
    "jsonpickle",
    "joblib",
    "pandas",
}
_LOADS = {"load", "loads", "open", "Unpickler", "decode", "read_pickle"}
_SHELL_WORD = re.compile(r"[|;&<>`$*]|\s")


class Call(NamedTuple):
    """One place in the source."""

    line: int
    code: str
    message: str
    got: str
    mild: bool = False
    """Worth a word, but no error."""


def find(source: str) -> list[Call] | None:
    """The calls in a source; None where Python cannot parse it."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kinds = (ast.Import, ast.ImportFrom, ast.Assign, ast.Call, ast.List, ast.Tuple)
    nodes = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    names = _imports(nodes)
    found: dict[tuple[int, str], Call] = {}
    for node in nodes:
        for call in _node(node, names):
            found.setdefault((call.line, call.code), call)
    return sorted(found.values())


def _imports(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """What each local name stands for: `sp` is `subprocess`, `s` is `os.system`."""
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    # `runner = os.system` gives the call another name.
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = _dotted(node.value, names)
            if value in _SHELL_CALLS or (value.startswith("subprocess.") and value.split(".")[-1] in _RUN):
                names.setdefault(node.targets[0].id, value)
    return names


def _dotted(node: ast.AST, names: dict[str, str], depth: int = 0) -> str:
    """The full name that an expression stands for; empty for anything else."""
    if depth > 20:
        return ""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value, names, depth + 1)
        return f"{inner}.{node.attr}".removeprefix("builtins.") if inner else f"?.{node.attr}"
    if isinstance(node, ast.Call):
        function = _dotted(node.func, names, depth + 1)
        words = [_constant(argument) for argument in node.args]
        if function in ("__import__", "importlib.import_module") and words and words[0]:
            return words[0]
        if function == "getattr" and len(words) > 1 and words[1]:
            inner = _dotted(node.args[0], names, depth + 1)
            return f"{inner}.{words[1]}".removeprefix("builtins.").removeprefix("__builtins__.")
        return ""
    if isinstance(node, ast.Subscript):
        inner = _dotted(node.value, names, depth + 1)
        key = _constant(node.slice)
        if key and inner in ("__builtins__", "builtins.__dict__", "globals", "vars"):
            return key
        if key and inner.endswith(".__dict__"):
            return f"{inner.removesuffix('.__dict__')}.{key}"
    return ""


def _constant(node: ast.AST | None, depth: int = 0) -> str:
    """The text of a string, also where it is put together from parts; empty for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and depth < 20:
        return _constant(node.left, depth + 1) + _constant(node.right, depth + 1)
    return ""


def _is_text(node: ast.AST) -> bool:
    """Whether an expression is surely one string: a constant, an f-string, text put together or formatted."""
    if isinstance(node, (ast.JoinedStr,)) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return _is_text(node.left) or _is_text(node.right)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("format", "join", "strip", "replace")
        and _is_text(node.func.value)
    )


def _node(node: ast.AST, names: dict[str, str]) -> list[Call]:
    if isinstance(node, (ast.List, ast.Tuple)):
        return _words(node)
    if not isinstance(node, ast.Call):
        return []
    name = _dotted(node.func, names)
    last = name.split(".")[-1]
    got = ast.unparse(node)[:100] if len(node.args) < 20 else name
    line = node.lineno
    if name in _SHELL_CALLS or ((name.startswith(("os.spawn", "os.exec"))) and _starts_shell(node)):
        return [Call(line, "program.shell", "hands text to a shell", got)]
    if last in ("system", "popen", "_wsystem") and name not in ("platform.system",) and node.args:
        return [Call(line, "program.shell", "hands text to a shell", got)]
    for keyword in node.keywords:
        off = isinstance(keyword.value, ast.Constant) and not keyword.value.value
        if keyword.arg == "shell" and not off:
            return [Call(line, "program.shell", "starts a shell", got)]
        if keyword.arg is None and isinstance(keyword.value, ast.Dict):
            for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
                if _constant(key) == "shell" and not (isinstance(value, ast.Constant) and not value.value):
                    return [Call(line, "program.shell", "starts a shell", got)]
    if last in _RUN and name.split(".")[0] in ("subprocess", "Popen", "asyncio") and node.args:
        first = node.args[0]
        if _is_text(first) and (not isinstance(first, ast.Constant) or _SHELL_WORD.search(_constant(first))):
            return [Call(line, "program.command_text", "a command as one text instead of a list of words", got)]
    if name in ("eval", "exec", "execfile") and node.args and not isinstance(node.args[0], ast.Constant):
        return [Call(line, "program.eval", "runs text as code", got)]
    if name.split(".")[0] in _LOADERS and last in _LOADS:
        mild = name.split(".")[0] in ("joblib", "pandas") and last not in ("load", "read_pickle")
        return (
            [] if mild else [Call(line, "program.unpickles", "loading this runs code of whoever wrote the file", got)]
        )
    if (
        name == "yaml.load"
        and not any("Safe" in ast.unparse(word.value) for word in node.keywords)
        and len(node.args) < 2
    ):
        return [Call(line, "program.unpickles", "loading this runs code of whoever wrote the file", got)]
    if name == "torch.load" and not any(
        word.arg == "weights_only" and isinstance(word.value, ast.Constant) and word.value.value is True
        for word in node.keywords
    ):
        return [Call(line, "program.unpickles", "loading this may run code of whoever wrote the file", got, True)]
    if name in ("input", "getpass.getpass", "click.prompt", "click.confirm"):
        return [Call(line, "program.prompts", "waits for an answer, so an agent hangs", got, True)]
    return []


def _starts_shell(node: ast.Call) -> bool:
    words = [_constant(argument) for argument in node.args]
    return any(word.rsplit("/", 1)[-1] in SHELLS for word in words if word)


def _words(node: ast.List | ast.Tuple) -> list[Call]:
    """A list of words that is a command with a shell in front, or an installation without versions."""
    words = [_constant(item) for item in node.elts]
    if not words or len(words) > 64:
        return []
    names = [word.rsplit("/", 1)[-1].lower() for word in words]
    start = next((index for index, name in enumerate(names) if name not in ("env", "sudo", "nice", "")), 0)
    if names[start] in SHELLS and any(
        re.fullmatch(r"-[a-z]*c|/c|-command|-enc\w*", word.lower()) for word in words[start + 1 :]
    ):
        got = ast.unparse(node)[:100]
        return [Call(node.lineno, "program.shell", "a command that hands text to a shell", got)]
    if "install" in names and any(
        name in ("pip", "pip3", "pipx", "npm", "uv") for name in names[: names.index("install")]
    ):
        loose = unpinned([word for word in words[names.index("install") + 1 :] if word], "pip")
        if loose:
            return [Call(node.lineno, "program.unpinned", "installs without a version", ", ".join(loose[:4]), True)]
    return []


def unpinned(words: Sequence[str], kind: str) -> list[str]:
    """The packages among the words of an installation that no version, hash or file pins."""
    loose: list[str] = []
    skip = False
    for word in words:
        word = word.strip("\"'")
        if skip or not word:
            skip = False
            continue
        if word.startswith("-"):
            skip = word in (
                "-r",
                "-c",
                "-e",
                "--requirement",
                "--constraint",
                "--target",
                "-t",
                "--python",
                "--index-url",
                "-i",
                "--from",
                "--with",
                "-p",
                "--package",
                "--prefix",
                "--root",
                "--extra-index-url",
                "--find-links",
                "-f",
            )
            continue
        if (
            word.startswith((".", "/", "~", "$", "<", "{"))
            or word.endswith((".whl", ".tar.gz", ".zip"))
            or (not word[0].isalnum() and word[0] != "@")
        ):
            continue
        if re.fullmatch(r"[A-Z][A-Z_]+", word):
            continue
        pinned = "===" in word or "==" in word or re.search(r"@[0-9a-f]{7,40}\b|.@v?\d", word)
        if not pinned:
            loose.append(word)
        if kind in ("tool", "npm") and len(words) > 1 and kind == "tool":
            break
    return loose

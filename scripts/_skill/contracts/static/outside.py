"""What reaches outside: network, processes, files, code from data, threads, output."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .source import Source, Warned, calls, dotted

NETWORK = (
    "socket",
    "requests",
    "httpx",
    "aiohttp",
    "urllib.request",
    "urllib3",
    "http.client",
    "ftplib",
    "smtplib",
    "telnetlib",
    "websocket",
    "websockets",
    "paramiko",
    "grpc",
    "zmq",
    "xmlrpc",
)
PROCESSES = (
    "os.system",
    "os.popen",
    "os.fork",
    "os.exec",
    "os.spawn",
    "os.posix_spawn",
    "subprocess.",
    "pty.",
    "multiprocessing.Process",
    "multiprocessing.Pool",
    "multiprocessing.get_context",
    "concurrent.futures.ProcessPoolExecutor",
)
CODE = (
    "eval",
    "exec",
    "compile",
    "__import__",
    "pickle.load",
    "pickle.loads",
    "pickle.Unpickler",
    "cloudpickle.load",
    "cloudpickle.loads",
    "dill.load",
    "dill.loads",
    "joblib.load",
    "marshal.load",
    "marshal.loads",
    "shelve.open",
    "torch.load",
    "importlib.import_module",
    "ctypes.CDLL",
)
THREADS = (
    "threading.Thread",
    "threading.Timer",
    "_thread.start_new_thread",
    "concurrent.futures.ThreadPoolExecutor",
    "multiprocessing.pool.ThreadPool",
    "asyncio.run",
)
WRITES = (
    "os.remove",
    "os.unlink",
    "os.rmdir",
    "os.mkdir",
    "os.makedirs",
    "os.rename",
    "os.replace",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "shutil.rmtree",
    "shutil.move",
    "shutil.copy",
    "shutil.copyfile",
    "shutil.copytree",
    "numpy.save",
    "numpy.savez",
    "numpy.savetxt",
    "torch.save",
    "pickle.dump",
    "json.dump",
)
WRITE_METHODS = ("write_text", "write_bytes", "unlink", "rmdir", "mkdir", "touch", "symlink_to", "tofile", "to_csv")


def network(source: Source) -> Iterator[Warned]:
    """Imports of modules that open connections."""
    for node in ast.walk(source.tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            if any(name == known or name.startswith(f"{known}.") for known in NETWORK):
                message = "imports a module that opens network connections"
                yield Warned(node.lineno, "static.network", message, name, "an environment needs no network")  # type: ignore[attr-defined]
                break


def reaching(source: Source) -> Iterator[Warned]:
    """Calls that start processes or threads, run data as code, or change files."""
    for call, name in calls(source):
        if not name:
            method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if method in WRITE_METHODS:
                yield Warned(call.lineno, "static.write", "changes files", f".{method}()")
            continue
        if any(
            name == known or (known.endswith((".", "exec", "spawn")) and name.startswith(known)) for known in PROCESSES
        ):
            yield Warned(call.lineno, "static.process", "starts a process", name)
        elif name in CODE:
            if name == "compile" or (name == "importlib.import_module" and _constant(call)):
                continue
            message = "runs data as code: whoever can write the data chooses what runs"
            yield Warned(call.lineno, "static.code", message, name)
        elif name in THREADS:
            yield Warned(call.lineno, "static.thread", "starts a thread", name, "end it in close()")
        elif name in WRITES or (name.rsplit(".", 1)[-1] in WRITE_METHODS and "." in name):
            yield Warned(call.lineno, "static.write", "changes files", name)
        elif name in ("open", "io.open") and _writes(call):
            yield Warned(call.lineno, "static.write", "opens a file for writing", "open")


def output(source: Source) -> Iterator[Warned]:
    """Prints inside functions other than render and main."""
    quiet = {"render", "main", "__repr__", "demo"}
    for function in ast.walk(source.tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or function.name in quiet:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                name = dotted(node.func, source.names)
                if name in ("print", "pprint.pprint", "sys.stdout.write", "sys.stderr.write"):
                    message = f"prints in {function.name}"
                    yield Warned(node.lineno, "static.print", message, name, "remove it, or use the logging module")


def _constant(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Constant)


def _writes(call: ast.Call) -> bool:
    mode = call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "mode"), None)
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and bool(set(mode.value) & set("wax+"))


RULES = (network, reaching, output)

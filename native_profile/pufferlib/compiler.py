"""Finding a C++17 compiler, and saying how to get one."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from .errors import MISUSE, PufferError

HOW_TO_GET_ONE = (
    "install one:\n"
    "  Debian, Ubuntu   apt-get install g++\n"
    "  macOS            xcode-select --install\n"
    "  anywhere         python3 -m pip install ziglang   (a compiler in a Python package)\n"
    "or name it: CXX=/path/to/c++"
)


@dataclass(frozen=True)
class Compiler:
    """A command that compiles C++17, and what tells it from another one without running it."""

    command: tuple[str, ...]
    identity: str


def find_compiler() -> Compiler:
    """``$CXX`` if set, otherwise c++, g++ or clang++ on the path, otherwise the ziglang package."""
    named = os.environ.get("CXX", "").split()
    if named:
        path = shutil.which(named[0])
        if path is None:
            raise PufferError(f"CXX names {named[0]!r}, which is not a program on the path; {HOW_TO_GET_ONE}", MISUSE)
        return Compiler((path, *named[1:]), _identity(path, named[1:]))
    for name in ("c++", "g++", "clang++"):
        path = shutil.which(name)
        if path:
            return Compiler((path,), _identity(path, []))
    spec = importlib.util.find_spec("ziglang")
    if spec is not None and spec.origin is not None:
        return Compiler((sys.executable, "-m", "ziglang", "c++"), _identity(spec.origin, ["zig"]))
    raise PufferError(
        f"no C++17 compiler was found (looked for c++, g++, clang++ and the ziglang package); {HOW_TO_GET_ONE}", MISUSE
    )


def find_nvcc() -> str | None:
    """The CUDA compiler, when there is one."""
    return shutil.which("nvcc")


def _identity(path: str, extra: list[str]) -> str:
    real = Path(path).resolve()
    status = real.stat()
    return " ".join([str(real), str(status.st_size), str(status.st_mtime_ns), *extra])


def processor_identity() -> str:
    """What code tuned to this processor may not run without: its model and instruction sets."""
    wanted: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            for line in stream.read(65536).splitlines():
                key, _, value = line.partition(":")
                if key.strip() in ("model name", "flags", "Features", "CPU part"):
                    wanted.setdefault(key.strip(), value.strip())
    except OSError:
        return f"{os.uname().machine} {os.uname().sysname}"
    return f"{os.uname().machine} {sorted(wanted.items())}"

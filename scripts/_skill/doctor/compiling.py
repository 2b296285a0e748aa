"""The C++ compiler: which one, whether it makes a program that runs, whether it has the sanitizers."""

from __future__ import annotations

import os
import sys
import tempfile

from .. import machine, text
from .row import COULD_NOT, LOW, MISSING, OK, Request, Row
from .trial import run

SECONDS = 30.0

# Three lines that need C++17, a standard header and threads: what the engine needs.
_PROGRAM = """#include <thread>
template <class... T> constexpr int sum(T... parts) { return (0 + ... + parts); }
int main() { int done = 1; std::thread([&] { if constexpr (sum(1, 2) == 3) done = 0; }).join(); return done; }
"""


def check(request: Request) -> list[Row]:
    """The compiler's line and the sanitizers' line."""
    path = machine.find_compiler(os.environ)
    if path is None:
        named = os.environ.get("CXX", "").split()
        found = f"CXX names {text.shown(named[0])}, which is not there" if named else "no c++, g++, clang++ or ziglang"
        return [Row("compiler", MISSING, found, install())]
    name = request.machine.compiler or os.path.basename(path)
    command = [path, *os.environ.get("CXX", "").split()[1:]]
    if os.path.basename(path) == "zig":
        command.append("c++")
    try:
        with tempfile.TemporaryDirectory(prefix="doctor-") as folder:
            return _try(command, f"{name} ({path})", folder)
    except OSError as error:
        fix = "TMPDIR=/a/folder/with/room"
        return [Row("compiler", COULD_NOT, f"{name}; no temporary folder to try it in: {error.strerror}", fix)]


def _try(command: list[str], name: str, folder: str) -> list[Row]:
    source = os.path.join(folder, "try.cpp")
    with open(source, "w", encoding="ascii") as stream:
        stream.write(_PROGRAM)
    program = os.path.join(folder, "try")
    flags = ["-std=c++17", "-O0", "-pthread", source, "-o", program]
    outcome = run([*command, *flags], SECONDS)
    if outcome.exit_status is None:
        return [Row("compiler", COULD_NOT, f"{name}: {outcome.why}", install())]
    if outcome.exit_status != 0:
        words = text.escaped(" ".join(outcome.output.split()), 300)
        return [Row("compiler", MISSING, f"{name} does not compile C++17: {words}", install())]
    outcome = run([program], SECONDS)
    if outcome.exit_status != 0:
        words = outcome.why or f"exit status {outcome.exit_status}"
        fix = "TMPDIR=/a/folder/that/may/hold/programs   (this one may be mounted noexec)"
        return [Row("compiler", MISSING, f"{name} compiles, and the program does not run: {words}", fix)]
    rows = [Row("compiler", OK, f"{name} makes a C++17 program that runs")]
    outcome = run([*command, *flags[:-1], program + "-checked", "-fsanitize=address,undefined"], SECONDS)
    if outcome.exit_status == 0:
        return [*rows, Row("sanitizers", OK, "address and undefined behaviour")]
    words = outcome.why or text.escaped(" ".join(outcome.output.split()), 200)
    return [
        *rows,
        Row("sanitizers", LOW, f"not to be had; C environments are checked without them: {words}", install()),
    ]


def install() -> str:
    """The command that installs a compiler here."""
    if sys.platform == "darwin":
        return "xcode-select --install"
    commands = {
        "debian": "apt-get install g++",
        "ubuntu": "apt-get install g++",
        "fedora": "dnf install gcc-c++ libasan libubsan",
        "rhel": "dnf install gcc-c++ libasan libubsan",
        "suse": "zypper install gcc-c++",
        "alpine": "apk add g++",
        "arch": "pacman -S gcc",
        "nixos": "nix-shell -p gcc",
    }
    for word in _system():
        if word in commands:
            return f"{commands[word]}   (or, without rights: python3 -m pip install ziglang)"
    return "python3 -m pip install ziglang   (a compiler in a Python package)"


def _system() -> list[str]:
    """The system's name and those that it is like, from os-release."""
    try:
        with open("/etc/os-release", encoding="utf-8", errors="replace") as stream:
            lines = stream.read(8192).splitlines()
    except OSError:
        return []
    fields = dict(line.split("=", 1) for line in lines if "=" in line)
    return (
        f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}".replace('"', "")
        .replace("opensuse", "suse")
        .lower()
        .split()
    )

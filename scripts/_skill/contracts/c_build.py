"""Compiles a C environment with its driver, under the address and undefined-behaviour sanitizers.

The header is compiled three times: as C11 for what its object needs and keeps (no sanitizer, no optimization), as C++17
as the engine does, with sanitizers, for running. A compiler without sanitizers is no way to check: exit 2.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from .. import layout, machine, text
from ..findings import Finding, could_not
from . import c_child
from .contract import Place, found

DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "c_driver.c")
INCLUDE = os.path.join(layout.ENGINE, "core", "include")
INSTALL = (
    "Debian, Ubuntu: apt-get install g++; macOS: xcode-select --install; or name one: CXX=/path/to/g++. "
    "The ziglang package has no address sanitizer"
)
SANITIZERS = ("-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all")
STRICT_BOUNDS = "-fsanitize=bounds-strict"
"""Of GCC: the last array of a struct has bounds, too. Clang knows another name, and is asked without it."""
_FLAGS = ("-O0", "-g", "-Wall", "-Wextra", "-ffp-contract=off", "-fno-omit-frame-pointer")

_MEMORY = frozenset({"memset", "memcpy", "memmove", "memcmp"})
_MATHEMATICS = frozenset(
    "sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 expm1 log log2 log10 log1p pow sqrt cbrt hypot "
    "floor ceil round trunc rint nearbyint lround lrint fmod remainder fabs fmin fmax copysign fma ldexp "
    "frexp modf erf tgamma".split()
)
_RUNTIME = re.compile(r"_GLOBAL_OFFSET_TABLE_|__stack_chk_(?:fail|guard)|__(?:div|mod|udiv|umod|float|fix)\w*|_fltused")


class Build(NamedTuple):
    """What compiling led to."""

    program: str
    """The sanitized driver; empty where it does not compile."""
    findings: list[Finding]
    compiler: str
    looked_at_symbols: bool


def build(folder: str, name: str, work: str, seconds: float) -> Build:
    """Compiles `<folder>/<name>.h` in the folder `work`; a Refusal (exit 2) where no compiler can do it."""
    bounds = c_child.Bounds(max(3.0, seconds), 2048, address_space=True)
    path = machine.find_compiler(os.environ)
    if path is None:
        raise could_not(
            "c_env.no_compiler", "a C environment is checked by compiling it, and there is no C++ compiler", fix=INSTALL
        )
    compiler = [path, "c++"] if os.path.basename(path) == "zig" else [path, *os.environ.get("CXX", "").split()[1:]]
    common = ["-I", INCLUDE, "-iquote", folder, f'-DENV_HEADER="{name}.h"', DRIVER]
    program, plain = os.path.join(work, "driver"), os.path.join(work, "object.o")
    as_c = [*compiler, "-x", "c", "-std=c11", *_FLAGS, "-fno-pic", "-fno-pie", "-DWRAPPERS", *common, "-c", "-o", plain]
    ended = c_child.run(as_c, work, bounds)
    if ended.exit_status != 0:
        _require("c_env.no_compiler", "the compiler does not compile an empty program", compiler, (), work, bounds)
        return Build("", [_does_not_compile("C11", ended, name)], path, False)
    findings, looked = _symbols(plain, work, bounds)
    findings += _warnings(ended.stderr, name)
    as_cpp = [*compiler, "-x", "c++", "-std=c++17", *_FLAGS, *SANITIZERS, STRICT_BOUNDS, *common, "-o", program, "-lm"]
    ended = c_child.run(as_cpp, work, bounds)
    if ended.exit_status != 0 and "bounds-strict" in ended.stderr:
        as_cpp.remove(STRICT_BOUNDS)
        ended = c_child.run(as_cpp, work, bounds)
    if ended.exit_status != 0:
        message = "the compiler has no address and undefined-behaviour sanitizer, so nothing was checked by running"
        _require("c_env.no_sanitizer", message, compiler, SANITIZERS, work, bounds)
        return Build("", [*findings, _does_not_compile("C++17", ended, name)], path, looked)
    return Build(program, findings, path, looked)


def _does_not_compile(language: str, ended: c_child.Ended, name: str) -> Finding:
    match = re.search(rf"{re.escape(name)}\.h:(\d+):\d+: (?:fatal )?error: ([^\n]*)", ended.stderr)
    first = match or re.search(r"()error: ([^\n]*)", ended.stderr)
    got = first[2] if first else ended.limit or ended.stderr[-200:]
    place = Place(call=f"{name}.h:{match[1]}" if match else f"{name}.h")
    want = "a header that is valid C11 and C++17 without warnings"
    return found("c_env.compile", f"the header does not compile as {language}", place, got=text.escaped(got), want=want)


def _warnings(errors: str, name: str) -> list[Finding]:
    """Warnings that stand in the environment's own text; the driver has none."""
    findings: list[Finding] = []
    for match in list(re.finditer(r"([\w.-]+\.h):(\d+):\d+: warning: ([^\n]*)", errors))[:10]:
        if match[1] in ("environment.h", "random.h", "canvas.h", "mathematics.h"):
            continue
        place = Place(call=f"{match[1]}:{match[2]}")
        words = "the compiler warns"
        findings.append(found("c_env.warning", words, place, got=text.escaped(match[3]), severity="warning"))
    return findings


def _require(
    code: str, message: str, compiler: list[str], flags: tuple[str, ...], work: str, bounds: c_child.Bounds
) -> None:
    """A Refusal (exit 2) where an empty program cannot be built and run with these flags: no fault of the header."""
    source, program = os.path.join(work, "empty.c"), os.path.join(work, "empty")
    with open(source, "w", encoding="ascii") as stream:
        stream.write("int main(void) { return 0; }\n")
    made = c_child.run([*compiler, "-x", "c++", *flags, source, "-o", program], work, bounds)
    if made.exit_status == 0:
        made = c_child.run([program], work, c_child.Bounds(10, 1024))
    if made.exit_status != 0:
        raise could_not(code, message, where=compiler[0], want="g++ or clang++", fix=INSTALL)


def _symbols(path: str, work: str, bounds: c_child.Bounds) -> tuple[list[Finding], bool]:
    """What the object needs from elsewhere and which variables it keeps: what no macro can hide."""
    import shutil

    program = shutil.which("nm")
    if program is None:
        return [], False
    ended = c_child.run([program, path], work, bounds)
    if ended.exit_status != 0:
        return [], False
    findings: list[Finding] = []
    for match in re.finditer(r"^[0-9a-fA-F ]* ([A-Za-z]) ([^\n]{1,300})$", ended.stdout, re.MULTILINE):
        kind, symbol = match[1], match[2].strip()
        bare = symbol.lstrip("_") if symbol.startswith("_") and not symbol.startswith("__") else symbol
        place = Place(call="the compiled object")
        if kind == "U" and not (bare in _MEMORY or _RUNTIME.fullmatch(symbol)):
            plain = bare[:-1] if bare.endswith(("f", "l")) and bare[:-1] in _MATHEMATICS else bare
            if plain in _MATHEMATICS:
                continue  # the text names it
            message = "the environment calls a function of the C library"
            want = "functions of their arguments only"
            findings.append(found("c_env.calls", message, place, got=text.escaped(bare, 80), want=want))
        elif kind in "bBdDcCsSgGuVi":
            message = "the environment keeps a variable between calls"
            want = "a member of State, or `static const`"
            findings.append(found("c_env.global", message, place, got=text.escaped(bare, 80), want=want))
    return findings[:10], True

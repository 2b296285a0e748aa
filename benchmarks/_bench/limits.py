"""What the machine itself can do: compile the small C programs of `benchmarks/limits` and run them.

They are compiled for each benchmark into a temporary folder, with the compiler that the machine has.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _bench.process import Measured, measure

SOURCES = Path(__file__).resolve().parents[1] / "limits"
COMPILERS = ("cc", "gcc", "clang")
COMPILE_SECONDS = 60.0

# For each program the flags to try, best first: not every compiler knows every one.
PLAIN = ("-O3", "-march=native")
FAST = (*PLAIN, "-ffast-math")
FLAGS: dict[str, Sequence[Sequence[str]]] = {
    "cartpole_loop": ((*FAST, "-mprefer-vector-width=512"), FAST, ("-O3", "-ffast-math"), ("-O3",)),
    "cartpole_loop_plain": (("-O2",),),
    "fma_peak": ((*PLAIN, "-pthread"), ("-O3", "-pthread")),
}


class NoLimit(Exception):
    """A limit could not be measured; the text says why."""


def compiler() -> str:
    """The C compiler: $CC, or the first that is found."""
    for name in (os.environ.get("CC", ""), *COMPILERS):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise NoLimit(f"no C compiler on PATH (looked for {', '.join(COMPILERS)})")


def build(name: str, folder: Path) -> Path:
    """Compile one program into `folder`; its path. A name ending in ``_plain`` is the same source without the flags."""
    source = SOURCES / f"{name.removesuffix('_plain')}.c"
    target = folder / name
    command, problem = compiler(), ""
    for flags in FLAGS[name]:
        try:
            done = subprocess.run(
                [command, *flags, "-o", str(target), str(source), "-lm"],
                capture_output=True,
                text=True,
                timeout=COMPILE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoLimit(f"cannot compile {source.name}: {error}") from error
        if done.returncode == 0:
            return target
        problem = done.stderr.strip().splitlines()[0] if done.stderr.strip() else f"exit status {done.returncode}"
    raise NoLimit(f"{source.name} does not compile: {problem}")


def command(name: str, folder: Path, *arguments: object) -> list[str]:
    """The command that runs a program, which is compiled when it is not there yet."""
    target = folder / name
    if not target.exists():
        build(name, folder)
    return [str(target), *[str(argument) for argument in arguments]]


def result(measured: Measured) -> dict[str, Any]:
    """What a program printed. Raises NoLimit when it failed."""
    line = measured.json_line()
    if measured.exit_status != 0 or line is None:
        raise NoLimit(
            f"a program failed with exit status {measured.exit_status}: {measured.error_output.strip()[-200:]}"
        )
    return line


def fma_peak_gflops(folder: Path, threads: int, seconds: float = 0.6, best_of: int = 3) -> float:
    """Single-precision GFLOP/s of fused multiply-adds on `threads` cores.

    The best of a few tries and of one core's rate times the cores: the first is low when others are busy meanwhile, the
    second is high where two threads share a core, so a share of it is never flattered.
    """
    tries = [(count, result(measure(command("fma_peak", folder, count, seconds), limit=30.0)))
             for count in (1, threads) for _ in range(best_of)]  # fmt: skip
    return max(float(line["gflops"]) * threads / count for count, line in tries)

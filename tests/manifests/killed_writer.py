"""Runs a tool that is killed at one of its steps that touch the disk: half a write, or just before a rename.

Used as a program: `python killed_writer.py STEP TOOL ARGUMENT...` ends by SIGKILL at step STEP (0 is the first), or as
the tool does where it has fewer steps. A step is a call of `os.write`, `os.fsync`, `os.link`, `os.replace`, `os.rename`
or `os.unlink`.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

STEPS = ("write", "fsync", "link", "replace", "rename", "unlink")


def killed_at_every_step(
    arguments: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], most: int = 60
) -> Iterator[int]:
    """Runs a tool again and again, killed one step later each time; yields after each kill until it ran through."""
    for step in range(most):
        command = [sys.executable, "-B", __file__, str(step), *map(str, arguments)]
        done = subprocess.run(command, cwd=cwd, env=dict(env), capture_output=True, timeout=60, check=False)
        if done.returncode != -signal.SIGKILL:
            assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
            return
        yield step
    raise AssertionError(f"more than {most} steps")


def main() -> None:
    left = int(sys.argv[1])
    sys.argv = sys.argv[2:]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))

    def counted(name: str) -> None:
        real = getattr(os, name)

        def step(*arguments, **options):
            nonlocal left
            if name == "write" and arguments[0] in (1, 2):
                return real(*arguments, **options)
            if left == 0:
                if name == "write":
                    real(arguments[0], memoryview(arguments[1])[: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return real(*arguments, **options)

        setattr(os, name, step)

    for name in STEPS:
        counted(name)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()

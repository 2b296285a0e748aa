"""Install one hash-pinned requirements file into a virtual environment, and do nothing when that was done before.

    python3 requirements/install.py .venv requirements/test.txt

Needs only Python's standard library. Where packages come from is pip's own configuration, never this repository's: the
files hold names, versions and SHA-256 digests, and pip refuses whatever does not match.
Exit codes: 0 installed or already there, 1 pip failed, 2 this Python cannot do it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 10)


def fingerprint(requirements: Path) -> str:
    """SHA-256 over what decides the installation: the requirements' bytes, the interpreter and its version."""
    digest = hashlib.sha256(requirements.read_bytes())
    digest.update(f"\0{os.path.realpath(sys.executable)}\0{sys.version}".encode())
    return digest.hexdigest()


def interpreter(venv: Path) -> Path:
    """The environment's own Python; Windows keeps it in another folder."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def works(venv: Path) -> bool:
    """Whether the environment has pip and is of this Python; one that is half made or of another PYTHON does not."""
    if not interpreter(venv).exists():
        return False
    code = "import pip, sys; sys.stdout.write(sys.version)"
    found = subprocess.run([str(interpreter(venv)), "-c", code], capture_output=True, text=True, timeout=60)
    return found.returncode == 0 and found.stdout == sys.version


def stop(code: int, *lines: str) -> int:
    """Print what is wrong and what to do, and hand back the exit code."""
    for line in lines:
        print(f"install: {line}", file=sys.stderr)
    return code


def main(arguments: list[str]) -> int:
    """Create the environment if need be and install the file into it."""
    if len(arguments) != 2:
        return stop(2, "wrong use; expected: python3 requirements/install.py VENV REQUIREMENTS")
    if sys.version_info < OLDEST:
        found, wanted = (".".join(map(str, v[:2])) for v in (sys.version_info, OLDEST))
        return stop(2, f"found Python {found} ({sys.executable}), need {wanted} or newer", "make PYTHON=python3.12")
    venv, requirements = Path(arguments[0]), Path(arguments[1])
    if not requirements.is_file():
        return stop(2, f"no such requirements file: {requirements}")

    stamp, wanted = venv / f".installed-{requirements.stem}", fingerprint(requirements)
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted and works(venv):
        return 0
    if not works(venv):
        if importlib.util.find_spec("ensurepip") is None:
            return stop(
                2,
                f"{sys.executable} cannot make virtual environments: its module ensurepip is missing",
                "Debian, Ubuntu: apt-get install python3-venv      (as root, or with sudo before it)",
                "or name another Python: make PYTHON=python3.12",
            )
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], timeout=600)
        if made.returncode != 0:
            return stop(1, f"could not create {venv}: python3 -m venv ended with status {made.returncode}")

    print(f"install: {requirements} into {venv}", file=sys.stderr)
    command = [str(interpreter(venv)), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input"]
    command += ["--require-hashes", "--requirement", str(requirements)]
    stamp.unlink(missing_ok=True)
    if subprocess.run(command, timeout=1800).returncode != 0:
        return stop(1, f"pip could not install {requirements}; its message is above", "it ran: " + " ".join(command))
    stamp.write_text(wanted, encoding="ascii")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.TimeoutExpired as error:
        sys.exit(stop(1, f"gave up after {error.timeout:.0f} s"))
    except KeyboardInterrupt:
        sys.exit(130)

#!/usr/bin/env python3
"""Make the virtual environments of the peers that the benchmarks measure beside ours.

Installs pinned packages by name, from whatever package index pip is set up for, into DIR/sb3, DIR/jax and
DIR/pufferlib3. It changes nothing outside DIR and takes several minutes.

    python3 benchmarks/peers/make_peers.py --peers DIR [--only NAME] [--python python3.11] [--json]

Exit status: 0 all asked for are there, 1 an installation failed, 2 wrong use, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

PEERS = ("sb3", "jax", "pufferlib3")
BASE = ("wheel==0.45.1", "setuptools==80.9.0")
TORCH = "torch==2.13.0"

# The source archive of pufferlib 3.0.0: pip refuses any other bytes.
PUFFERLIB_REQUIREMENT = "pufferlib==3.0.0"
PUFFERLIB_SHA256 = "7df3a3e3f5f894d78d2a1f5374097890aec01473183e748abefe4f3faa10eaa9"
# Environments of pufferlib 3.0.0 that are compiled; the others only cost time.
PUFFERLIB_ENVIRONMENTS = ("cartpole", "squared", "breakout")
# Folders that its setup would fetch from outside the package index; it leaves them alone when they exist.
PUFFERLIB_NOT_FETCHED = ("raylib-5.5_webassembly", "box2d-web", "box2d-linux-amd64")

INSTALL_LIMIT_SECONDS = 1800


class MakeError(Exception):
    """An environment could not be made; the text says what failed and what to do."""


def run(command: list[str], log: Path, environment: dict[str, str] | None = None, fail: bool = True) -> int:
    """Run one command with its output appended to `log`; raise MakeError when it fails."""
    with log.open("a", encoding="utf-8") as out:
        out.write("$ " + " ".join(command) + "\n")
        out.flush()
        try:
            done = subprocess.run(
                command,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=environment,
                timeout=INSTALL_LIMIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise MakeError(f"{command[0]} took more than {INSTALL_LIMIT_SECONDS} s; its output is in {log}") from error
        except OSError as error:
            raise MakeError(f"cannot run {command[0]}: {error}") from error
    if fail and done.returncode != 0:
        raise MakeError(f"exit status {done.returncode} from: {' '.join(command)}; its output is in {log}")
    return done.returncode


def pip(folder: Path, log: Path, *arguments: str, environment: dict[str, str] | None = None, fail: bool = True) -> int:
    """Run the pip of one virtual environment."""
    command = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *arguments]
    return run(command, log, environment, fail)


def make_sb3(folder: Path, log: Path) -> None:
    """stable-baselines3 and gymnasium; torch is pinned first, so that nothing replaces it."""
    pip(folder, log, "install", TORCH)
    pip(folder, log, "install", "gymnasium==1.4.0", "cloudpickle", "pandas", "matplotlib", TORCH)
    pip(folder, log, "install", "--no-deps", "stable-baselines3==2.9.2")


def make_jax(folder: Path, log: Path) -> None:
    """JAX and the gymnax environments."""
    pip(folder, log, "install", "jax==0.10.2", "gymnax==1.0.1", "optax", "six")  # gymnax imports six unasked


def path_without_nvcc() -> str:
    """PATH less the folders that hold nvcc: with one, pufferlib 3.0.0's setup asks for CUDA and stops."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder and not (Path(folder) / "nvcc").exists())


def unpack_pufferlib(folder: Path, work: Path, log: Path) -> Path:
    """Have pip fetch, verify and unpack the source archive; return the unpacked folder.

    pip unpacks, then asks the archive for its metadata; in an environment that has no numpy yet this fails at the
    first import of its setup, before the setup fetches anything. `--no-clean` keeps what was unpacked.
    """
    requirement = work / "pufferlib.txt"
    requirement.write_text(f"{PUFFERLIB_REQUIREMENT} --hash=sha256:{PUFFERLIB_SHA256}\n", encoding="utf-8")
    temporary = work / "unpacked"
    temporary.mkdir()
    pip(
        folder,
        log,
        "download",
        "--no-deps",
        "--no-build-isolation",
        "--no-clean",
        "--require-hashes",
        "--dest",
        str(work),
        "-r",
        str(requirement),
        environment={**os.environ, "TMPDIR": str(temporary)},
        fail=False,
    )
    for setup in sorted(temporary.rglob("setup.py")):
        if (setup.parent / "pufferlib" / "ocean").is_dir():
            return setup.parent
    raise MakeError(f"pip left no unpacked source of {PUFFERLIB_REQUIREMENT}; its output is in {log}")


def make_pufferlib3(folder: Path, log: Path) -> None:
    """pufferlib 3.0.0 from its source archive, with the environments that are measured."""
    work = folder / "build"
    work.mkdir()
    source = unpack_pufferlib(folder, work, log)
    pip(folder, log, "install", TORCH)
    pip(folder, log, "install", "--no-build-isolation", "gym==0.23.0")
    pip(
        folder,
        log,
        "install",
        "shimmy[gym-v21]==2.0.1",
        "psutil",
        "rich",
        "rich_argparse",
        "imageio",
        "pyro-ppl==1.9.2",
        "pynvml",
        "heavyball==1.7.2",
        TORCH,
    )
    # shimmy asks for later ones; pufferlib 3.0.0 does not work with them.
    pip(folder, log, "install", "--no-deps", "numpy==1.26.4", "gymnasium==0.29.1", "pettingzoo==1.24.1")
    for name in PUFFERLIB_NOT_FETCHED:
        (source / name).mkdir(exist_ok=True)
    for binding in sorted((source / "pufferlib" / "ocean").rglob("binding.c")):
        if binding.parent.name not in PUFFERLIB_ENVIRONMENTS:
            binding.unlink()
    pip(
        folder,
        log,
        "install",
        "--no-build-isolation",
        "--no-deps",
        str(source),
        environment={**os.environ, "PATH": path_without_nvcc()},
    )
    shutil.rmtree(work)


MAKERS = {"sb3": make_sb3, "jax": make_jax, "pufferlib3": make_pufferlib3}
PROOFS = {
    "sb3": "import stable_baselines3, gymnasium",
    "jax": "import jax, gymnax, optax",
    "pufferlib3": "import pufferlib.pufferl, pufferlib.ocean.cartpole.binding",
}


def make(name: str, peers: Path, python: str) -> str:
    """Make one peer's environment; return 'made' or, when it works already, 'there'."""
    folder = peers / name
    log = peers / f"{name}.log"
    interpreter = folder / "bin" / "python"
    proof = [str(interpreter), "-c", PROOFS[name]]
    if interpreter.exists():
        if run(proof, log, fail=False) == 0:
            return "there"
        raise MakeError(f"{folder} exists but does not work; remove it and run this again (see {log})")
    run([python, "-m", "venv", str(folder)], log)
    pip(folder, log, "install", *BASE)
    MAKERS[name](folder, log)
    run(proof, log)
    return "made"


def main() -> int:
    """Make what was asked for."""
    parser = argparse.ArgumentParser(description="Make the virtual environments of the peers for the benchmarks.")
    parser.add_argument("--peers", type=Path, required=True, help="folder for the environments (created when missing)")
    parser.add_argument("--only", choices=PEERS, action="append", help="make this one only (may be given again)")
    parser.add_argument("--python", default="python3.11", help="interpreter to make them with (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args()
    python = shutil.which(options.python)
    if python is None:
        print(f"make_peers: no {options.python} on PATH; name another one with --python", file=sys.stderr)
        return 2
    peers: Path = options.peers.resolve()
    results: dict[str, str] = {}
    status = 0
    try:
        peers.mkdir(parents=True, exist_ok=True)
        for name in options.only or PEERS:
            print(f"{name}: installing, see {peers / (name + '.log')}", file=sys.stderr, flush=True)
            try:
                results[name] = make(name, peers, python)
            except MakeError as error:
                results[name] = f"failed: {error}"
                status = 1
    except OSError as error:
        print(f"make_peers: {peers}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if options.json:
        print(json.dumps({"peers": str(peers), "results": results}))
    else:
        for name, result in results.items():
            print(f"{name}: {result}")
    return status


if __name__ == "__main__":
    sys.exit(main())

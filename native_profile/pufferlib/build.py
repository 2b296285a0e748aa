"""Compiles the engine and environments on first use, into a cache keyed by sources, compiler, flags and processor.

A library in the cache stands in a folder named by its key, beside a record of its digest; it is loaded only if its
bytes still have that digest.
A build happens in a folder of its own that is renamed into place, so an interrupted one leaves nothing that could be
taken for a library.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .compiler import Compiler, find_compiler, processor_identity
from .cores import usable_cores
from .errors import MISUSE, PufferError

PACKAGE = Path(__file__).resolve().parent
CORE = PACKAGE / "core"
OCEAN = PACKAGE / "ocean"
_INCLUDES = ("-I", str(CORE), "-I", str(CORE / "include"))
_COMMON = (
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wall",
    "-Wextra",
)
# Environments must compute the same in every build, language and sanitizer, so no multiplication is fused with an
# addition. GCC 12 fuses alternating sums and differences in spite of -ffp-contract=off, so on x86 it gets no such
# instruction either, which AVX-512 cannot do without.
_UNFUSED = ("-mno-fma", "-mno-avx512f") if os.uname().machine == "x86_64" else ()
_ENVIRONMENT_FLAGS = ("-ffp-contract=off", *_UNFUSED)
_SECONDS = 300.0  # for one compiler run


@dataclass(frozen=True)
class Library:
    """A compiled library in the cache. ``seconds`` is what building it took now: 0 when it was there."""

    path: Path
    sha256: str
    sources_sha256: str
    seconds: float


def cache_folder() -> Path:
    """``$PUFFER_CACHE``, or the user's cache folder."""
    named = os.environ.get("PUFFER_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pufferlib-native"


def engine_sources() -> list[Path]:
    """Everything that the engine's library is made from, headers included, in a fixed order."""
    return sorted(p for p in CORE.rglob("*") if p.suffix in (".h", ".cpp"))


def build_engine() -> Library:
    """The trainer's library."""
    units = [p for p in engine_sources() if p.suffix == ".cpp" and p.name != "environment_library.cpp"]
    return _build("engine", units, engine_sources(), ())


def build_environment(header: Path) -> Library:
    """The library of the environment in ``header`` (``<name>/<name>.h``)."""
    header = header.resolve()
    sources = [*sorted(p for p in header.parent.iterdir() if p.suffix == ".h"), CORE / "environment_library.cpp"]
    sources += [p for p in engine_sources() if p.suffix == ".h"]
    flags = (*_ENVIRONMENT_FLAGS, f'-DENV_HEADER="{header}"')
    return _build(f"environment-{header.stem}", [CORE / "environment_library.cpp"], sources, flags)


def digest_of_files(files: list[Path]) -> str:
    """SHA-256 over names and contents, in the order given."""
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def _build(name: str, units: list[Path], sources: list[Path], flags: tuple[str, ...]) -> Library:
    compiler = find_compiler()
    tuned = (*_COMMON, _native_flag(), *flags)
    sources_sha256 = digest_of_files(sources)
    # What a flag says of places is left out: the contents are in the digest, where they stand does not matter.
    options = " ".join(f for f in tuned if not f.startswith("-DENV_HEADER"))
    key = hashlib.sha256(
        "\n".join([name, sources_sha256, compiler.identity, options, processor_identity()]).encode()
    ).hexdigest()
    place = cache_folder() / f"{name}-{key[:24]}"
    found = _cached(place, sources_sha256)
    if found:
        return found
    started = time.perf_counter()
    _compile(compiler, name, units, tuned, place, sources_sha256)
    built = _cached(place, sources_sha256)
    if built is None:
        raise PufferError(
            f"the library that was just built in {place} does not match its record; remove that folder and try again"
        )
    return Library(built.path, built.sha256, sources_sha256, time.perf_counter() - started)


def _native_flag() -> str:
    return "-mcpu=native" if os.uname().machine in ("arm64", "aarch64") else "-march=native"


def _cached(place: Path, sources_sha256: str) -> Library | None:
    library, record = place / "library.so", place / "record.json"
    if not place.exists():
        return None
    try:
        expected = json.loads(record.read_bytes())["sha256"]
        content = library.read_bytes()
    except (OSError, ValueError, KeyError, TypeError):
        shutil.rmtree(place, ignore_errors=True)
        return None
    if hashlib.sha256(content).hexdigest() != expected:
        # Changed since it was built: never loaded, built again.
        shutil.rmtree(place, ignore_errors=True)
        return None
    return Library(library, expected, sources_sha256, 0.0)


def _compile(
    compiler: Compiler, name: str, units: list[Path], flags: tuple[str, ...], place: Path, sources_sha256: str
) -> None:
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=place.parent))
    except OSError as error:
        raise PufferError(
            f"the build cache {place.parent} cannot be written: {error.strerror}; "
            "name another folder: PUFFER_CACHE=/some/folder",
            MISUSE,
        ) from error
    try:
        jobs = [
            (unit, (*compiler.command, *flags, *_INCLUDES, "-c", str(unit), "-o", str(folder / (unit.stem + ".o"))))
            for unit in units
        ]
        _run_all(jobs, usable_cores())
        objects = [str(folder / (unit.stem + ".o")) for unit in units]
        library = folder / "library.so"
        link = (*compiler.command, "-shared", "-pthread", *objects, "-o", str(library))
        _run_all([(library, link)], 1)
        for made in objects:
            os.unlink(made)
        record = {"sha256": hashlib.sha256(library.read_bytes()).hexdigest(), "sources_sha256": sources_sha256}
        (folder / "record.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
        try:
            os.rename(folder, place)
        except OSError:
            # Somebody else built the same library meanwhile; theirs is as good.
            if not (place / "library.so").is_file():
                raise
    except OSError as error:
        raise PufferError(f"building {name} in {place.parent} failed: {error.strerror or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_all(jobs: list[tuple[Path, tuple[str, ...]]], at_once: int) -> None:
    """Runs compiler commands, so many at a time; the first failure ends them all."""
    waiting = list(jobs)
    running: list[tuple[Path, tuple[str, ...], subprocess.Popen[bytes], IO[bytes]]] = []
    deadline = time.monotonic() + _SECONDS
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(_start(*waiting.pop(0)))
            unit, command, process, log = running[0]
            try:
                status = process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise PufferError(f"compiling {unit.name} took over {_SECONDS:.0f} s and was stopped") from None
            running.pop(0)
            log.seek(0)
            text = log.read(8000).decode("utf-8", "replace")
            log.close()
            if status != 0:
                raise PufferError(f"{unit.name} does not compile (status {status}):\n{text.rstrip()}", MISUSE)
            made = Path(command[command.index("-o") + 1])
            if not made.is_file():
                raise PufferError(f"the compiler {command[0]} said nothing and made no {made.name}", MISUSE)
    finally:
        for _, _, process, log in running:
            process.kill()
            process.wait()
            log.close()


def _start(unit: Path, command: tuple[str, ...]) -> tuple[Path, tuple[str, ...], subprocess.Popen[bytes], IO[bytes]]:
    log: IO[bytes] = tempfile.TemporaryFile()
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    except OSError as error:
        log.close()
        raise PufferError(f"the compiler {command[0]} cannot be run: {error.strerror}", MISUSE) from error
    return unit, command, process, log

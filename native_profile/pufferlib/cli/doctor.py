"""``puffer doctor``: what this machine has, what it lacks, and the command that mends it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

from ..build import build_engine, cache_folder
from ..compiler import find_compiler, find_nvcc
from ..cores import usable_cores
from ..engine import load_engine
from ..errors import PufferError

if TYPE_CHECKING:
    from . import Parser

HELP = """Say what this machine has and lacks for training here. Exits 1 when something needed is missing."""


def run(parser: Parser, words: list[str]) -> int:
    """Looks at everything that a run depends on; builds the engine as the last and decisive check."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args(words)
    findings = [_python(), _compiler(), _cores(), _cache(), _engine(), _cuda()]
    if arguments.json:
        print(json.dumps({"findings": findings, "ok": all(f["ok"] for f in findings)}, indent=2))
    else:
        for finding in findings:
            print(f"{'ok ' if finding['ok'] else 'NO '} {finding['what']:10}{finding['found']}")
            if finding.get("fix"):
                print(f"    fix: {finding['fix']}")
    return 0 if all(f["ok"] for f in findings) else 1


def _finding(what: str, ok: bool, found: str, fix: str = "") -> dict[str, Any]:
    return {"what": what, "ok": ok, "found": found, "fix": fix}


def _python() -> dict[str, Any]:
    version = ".".join(map(str, sys.version_info[:3]))
    return _finding(
        "python",
        sys.version_info >= (3, 10),
        version,
        "" if sys.version_info >= (3, 10) else "use Python 3.10 or newer",
    )


def _compiler() -> dict[str, Any]:
    try:
        return _finding("compiler", True, " ".join(find_compiler().command))
    except PufferError as error:
        return _finding("compiler", False, "none", str(error))


def _cores() -> dict[str, Any]:
    return _finding("cores", True, f"{usable_cores()} usable of {os.cpu_count()}")


def _cache() -> dict[str, Any]:
    folder = cache_folder()
    base = folder
    while not base.exists() and base != base.parent:
        base = base.parent
    free = shutil.disk_usage(base).free
    ok = os.access(base, os.W_OK) and free > 64 << 20
    return _finding(
        "cache",
        ok,
        f"{folder}, {free >> 20} MiB free",
        "" if ok else "PUFFER_CACHE=/a/writable/folder with 64 MiB free",
    )


def _engine() -> dict[str, Any]:
    try:
        built = build_engine()
        library, _ = load_engine()
        took = f"built in {built.seconds:.1f} s" if built.seconds else "in the cache"
        return _finding("engine", True, f"{took}, {library.puffer_engine_build().decode()}")
    except (PufferError, OSError) as error:
        return _finding("engine", False, "does not build or load", str(error))


def _cuda() -> dict[str, Any]:
    # Nothing here trains on CUDA yet, so its absence is no fault.
    return _finding("nvcc", True, find_nvcc() or "none (not needed: this engine trains on the CPU)")

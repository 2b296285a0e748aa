"""The system itself: Python, kind of system, programs, accelerators, and what keeps a child apart."""

from __future__ import annotations

import os
import shutil
import sys

from .. import text
from ..process import file_isolation, network_isolation, process_tree
from .row import COULD_NOT, LOW, MISSING, OK, Request, Row
from .trial import run

OLDEST_PYTHON = (3, 10)


def check(request: Request) -> list[Row]:
    """Python, system, programs, accelerators and isolation."""
    return [_python(), _system(), *_programs(), *_cuda(request), *_isolation()]


def _python() -> Row:
    version = ".".join(str(part) for part in sys.version_info[:3])
    found = f"{sys.implementation.name} {version} ({sys.executable})"
    if sys.version_info < OLDEST_PYTHON:
        return Row("python", MISSING, found, "use Python 3.10 or newer")
    return Row("python", OK, found)


def _system() -> Row:
    found = f"{os.uname().sysname} {os.uname().release}, {os.uname().machine}"
    if not sys.platform.startswith("linux"):
        return Row("system", MISSING, f"{found}: plans can be checked here, training is launched on Linux only")
    if not process_tree.VISIBLE:
        return Row("system", MISSING, f"{found}: /proc is not there, so a child cannot be watched", "mount /proc")
    return Row("system", OK, found)


def _programs() -> list[Row]:
    uses = (("git", "only to develop"), ("ssh-keygen", "only to sign approvals"), ("make", "only to run the tests"))
    installs = {"git": "git", "ssh-keygen": "openssh-client", "make": "make"}
    rows = []
    for name, use in uses:
        path = shutil.which(name)
        fix = f"apt-get install {installs[name]}   (or your system's package of that name)"
        rows.append(Row(name, OK, path) if path else Row(name, LOW, f"not found ({use})", fix))
    return rows


def _cuda(request: Request) -> list[Row]:
    devices = request.machine.visible("cuda")
    rows = []
    driver = _driver()
    if devices:
        names = ", ".join(
            text.escaped(device.name, 60) + (f" {text.byte_count(device.memory_bytes)}" if device.memory_bytes else "")
            for device in devices[:8]
        )
        rows.append(Row("cuda", OK, f"{len(devices)} devices: {names}; driver {driver or 'unknown'}"))
    elif driver:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        found = f"driver {driver}, no device" + (" (CUDA_VISIBLE_DEVICES hides them)" if hidden is not None else "")
        rows.append(Row("cuda", LOW, found, "unset CUDA_VISIBLE_DEVICES" if hidden is not None else ""))
    else:
        rows.append(Row("cuda", LOW, "no driver and no device: training runs on the CPU"))
    path = shutil.which("nvcc")
    if path is None:
        rows.append(Row("nvcc", LOW, "not found (nothing here needs it yet)"))
        return rows
    outcome = run([path, "--version"], 5.0)
    release = [word for line in outcome.output.splitlines() for word in line.split(", ") if word.startswith("release")]
    if outcome.exit_status != 0:
        rows.append(Row("nvcc", COULD_NOT, f"{path}: {outcome.why or text.escaped(outcome.output, 200)}"))
    else:
        rows.append(Row("nvcc", OK, f"{path}, {text.escaped(release[0], 40) if release else 'version unknown'}"))
    return rows


def _driver() -> str:
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8", errors="replace") as stream:
            words = stream.read(400).split()
    except OSError:
        return ""
    return next((word for word in words if word[:1].isdigit() and "." in word), "of unknown version")


def _isolation() -> list[Row]:
    rows = []
    for name, reason, good in (
        ("no-network", network_isolation.unavailable(), "a launch can be cut off from the network"),
        ("write-bounds", file_isolation.unavailable(), "a launch can be kept from writing elsewhere (Landlock)"),
    ):
        rows.append(Row(name, LOW, reason) if reason else Row(name, OK, good))
    return rows

"""Facts about the machine that a speed means nothing without, and how busy others keep it while we measure.

Reads /proc and /sys, so it works on Linux; elsewhere it gives what Python knows and leaves the rest out. It does not
change anything: no priorities, no affinity, no frequency.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VECTOR_FLAGS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "asimd", "sve")
COMPILERS = ("c++", "g++", "clang++")


def read_text(path: str | Path) -> str:
    """A small file's text, or nothing when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1_000_000)
    except OSError:
        return ""


def fields_of(text: str) -> dict[str, str]:
    """First value of every ``name : value`` line."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value.strip())
    return fields


def usable_cores() -> float:
    """Cores that this process may use: its affinity, or less where a control group limits its time."""
    try:
        cores = float(len(os.sched_getaffinity(0)))
    except AttributeError:
        cores = float(os.cpu_count() or 1)
    quota, _, period = read_text("/sys/fs/cgroup/cpu.max").strip().partition(" ")
    if quota.isdigit() and period.isdigit() and int(period) > 0:
        cores = min(cores, int(quota) / int(period))
    return cores


def caches() -> dict[str, str]:
    """Sizes of the first core's caches, such as ``{"L1d": "32K"}``."""
    sizes: dict[str, str] = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind = read_text(index / "level").strip(), read_text(index / "type").strip()
        size = read_text(index / "size").strip()
        if level and size:
            sizes[f"L{level}" + {"Data": "d", "Instruction": "i"}.get(kind, "")] = size
    return sizes


def compiler_version(names: tuple[str, ...] = COMPILERS) -> str | None:
    """First line that the first compiler found prints about itself."""
    for name in names:
        found = shutil.which(name)
        if found is None:
            continue
        try:
            done = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.splitlines()[0].strip()
    return None


def load_averages() -> list[float]:
    """Load over the last 1, 5 and 15 minutes."""
    try:
        return [round(load, 2) for load in os.getloadavg()]
    except OSError:
        return []


def describe() -> dict[str, Any]:
    """The machine as plain values, for a JSON report."""
    cpu = fields_of(read_text("/proc/cpuinfo"))
    memory = fields_of(read_text("/proc/meminfo")).get("MemTotal", "")
    flags = set((cpu.get("flags") or cpu.get("Features") or "").split())
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "cpu": cpu.get("model name") or platform.processor() or platform.machine(),
        "cpu_family_model_stepping": [cpu.get(key, "?") for key in ("cpu family", "model", "stepping")],
        "architecture": platform.machine(),
        "vector_instructions": [flag for flag in VECTOR_FLAGS if flag in flags],
        "cores": os.cpu_count(),
        "cores_usable": usable_cores(),
        "virtual_machine": "hypervisor" in flags,
        "caches": caches(),
        "memory_gib": round(int(memory.split()[0]) / 2**20, 1) if memory else None,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "compiler": compiler_version(),
        "load_averages": load_averages(),
    }


def one_line(machine: dict[str, Any]) -> str:
    """The machine in a line, as stands under a table."""
    vectors = machine["vector_instructions"]
    widest = next((name for name in ("avx512f", "avx2", "sve", "asimd", "sse4_2") if name in vectors), None)
    parts = [
        f"{machine['cores_usable']:g} cores of {machine['cpu']}" + (" (virtual)" if machine["virtual_machine"] else ""),
        widest,
        f"{machine['memory_gib']} GiB" if machine["memory_gib"] else None,
        machine["compiler"],
        f"Python {machine['python']}",
        machine["date"][:10],
    ]
    return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class CpuTime:
    """Seconds since the machine started, summed over its cores."""

    busy: float
    stolen: float


def cpu_time() -> CpuTime | None:
    """How long the machine's cores have worked, and how long the hypervisor gave them to others."""
    fields = read_text("/proc/stat").partition("\n")[0].split()
    if len(fields) < 9 or fields[0] != "cpu":
        return None
    user, nice, system, _, _, interrupt, soft_interrupt, stolen = (int(field) for field in fields[1:9])
    tick = os.sysconf("SC_CLK_TCK")
    return CpuTime((user + nice + system + interrupt + soft_interrupt) / tick, stolen / tick)


def busy_cores(seconds: float, sleep: Callable[[float], None] = time.sleep) -> float | None:
    """Cores kept busy, on average over `seconds` from now."""
    start, before = time.monotonic(), cpu_time()
    sleep(seconds)
    after = cpu_time()
    elapsed = time.monotonic() - start
    if before is None or after is None or elapsed <= 0:
        return None
    return (after.busy - before.busy) / elapsed


def wait_until_quiet(most_cores: float, wait_seconds: float, sample_seconds: float = 0.5) -> bool:
    """Wait until at most `most_cores` are busy, no longer than `wait_seconds`; whether that was reached."""
    end = time.monotonic() + wait_seconds
    while True:
        busy = busy_cores(sample_seconds)
        if busy is None or busy <= most_cores:
            return busy is not None
        if time.monotonic() >= end:
            return False

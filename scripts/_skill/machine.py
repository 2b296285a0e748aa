"""What this process may use of the machine: cores by affinity and cgroup, memory by cgroup."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Cores that this process may keep busy: its affinity, cut by the cgroup's quota (rounded up)."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    for folder in _cgroup_folders():
        words = _words(os.path.join(folder, "cpu.max"))
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]) > 0:
            cores = min(cores, max(1, -(-int(words[0]) // int(words[1]))))
    return cores


def usable_memory() -> int | None:
    """Bytes of memory that this process may use at most; None where the system does not say."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")] if hasattr(os, "sysconf") else []
    for folder in _cgroup_folders():
        words = _words(os.path.join(folder, "memory.max"))
        if len(words) == 1 and words[0].isdigit():
            limits.append(int(words[0]))
    return min(limits) if limits else None


def _cgroup_folders() -> list[str]:
    """This process's cgroup (version 2) and those above it; the tightest limit of all counts."""
    words = [line.split("::", 1)[1] for line in _text("/proc/self/cgroup").splitlines() if line.startswith("0::")]
    if not words:
        return []
    path = os.path.normpath("/sys/fs/cgroup/" + words[0].lstrip("/"))
    folders = []
    while path.startswith("/sys/fs/cgroup"):
        folders.append(path)
        path = os.path.dirname(path)
    return folders


def _words(path: str) -> list[str]:
    return _text(path).split()


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            return stream.read(4096)
    except OSError:
        return ""

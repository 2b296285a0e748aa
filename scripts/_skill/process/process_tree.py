"""Looks at the child's process tree through /proc; on systems without /proc it sees nothing and says so."""

from __future__ import annotations

import os

VISIBLE = os.path.isdir("/proc/self/task")
UNKNOWN_BYTES = 1 << 60
"""What a folder counts that cannot be looked into."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """From now on a descendant whose parent ends becomes this process's child, so that none gets away."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(signal_number: int, parent: int) -> None:
    """In a new child: asks for a signal when the parent dies, and leaves at once if it is dead already."""
    _prctl(_PR_SET_PDEATHSIG, signal_number)
    if os.getppid() != parent:
        os._exit(1)


def descendants(pid: int) -> list[int]:
    """The processes below `pid`, nearest first."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        children = _children(waiting.pop())
        found.extend(children)
        waiting.extend(children)
    return found


def memory_bytes(pids: list[int]) -> int:
    """Resident bytes of processes; pages that they share are counted for each."""
    total = 0
    for pid in pids:
        words = _read(f"/proc/{pid}/statm").split()
        total += int(words[1]) * _PAGE if len(words) > 1 else 0
    return total


def own_memory_bytes(pids: list[int]) -> int:
    """Bytes of processes with each shared page divided among those that share it, and what was swapped out."""
    total = 0
    for pid in pids:
        counted = 0
        for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
            name, _, words = line.partition(":")
            if name in ("Pss", "SwapPss"):
                counted += int(words.split()[0]) << 10
        # A process that may not be looked at that closely counts in full.
        total += counted or memory_bytes([pid])
    return total


def disk_bytes(folder: str) -> int:
    """Bytes on disk of everything below a folder, without following links; what is gone by now counts nothing."""
    total = 0
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError:
            # What cannot be looked into may hold anything.
            total += UNKNOWN_BYTES
    return total


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        found.extend(int(word) for word in _read(f"/proc/{pid}/task/{thread}/children").split())
    return found


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            return stream.read(65536)
    except OSError:
        return ""


def _prctl(option: int, value: int) -> None:
    if VISIBLE:
        import ctypes

        # prctl takes its arguments as unsigned long, whatever their number.
        ctypes.CDLL(None).prctl(option, *(ctypes.c_ulong(word) for word in (value, 0, 0, 0)))

"""What may be used: cores, memory, shared memory, disk, and the limits of this process that bite."""

from __future__ import annotations

import os
import resource

from .. import text
from .row import COULD_NOT, LOW, MISSING, OK, Request, Row

LOW_MEMORY = 1 << 30
LOW_SHARED_MEMORY = 256 << 20
LOW_DISK = 1 << 30
NEEDED_DISK = 64 << 20

_NONE = resource.RLIM_INFINITY
_LIMITS = (
    ("open files", "RLIMIT_NOFILE", 1024, "ulimit -n 4096"),
    ("processes", "RLIMIT_NPROC", 256, "ulimit -u 4096"),
    ("address space, bytes", "RLIMIT_AS", 8 << 30, "ulimit -v unlimited"),
    ("data, bytes", "RLIMIT_DATA", 4 << 30, "ulimit -d unlimited"),
    ("size of a file, bytes", "RLIMIT_FSIZE", 1 << 30, "ulimit -f unlimited"),
    ("processor seconds", "RLIMIT_CPU", 86400, "ulimit -t unlimited"),
    ("stack, bytes", "RLIMIT_STACK", 1 << 20, "ulimit -s 8192"),
)
"""Name, limit, the least that does not bite, and the command that raises it."""


def check(request: Request) -> list[Row]:
    """Cores, memory, shared memory, disk, limits."""
    return [_cores(request), _memory(request), _shared_memory(request), _disk(request), _temporary(), *_limits()]


def _cores(request: Request) -> Row:
    usable, there = request.machine.cores, os.cpu_count() or 1
    return Row("cores", OK, f"{usable} usable of {there}, by affinity and control group")


def _memory(request: Request) -> Row:
    limit = request.machine.memory_bytes
    if limit is None:
        return Row("memory", COULD_NOT, "the system does not say")
    state = LOW if limit < LOW_MEMORY else OK
    fix = "give the container or control group more memory, or plan smaller batches" if state == LOW else ""
    return Row("memory", state, f"at most {text.byte_count(limit)}, by machine and control group", fix)


def _shared_memory(request: Request) -> Row:
    free = request.machine.shared_memory_free_bytes
    if free is None:
        return Row("shared-memory", LOW, "/dev/shm is not there: environments cannot run in processes")
    if free < LOW_SHARED_MEMORY:
        fix = "docker run --shm-size=1g, or mount -o remount,size=1G /dev/shm"
        return Row("shared-memory", LOW, f"{text.byte_count(free)} free in /dev/shm", fix)
    return Row("shared-memory", OK, f"{text.byte_count(free)} free in /dev/shm")


def _disk(request: Request) -> Row:
    free = request.machine.disk_free_bytes
    if free is None:
        return Row("disk", COULD_NOT, f"cannot look at {text.escaped(request.folder)}")
    found = f"{text.byte_count(free)} free in {text.escaped(os.path.abspath(request.folder))}"
    if not os.access(request.folder, os.W_OK):
        return Row("disk", MISSING, f"{found}, and it cannot be written to", "work in a folder that you may write to")
    if free < NEEDED_DISK:
        return Row("disk", MISSING, found, "free space, or work in another folder")
    return Row("disk", LOW if free < LOW_DISK else OK, found, "free space" if free < LOW_DISK else "")


def _temporary() -> Row:
    """The folder that the engine is built into, or the nearest one above it that exists."""
    named = os.environ.get("PUFFER_CACHE") or os.environ.get("XDG_CACHE_HOME")
    folder = os.path.abspath(named or os.path.join(os.path.expanduser("~"), ".cache"))
    there = folder
    while not os.path.isdir(there) and os.path.dirname(there) != there:
        there = os.path.dirname(there)
    shown = text.escaped(folder)
    if os.access(there, os.W_OK | os.X_OK):
        return Row("cache", OK, f"{shown} can hold the built engine")
    return Row("cache", MISSING, f"{shown} cannot be written to", "PUFFER_CACHE=/a/folder/that/can")


def _limits() -> list[Row]:
    rows = []
    for name, limit, least, command in _LIMITS:
        number = getattr(resource, limit, None)
        if number is None:
            continue
        soft, hard = resource.getrlimit(number)
        if soft == _NONE or soft >= least:
            continue
        fix = (
            command if hard == _NONE or hard >= least else f"{command}   (the hard limit is {hard}: ask whoever set it)"
        )
        rows.append(Row(f"limit of {name}", LOW, f"{soft}, and less than {least} can bite", fix))
    return rows or [Row("limits", OK, "none that bites")]

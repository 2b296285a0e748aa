"""Shared memory of its own for a child: an empty /dev/shm that nobody else sees and that ends with it (Linux).

Locks, queues and shared arrays of multiprocessing are files there, so a child that may not write there cannot use them.
"""

from __future__ import annotations

import os
import sys

from . import network_isolation

FOLDER = "/dev/shm"
_CLONE_NEWNS = 0x20000
_MS_PRIVATE_ALL = 0x40000 | 0x4000
_MS_NOSUID_NODEV_NOEXEC = 2 | 4 | 8


def available() -> bool:
    """Whether a child can have a /dev/shm of its own here. Tried in a child that ends at once."""
    if not sys.platform.startswith("linux") or not os.path.isdir(FOLDER):
        return False
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            network_isolation.isolate()
            isolate(1)
            status = 0
        except OSError:
            status = 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def isolate(megabytes: int) -> None:
    """Gives the calling process an empty /dev/shm; after `network_isolation.isolate`, which brings the right to.

    `megabytes` bounds what may be in it. Raises OSError where the kernel refuses.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)

    def succeed(answer: int) -> None:
        if answer != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    succeed(libc.unshare(ctypes.c_int(_CLONE_NEWNS)))
    # First nothing of what follows may reach the mounts of others.
    succeed(libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_PRIVATE_ALL), None))
    flags = ctypes.c_ulong(_MS_NOSUID_NODEV_NOEXEC)
    succeed(libc.mount(b"tmpfs", FOLDER.encode(), b"tmpfs", flags, f"size={megabytes}m,mode=1777".encode()))

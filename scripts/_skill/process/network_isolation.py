"""No network for a child: a network namespace of its own, with nothing in it but its loopback (Linux).

What it does not cover: sockets in the file system (such as a container engine's) are files, and stay reachable for
whoever may open them. Where the kernel allows no namespace, `unavailable` says why, and the caller has to say so.
"""

from __future__ import annotations

import os
import sys

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_AF_INET = 2
_SOCK_DGRAM = 2
_SIOCSIFFLAGS = 0x8914
_IFF_UP_RUNNING = 0x1 | 0x40


def unavailable() -> str | None:
    """Why a child cannot be cut off from the network here; None where it can. Tried in a child that ends at once."""
    if not sys.platform.startswith("linux"):
        return f"network namespaces exist on Linux only, this is {sys.platform}"
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            isolate()
        except OSError as error:
            os.write(write, (error.strerror or str(error)).encode()[:200])
        finally:
            os._exit(0)
    os.close(write)
    try:
        with open(read, "rb") as stream:
            reason = stream.read(200).decode("utf-8", "replace")
    finally:
        os.waitpid(pid, 0)
    return f"the kernel refuses a network namespace: {reason}" if reason else None


def isolate() -> None:
    """Moves the calling process (one thread, a child between fork and exec) into an empty network; raises OSError."""
    user, group = os.getuid(), os.getgid()
    # Someone privileged needs no user namespace, in which files of other users would belong to nobody.
    if _unshare(_CLONE_NEWNET) != 0:
        if _unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
            import ctypes

            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        for name, words in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            handle = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(handle, words.encode())
            finally:
                os.close(handle)
    _loopback_up()


def _unshare(flags: int) -> int:
    import ctypes

    return int(ctypes.CDLL(None, use_errno=True).unshare(ctypes.c_int(flags)))


def _loopback_up() -> None:
    """Processes of one run may talk to one another over 127.0.0.1."""
    import ctypes
    import struct

    # Not with Python's socket module: importing it takes longer than all of this.
    libc = ctypes.CDLL(None, use_errno=True)
    handle = libc.socket(_AF_INET, _SOCK_DGRAM, 0)
    if handle < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    try:
        request = struct.pack("16sH14s", b"lo", _IFF_UP_RUNNING, b"")
        if libc.ioctl(handle, ctypes.c_ulong(_SIOCSIFFLAGS), ctypes.c_char_p(request)) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(handle)

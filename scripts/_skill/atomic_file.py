"""Files that are either whole or not there: temporary name, write, fsync, rename, fsync of the folder."""

from __future__ import annotations

import os
from collections.abc import Callable

from .findings import COULD_NOT, PROBLEM, Finding, Refusal


def create(path: str, data: bytes, sync_name: bool = True) -> None:
    """Writes a new file; one that exists is never replaced (Refusal, exit 1).

    `sync_name` False leaves syncing the folder to a later write in the same folder.
    """
    create_streamed(path, lambda handle: write_all(handle, data), sync_name)


def create_streamed(path: str, write: Callable[[int], None], sync_name: bool = True) -> None:
    """The same for data that `write` writes to a handle (open for reading, too), piece by piece.

    What `write` raises leaves nothing behind; OSError becomes a Refusal (exit 2).
    """
    temporary = _written(path, write)
    try:
        # A hard link fails where the name exists; a rename would replace it.
        os.link(temporary, path)
    except FileExistsError:
        raise Refusal(
            Finding(
                "file.exists", "the file exists and is never replaced", path, fix="choose another name or remove it"
            ),
            exit_status=PROBLEM,
        ) from None
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        os.unlink(temporary)
    if sync_name:
        sync_folder(os.path.dirname(path) or ".")


def replace(path: str, data: bytes) -> None:
    """Writes a file, in place of the one of that name if there is one."""
    temporary = _written(path, lambda handle: write_all(handle, data))
    try:
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
    sync_folder(os.path.dirname(path) or ".")


def check_replaceable(path: str) -> None:
    """Refuses, before any work is done, a name that `replace` must not or cannot write: a device, a link, a folder.

    A rename over a device such as /dev/null would put a plain file in its place.
    """
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise unwritable(path, OSError("no such folder, or it may not be written"))
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
        raise Refusal(Finding("file.kind", "this is not a plain file", path, want="a plain file, named without links"))


def sync_folder(folder: str) -> None:
    """Makes the names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Writes every byte; a full disk raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def unwritable(path: str, error: OSError) -> Refusal:
    """The refusal for a file or folder that cannot be written."""
    return Refusal(
        Finding(
            "file.unwritable",
            f"cannot write: {error.strerror or error}",
            path,
            fix="free space, or work in a folder that you may write to",
        ),
        exit_status=COULD_NOT,
    )


def _written(path: str, write: Callable[[int], None]) -> str:
    """A synced temporary file beside `path`; a Refusal (exit 2) leaves nothing behind."""
    temporary = os.path.join(os.path.dirname(path) or ".", f".{os.path.basename(path)[:80]}.{os.urandom(6).hex()}.tmp")
    try:
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except (OSError, ValueError) as error:
        raise unwritable(path, error if isinstance(error, OSError) else OSError(22, str(error))) from None
    try:
        write(handle)
        os.fsync(handle)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError):
            raise unwritable(path, error) from None
        raise
    finally:
        os.close(handle)
    return temporary

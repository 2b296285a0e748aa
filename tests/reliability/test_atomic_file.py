"""A file that our tools write is whole or not there, wherever the process dies: tried at every call to the system."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from _skill import atomic_file
from _skill.findings import Refusal

CALLS = ("open", "write", "fsync", "close", "link", "unlink", "replace")
OLD, NEW = b"old " * 3000, b"new " * 5000


def dies_at(number: int, body: Callable[[], None]) -> bool:
    """Runs `body` in a child that is gone right before its `number`th call; False where it made fewer."""
    pid = os.fork()
    if pid == 0:
        left = number

        def counted(call: Callable[..., object]) -> Callable[..., object]:
            def wrapped(*arguments: object, **options: object) -> object:
                nonlocal left
                if left == 0:
                    os._exit(9)
                left -= 1
                return call(*arguments, **options)

            return wrapped

        write = os.write
        # Every write takes two calls, so that the child also dies in the middle of a file.
        os.write = lambda handle, data: write(handle, bytes(data)[: max(1, len(bytes(data)) // 2)])
        for name in CALLS:
            setattr(os, name, counted(getattr(os, name)))
        try:
            body()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


@pytest.mark.parametrize("existing", [False, True])
def test_a_replaced_file_is_the_old_or_the_new_one(tmp_path: Path, existing: bool) -> None:
    path = tmp_path / "file"
    number = 0
    seen = set()
    while True:
        path.unlink(missing_ok=True)
        if existing:
            path.write_bytes(OLD)
        died = dies_at(number, lambda: atomic_file.replace(str(path), NEW))
        content = path.read_bytes() if path.exists() else None
        assert content in ((OLD if existing else None), NEW)
        seen.add(content)
        if not died:
            break
        number += 1
    assert len(seen) == 2
    assert number > 8


def test_a_created_file_is_whole_or_not_there(tmp_path: Path) -> None:
    number = 0
    seen = set()
    while True:
        path = tmp_path / f"file{number}"
        died = dies_at(number, functools.partial(atomic_file.create, str(path), NEW))
        content = path.read_bytes() if path.exists() else None
        assert content in (None, NEW)
        seen.add(content)
        if not died:
            break
        number += 1
    assert len(seen) == 2
    assert number > 8


def test_left_overs_are_hidden_and_named_so_that_nobody_takes_them_for_the_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    for number in range(20):
        dies_at(number, lambda: atomic_file.replace(str(path), NEW))
    others = [other.name for other in tmp_path.iterdir() if other != path]
    assert others
    assert all(name.startswith(".") and name.endswith(".tmp") for name in others)


def test_only_plain_files_in_writable_folders_are_replaced(tmp_path: Path) -> None:
    """A rename over a device would put a plain file in its place."""
    (tmp_path / "plain").write_bytes(OLD)
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    os.mkfifo(tmp_path / "pipe")
    atomic_file.check_replaceable(str(tmp_path / "plain"))
    atomic_file.check_replaceable(str(tmp_path / "new"))
    for name in ("link", "pipe", "/dev/null", "."):
        with pytest.raises(Refusal) as refusal:
            atomic_file.check_replaceable(str(tmp_path / name))
        assert (refusal.value.findings[0].code, refusal.value.exit_status) == ("file.kind", 1)
    with pytest.raises(Refusal) as refusal:
        atomic_file.check_replaceable(str(tmp_path / "nowhere" / "new"))
    assert (refusal.value.findings[0].code, refusal.value.exit_status) == ("file.unwritable", 2)

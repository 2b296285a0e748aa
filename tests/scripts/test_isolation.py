"""What a child cannot do: reach a network, or write outside its folders."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from _skill.process import file_isolation, network_isolation

NO_NETWORK = pytest.mark.skipif(network_isolation.unavailable() is not None, reason="no network namespace here")
NO_LANDLOCK = pytest.mark.skipif(file_isolation.unavailable() is not None, reason="no Landlock here")


def child(program: str, prepare: Callable[[], None], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        preexec_fn=prepare,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


@NO_NETWORK
def test_an_isolated_child_sees_only_its_own_loopback(tmp_path: Path) -> None:
    program = "import socket; print(socket.if_nameindex()); s = socket.create_server(('127.0.0.1', 0)); print(s)"
    result = child(program, network_isolation.isolate, tmp_path)
    assert result.stdout.splitlines()[0] == "[(1, 'lo')]", result.stderr
    assert result.returncode == 0


@NO_NETWORK
def test_an_isolated_child_reaches_no_server_of_the_machine(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        assert child(program, lambda: None, tmp_path).returncode == 0
        refused = child(program, network_isolation.isolate, tmp_path)
    assert "ConnectionRefusedError" in refused.stderr


WRITES = {
    "a new file": "open(there + '/new', 'w')",
    "an old file": "open(there + '/old', 'a')",
    "cutting a file": "import os; os.truncate(there + '/old', 0)",
    "removing": "import os; os.remove(there + '/old')",
    "a folder": "import os; os.mkdir(there + '/folder')",
    "a link": "import os; os.symlink('/', there + '/link')",
    "renaming into": "import os; open('mine', 'w').close(); os.rename('mine', there + '/mine')",
    "renaming out of": "import os; os.rename(there + '/old', 'taken')",
}


@NO_LANDLOCK
@pytest.mark.parametrize("way", WRITES)
def test_a_bounded_child_writes_only_below_its_folders(tmp_path: Path, way: str) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "old").write_text("old")
    for folder, allowed in ((outside, False), (inside, True)):
        program = f"there = {str(folder)!r}\n{WRITES[way]}"
        result = child(program, lambda: file_isolation.restrict([str(inside)]), inside)
        assert (result.returncode == 0) == allowed, result.stderr
        assert allowed or any(word in result.stderr for word in ("PermissionError", "cross-device"))
    assert {path.name for path in outside.iterdir()} == {"old"}
    assert (outside / "old").read_text() == "old"


@NO_LANDLOCK
def test_a_bounded_child_may_read_and_write_to_null(tmp_path: Path) -> None:
    program = f"open('/dev/null', 'w').write('x'); print(len(open({os.__file__!r}).read()) > 0)"
    assert child(program, lambda: file_isolation.restrict([str(tmp_path)]), tmp_path).stdout == "True\n"


@NO_LANDLOCK
def test_a_missing_folder_is_an_error_and_not_a_hole(tmp_path: Path) -> None:
    with pytest.raises(subprocess.SubprocessError):
        child("", lambda: file_isolation.restrict([str(tmp_path / "nowhere")]), tmp_path)

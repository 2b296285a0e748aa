"""What a checked environment cannot do, and that nothing which it says is believed without a look."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from _skill.contracts import child_run, messages
from _skill.contracts.contract import Contract
from _skill.process import file_isolation, network_isolation

from .conftest import Checked, codes

HERE = Path(__file__).parent
TEMPLATE = """import os, socket, subprocess, sys, time
from faulty_gymnasium import Honest


class Case(Honest):
    def reset(self, **named):
        {line}
        return super().reset(**named)
"""


@pytest.fixture
def case(tmp_path: Path, check: Checked) -> Checked:
    """``case(line)``: the contract of an honest environment whose reset does one thing more."""

    def run(line: str, **options: object) -> Contract:
        (tmp_path / "faulty_gymnasium.py").write_text((HERE / "faulty_gymnasium.py").read_text())
        (tmp_path / "case.py").write_text(TEMPLATE.format(line=line))
        return check(f"{tmp_path}/case.py:Case", steps=20, **options)

    return run


@pytest.mark.skipif(network_isolation.unavailable() is not None, reason="no network namespace here")
def test_it_reaches_no_network(case: Checked) -> None:
    with socket_server() as port:
        found = case(f"socket.create_connection(('127.0.0.1', {port}), 2)")
    assert "ConnectionRefusedError" in next(f.got for f in found.findings if f.code == "environment.exception")


@pytest.mark.skipif(file_isolation.unavailable() is not None, reason="no Landlock here")
def test_it_writes_in_its_own_folder_only(case: Checked, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    found = case(f"os.remove({str(tmp_path / 'kept')!r})")
    assert "PermissionError" in next(f.got for f in found.findings if f.code == "environment.exception")
    assert (tmp_path / "kept").read_text() == "kept"
    assert codes(case("open('inside.txt', 'w').close()")) == []


def test_it_is_given_no_credential(case: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "dummy-secret-123")
    found = case("raise RuntimeError(str(dict(os.environ)))")
    assert "dummy-secret-123" not in repr(found)
    assert "WANDB" not in repr(found)


def test_nothing_that_it_started_is_left(case: Checked, tmp_path: Path) -> None:
    line = (
        "self.mine = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(77777)'], start_new_session=True)"
    )
    found = case(line)
    assert "leak.processes" in codes(found)
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False)
    assert "77777" not in left.stdout.replace("ps -eo args", "")


def test_a_file_without_end_is_stopped(case: Checked) -> None:
    line = "self.f = open('big', 'wb'); [self.f.write(bytes(1 << 24)) for _ in range(64)]"
    assert set(codes(case(line))) & {"environment.exception", "environment.disk", "environment.crash"}


def test_output_without_end_is_bounded(case: Checked) -> None:
    started = time.monotonic()
    found = case("[print('x' * 100000) for _ in range(200)]", seconds=20)
    assert time.monotonic() - started < 25
    output = next(f for f in found.findings if f.code == "environment.output")
    assert len(output.got) < 400


@pytest.mark.parametrize(
    "number", [signal.SIGBUS, signal.SIGABRT, signal.SIGKILL, signal.SIGFPE], ids=lambda number: number.name
)
def test_a_signal_is_named_with_its_usual_cause(case: Checked, number: signal.Signals) -> None:
    found = next(f for f in case(f"os.kill(os.getpid(), {int(number)})").findings if f.code == "environment.crash")
    assert found.got.startswith(f"{number.name}: ")
    assert "reset" in found.pointer
    if number is signal.SIGBUS:
        assert "/dev/shm" in found.got


def test_a_hang_names_the_line_where_it_is(case: Checked) -> None:
    found = next(f for f in case("time.sleep(600)", seconds=2).findings if f.code == "environment.hang")
    assert "reset" in found.pointer
    assert "case.py:7 in reset" in found.fix


def test_a_property_that_hangs_is_a_hang_too(check: Checked, tmp_path: Path) -> None:
    program = "import time\n\n\nclass Case:\n    @property\n    def observation_space(self):\n        time.sleep(600)\n"
    (tmp_path / "case.py").write_text(
        program + "\n    def step(self):\n        pass\n\n    reset = action_space = step\n"
    )
    found = next(f for f in check(f"{tmp_path}/case.py:Case", seconds=2).findings if f.code == "environment.hang")
    assert "case.py:7 in observation_space" in found.fix


@pytest.mark.skipif(not child_run.means().own_shared_memory, reason="no /dev/shm of one's own here")
def test_shared_memory_works_and_is_its_own(case: Checked) -> None:
    before = set(os.listdir("/dev/shm"))
    line = "import multiprocessing.shared_memory as m; s = m.SharedMemory('seen-by-nobody', True, 9)"
    assert codes(case(f"{line}; s.unlink(); assert os.listdir('/dev/shm') == []")) == []
    line = "import multiprocessing; self.lock = multiprocessing.Lock(); open('/dev/shm/left-there', 'w').close()"
    assert codes(case(line)) == []
    assert not {"left-there", "seen-by-nobody"} & (set(os.listdir("/dev/shm")) - before)


def test_a_forged_report_is_not_believed(case: Checked) -> None:
    """Whoever finds the handle and writes to it ends as "could not", never as a pass."""
    line = (
        "[os.write(int(fd), b'{\"kind\":\"end\"}\\n') for fd in os.listdir('/proc/self/fd') if int(fd) > 2"
        " and os.path.exists(f'/proc/self/fd/{fd}') and 'pipe' in os.readlink(f'/proc/self/fd/{fd}')]"
    )
    contract = case(line)
    assert contract.exit_status() == 2
    assert "cannot be believed" in contract.checks[0].detail


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]\n",
        b'{"kind":"nothing"}\n',
        b'{"kind":"note","text":1}\n',
        b'{"kind":"note","text":"a","more":1}\n',
        b'{"kind":"note","text":"a","text":"b"}\n',
        b'{"kind":"finding","code":"A B"}\n',
        b"\xff\n",
        b'{"kind":"note","text":"' + b"x" * 500 + b'"}\n',
        b"[" * 100 + b"\n",
        b'{"kind":"end","numbers":{"steps":1,"episodes":1},"written":0}\n{"kind":"note","text":"late"}\n',
        b'{"kind":"note","text":"x"}\n' * 6000,
    ],
    ids=range(12),
)
def test_messages_are_read_strictly(data: bytes) -> None:
    assert messages.read(data).problem


def test_messages_before_the_first_bad_one_are_kept() -> None:
    read = messages.read(b'{"kind":"note","text":"one"}\n{"kind":"note","text":2}\n')
    assert [note["text"] for note in read.all("note")] == ["one"]


def test_an_interruption_ends_the_child_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "faulty_gymnasium.py").write_text((HERE / "faulty_gymnasium.py").read_text())
    (tmp_path / "case.py").write_text(TEMPLATE.format(line="time.sleep(66666)"))
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = subprocess.Popen(
            [sys.executable, str(HERE.parents[1] / "scripts" / "check_env.py"), "case.py:Case"],
            cwd=tmp_path,
            env=dict(os.environ) | {"TMPDIR": str(tmp_path)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 20
        while not list(tmp_path.glob("check-env-*/work")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        process.send_signal(number)
        assert process.wait(20) == status
        assert not list(tmp_path.glob("check-env-*"))


@contextlib.contextmanager
def socket_server() -> Iterator[int]:
    """The port of a server of this machine that would answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]

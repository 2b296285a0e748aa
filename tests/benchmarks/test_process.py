from __future__ import annotations

import os
import sys
import time

import pytest

from _bench import host, process

PYTHON = [sys.executable, "-I", "-S", "-c"]


def test_a_process_is_measured_with_the_children_that_it_started():
    code = (
        "import subprocess, sys\n"
        "child = 'x = bytearray(60_000_000); import time; time.sleep(0.5)'\n"
        "subprocess.run([sys.executable, '-I', '-S', '-c', child], check=True)\n"
        "print('{\"answer\": 42}')\n"
        "print('not json')\n"
    )
    measured = process.measure([*PYTHON, code], limit=30)
    assert measured.exit_status == 0 and not measured.timed_out
    assert measured.json_line() == {"answer": 42}
    assert 0.5 < measured.seconds < 25
    assert measured.largest_rss_mb > 57
    assert measured.peak_pss_mb is not None and measured.peak_pss_mb > 57
    assert "output" not in measured.record()


def test_processor_time_is_the_childs_own():
    code = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    measured = process.measure([*PYTHON, code], limit=30)
    assert 0.3 <= measured.cpu_seconds < 1.0
    assert measured.other_cores is not None and measured.other_cores >= 0.0


def test_a_process_that_runs_too_long_is_ended():
    measured = process.measure([*PYTHON, "import time; time.sleep(60)"], limit=0.3)
    assert measured.timed_out and measured.exit_status < 0 and measured.seconds < 10


def test_nothing_that_a_command_leaves_behind_survives_it():
    code = (
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-I', '-S', '-c', 'import time; time.sleep(60)'])\n"
        "print('{\"pid\": %d}' % p.pid)\n"
    )
    line = process.measure([*PYTHON, code], limit=30).json_line()
    assert line is not None
    end = time.monotonic() + 5
    while time.monotonic() < end and process.proportional_set_mb(line["pid"]) > 0:
        time.sleep(0.02)
    assert process.proportional_set_mb(line["pid"]) == 0


def test_a_failing_command_keeps_its_exit_status_and_what_it_said():
    measured = process.measure([*PYTHON, "import sys; print('why', file=sys.stderr); sys.exit(7)"], limit=30)
    assert measured.exit_status == 7 and measured.error_output.strip() == "why" and measured.json_line() is None


def test_a_command_that_does_not_exist_is_an_os_error():
    with pytest.raises(OSError):
        process.measure([os.path.join(os.curdir, "no-such-program")], limit=1)


def test_the_machine_is_described_by_plain_values():
    facts = host.describe()
    assert facts["cores_usable"] >= 1 and facts["cpu"] and facts["python"]
    assert facts["cores_usable"] <= len(os.sched_getaffinity(0))
    assert f"{facts['cores_usable']:g} cores" in host.one_line(facts)


def test_waiting_for_a_quiet_machine_has_an_end(monkeypatch):
    monkeypatch.setattr(host, "busy_cores", lambda seconds: 2.0)
    assert host.wait_until_quiet(0.1, wait_seconds=0.0) is False
    monkeypatch.setattr(host, "busy_cores", lambda seconds: 0.05)
    assert host.wait_until_quiet(0.1, wait_seconds=0.0) is True


def test_busy_cores_sees_this_process_work():
    def work(seconds: float) -> None:
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    busy = host.busy_cores(0.2, sleep=work)
    assert busy is not None and busy > 0.3

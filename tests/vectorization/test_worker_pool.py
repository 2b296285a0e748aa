"""Worker processes of one run: started with what they need and nothing else, watched, and surely ended."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator

import pytest

from _skill.findings import Refusal
from _skill.vectorization import backends, benchmark, worker_pool
from _skill.vectorization.failure import WorkerFailure, of_exit
from _skill.vectorization.faults import Fault
from _skill.vectorization.interruption import Watch
from _skill.vectorization.job import Job, read, write
from _skill.vectorization.load import Load
from _skill.vectorization.setting import Setting
from _skill.vectorization.worker_pool import WorkerPool

from .conftest import until, workers_of

LOAD = Load("burn", 20.0, "constant", 0.0, 64, 100)


def job(setting: Setting, fault: Fault | None = None, timeout: float = 20.0) -> Job:
    seeds = benchmark.seeds_of(1, setting)
    return Job(setting, LOAD, [10], 0, 1, 0, seeds, 20.0, timeout, "spawn", fault or Fault())


@pytest.fixture
def watch() -> Iterator[Watch]:
    with Watch() as entered:
        yield entered


def test_a_job_is_the_same_after_its_way_through_json() -> None:
    told = job(Setting("async", 2, 4, 2), Fault("raise", 1, 5))
    handle = os.memfd_create("job") if hasattr(os, "memfd_create") else pytest.skip("no anonymous files here")
    os.write(handle, write(told))
    assert read(handle) == told == read(handle)
    os.close(handle)


def handles() -> list[str]:
    """What the open handles of this process lead to, where the system tells."""
    folder = "/proc/self/fd"
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(os.readlink(f"{folder}/{name}") for name in names if os.path.lexists(f"{folder}/{name}"))


@pytest.mark.parametrize("name", ["processes-pipes", "processes-shared", "async"])
def test_a_closed_pool_leaves_no_process_and_no_handle(watch: Watch, name: str) -> None:
    before = handles()
    pool = backends.every()[name].open_pool(job(Setting(name, 2, 4, 2 if name == "async" else 4)), watch)
    pool.start()
    for _ in range(5):
        pool.send(pool.receive(), 1)
    assert len(watch.pids) == 2
    pool.receive()
    pool.settle()
    pool.close()
    pool.close()
    assert not watch.pids
    assert until(lambda: not workers_of(os.getpid()), 5)
    # The memory goes with its last view.
    del pool
    assert handles() == before


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="handles are looked at in /proc")
def test_a_worker_holds_its_own_pipes_and_no_other_worker_s(watch: Watch) -> None:
    pool = WorkerPool(job(Setting("processes-pipes", 2, 2, 2)), watch, pipes=True)
    pool.open()
    try:
        assert until(lambda: len(workers_of(os.getpid())) == 2, 5)
        ours = {os.readlink(f"/proc/self/fd/{worker.bell}") for worker in pool.workers}
        for worker in pool.workers:
            folder = f"/proc/{worker.pid}/fd"
            held = {os.readlink(f"{folder}/{name}") for name in os.listdir(folder)}
            assert len(held & ours) == 1
    finally:
        pool.close()


def test_a_worker_killed_from_outside_is_found_while_the_parent_waits(watch: Watch) -> None:
    pool = backends.every()["processes-shared"].open_pool(job(Setting("processes-shared", 2, 2, 2)), watch)
    pool.start()
    try:
        batch = pool.receive()
        os.kill(max(watch.pids), signal.SIGKILL)
        started = time.monotonic()
        with pytest.raises(WorkerFailure) as failure:
            for _ in range(1000):
                pool.send(batch, 1)
                pool.receive()
        assert time.monotonic() - started < 5
        assert failure.value.failed.finding().code == "vectorization.worker_killed"
    finally:
        pool.close()


def test_a_signal_is_noted_and_raised_at_a_safe_point_only(watch: Watch) -> None:
    from _skill.vectorization.interruption import Interrupted

    os.kill(os.getpid(), signal.SIGTERM)
    assert until(lambda: bool(watch._status), 5)
    with pytest.raises(Interrupted) as interrupted:
        watch.check()
    assert interrupted.value.exit_status == 143
    assert select.select([watch.handle], [], [], 0)[0]


def test_without_pollable_pipes_processes_are_refused(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(select, "poll")
    pool = WorkerPool(job(Setting("processes-pipes", 2, 2, 2)), watch, pipes=True)
    with pytest.raises(Refusal) as refusal:
        pool.open()
    assert [finding.code for finding in refusal.value.findings] == ["vectorization.processes"]
    assert refusal.value.exit_status == 2


def test_a_process_that_survives_its_kill_is_said(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = WorkerPool(job(Setting("processes-pipes", 1, 1, 1)), watch, pipes=True)
    pool.open()
    worker = pool.workers[0]
    monkeypatch.setattr(worker_pool, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(type(worker), "wait", lambda self, until: False)
    with pytest.raises(Refusal) as refusal:
        pool.close()
    assert [finding.code for finding in refusal.value.findings] == ["vectorization.left_alive"]
    assert str(worker.pid) in refusal.value.findings[0].pointer
    monkeypatch.undo()
    worker.kill()
    assert worker.wait(time.monotonic() + 5)


@pytest.mark.parametrize(
    ("status", "told", "kind", "detail"),
    [
        (-7, False, "killed", "SIGBUS"),
        (-9, False, "killed", "SIGKILL"),
        (3, False, "exited", "3"),
        (0, False, "exited", "0"),
        (70, True, "raised", "ValueError: x"),
        (70, False, "exited", "70"),
    ],
)
def test_an_exit_status_is_read_as_what_it_is(status: int, told: bool, kind: str, detail: str) -> None:
    words = "ValueError: x\nTraceback (most recent call last):\n  ...\nValueError: x" if told else ""
    failed = of_exit(status, 2, 4, 5, words, told)
    assert (failed.kind, failed.detail, failed.place) == (kind, detail, "worker 2, environment 4, step 5")
    assert failed.finding().code == f"vectorization.worker_{kind}"

"""Memory shared by processes: laid out without overlap, without a name, and woken without a lost ring."""

from __future__ import annotations

import os
import select
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _skill.vectorization import flag_wait, shared_region
from _skill.vectorization.shared_region import ASLEEP, DONE, REQUEST, STEP, Region, fence, word


def region_of(workers: int, environments: int, size: int) -> Region:
    handle = shared_region.anonymous_file("puffer-test", shared_region.size_of(workers, environments, size))
    try:
        return Region(handle, workers, environments, size)
    finally:
        os.close(handle)


@given(st.integers(1, 9), st.integers(1, 20), st.integers(16, 300))
def test_no_two_parts_overlap(workers: int, environments: int, size: int) -> None:
    region = region_of(workers, environments, size)
    for index in range(len(region.words)):
        region.words[index] = -1
    for index in range(environments):
        region.actions[index] = index
        region.rewards[index] = index / 2
        region.terminals[index] = index % 2
        region.rows[index][:] = bytes([index]) * size
    assert set(region.words.tolist()) == {-1}
    assert region.actions.tolist() == list(range(environments))
    assert region.rewards.tolist() == [index / 2 for index in range(environments)]
    assert region.terminals.tolist() == [index % 2 for index in range(environments)]
    assert [row.tobytes() for row in region.rows] == [bytes([index]) * size for index in range(environments)]


def test_words_of_parent_and_worker_share_no_cache_line() -> None:
    lines = {
        (worker, side): word(worker, field) // 8 for worker in range(4) for side, field in ((0, REQUEST), (1, DONE))
    }
    assert len(set(lines.values())) == 8 and 0 not in lines.values()
    assert {word(2, field) // 8 for field in (DONE, ASLEEP, STEP)} == {lines[2, 1]}


def test_the_memory_has_no_name_and_is_reserved_at_once() -> None:
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    handle = shared_region.anonymous_file("puffer-test", 1 << 20)
    try:
        status = os.fstat(handle)
        assert (status.st_size, status.st_nlink) == (1 << 20, 0)
        assert status.st_blocks * 512 >= 1 << 20
        assert not before or set(os.listdir("/dev/shm")) <= before | {
            name for name in os.listdir("/dev/shm") if not name.startswith("puffer")
        }
    finally:
        os.close(handle)


def test_a_size_that_cannot_be_had_is_an_error_at_once_and_no_signal_later() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(OSError):
            shared_region.anonymous_file("puffer-test", 1 << 24)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_flag_that_is_up_ends_the_spin_at_once_and_one_that_is_down_ends_it_in_time() -> None:
    words = region_of(1, 1, 16).words
    words[word(0, REQUEST)] = 3
    started = time.perf_counter()
    assert flag_wait.Patience(1e6).spin(words, word(0, REQUEST), 3)
    assert time.perf_counter() - started < 0.5
    assert not flag_wait.Patience(1e3).spin(words, word(0, REQUEST), 4)
    words[word(0, REQUEST)] = shared_region.STOP
    assert flag_wait.Patience(1e6).spin(words, word(0, REQUEST), 4)


def test_spinning_in_vain_is_given_up_and_comes_back_where_it_pays() -> None:
    words = region_of(1, 1, 16).words
    patience = flag_wait.Patience(100.0)
    for _ in range(12):
        assert not patience.spin(words, word(0, REQUEST), 1)
    assert patience.nanoseconds == flag_wait.LEAST_SPIN_NS
    for _ in range(12):
        patience.paid(True)
    assert patience.nanoseconds == 100_000


def test_ringing_a_full_or_a_closed_pipe_neither_waits_nor_fails() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    started = time.perf_counter()
    for _ in range(70_000):
        flag_wait.ring(write)
    os.close(read)
    flag_wait.ring(write)
    os.close(write)
    assert time.perf_counter() - started < 5


def test_no_ring_is_lost_in_ten_thousand_sleeps() -> None:
    """Two threads play parent and worker without any spin: a lost ring would cost a whole SLEEP_MS each time."""
    words = region_of(1, 1, 16).words
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    rounds = 10_000
    request, asleep, done = word(0, REQUEST), word(0, ASLEEP), word(0, DONE)

    def worker() -> None:
        poller = select.poll()
        poller.register(read, select.POLLIN)
        for number in range(1, rounds + 1):
            while words[request] < number:
                words[asleep] = 1
                fence()
                if words[request] < number and poller.poll(flag_wait.SLEEP_MS):
                    os.read(read, 512)
                words[asleep] = 0
            words[done] = number

    thread = threading.Thread(target=worker)
    thread.start()
    started = time.perf_counter()
    for number in range(1, rounds + 1):
        words[request] = number
        fence()
        if words[asleep]:
            flag_wait.ring(write)
        while words[done] < number:
            time.sleep(0)
    seconds = time.perf_counter() - started
    thread.join()
    os.close(read)
    os.close(write)
    # Half of them lost would take 250 s.
    assert seconds < 25

"""The synthetic load: costs with an exact mean, observations in place, seeds of their own."""

from __future__ import annotations

import math
import threading
import time
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _skill.findings import Refusal
from _skill.vectorization import load, seeds, spread, start_method, work
from _skill.vectorization.load import Load
from _skill.vectorization.synthetic_environment import SyntheticEnvironment

PLAIN = Load("burn", 100.0, "constant", 0.0, 256, 1000)


def row_values(row: bytearray) -> tuple[int, int]:
    head = memoryview(row)[:16].cast("Q")
    return head[0], head[1]


@pytest.mark.parametrize("tail", ["constant", "lognormal:0.5", "lognormal:2", "pareto:1.2", "pareto:3"])
def test_costs_have_exactly_the_mean_that_was_asked_for(tail: str) -> None:
    costs = load.step_costs(PLAIN._replace(tail=tail))
    assert math.fsum(costs) / len(costs) == pytest.approx(100.0)
    assert costs == sorted(costs) and costs[0] > 0


def test_a_heavier_tail_has_a_longer_longest_step() -> None:
    longest = [load.step_costs(PLAIN._replace(tail=tail))[-1] for tail in ("constant", "pareto:3", "pareto:1.5")]
    assert longest == sorted(longest) and longest[-1] > 10 * longest[0]


@pytest.mark.parametrize(
    ("field", "value", "option"),
    [
        ("step_us", -1.0, "--step-us"),
        ("step_us", math.nan, "--step-us"),
        ("step_us", math.inf, "--step-us"),
        ("step_us", 2e6, "--step-us"),
        ("reset_us", -1.0, "--reset-us"),
        ("observation_bytes", 15, "--observation-bytes"),
        ("observation_bytes", 1 << 30, "--observation-bytes"),
        ("episode_steps", 0, "--episode-steps"),
        ("tail", "pareto", "--tail"),
        ("tail", "pareto:1.0", "--tail"),
        ("tail", "pareto:nan", "--tail"),
        ("tail", "lognormal:inf", "--tail"),
        ("tail", "normal:1", "--tail"),
        ("tail", "constant:1", "--tail"),
        ("tail", "pareto:\x1b[2J", "--tail"),
    ],
)
def test_a_load_that_means_nothing_is_refused(field: str, value: Any, option: str) -> None:
    with pytest.raises(Refusal) as refusal:
        load.check(PLAIN._replace(**{field: value}))
    finding = refusal.value.findings[0]
    assert (finding.code, finding.pointer, refusal.value.exit_status) == ("vectorization.load", option, 2)
    assert "\x1b" not in finding.got


def test_a_step_of_seconds_is_refused_where_only_the_tail_makes_it() -> None:
    with pytest.raises(Refusal):
        load.check(PLAIN._replace(step_us=500_000.0, tail="pareto:1.1"))


def test_an_environment_writes_every_observation_in_place_and_counts_its_steps() -> None:
    environment = SyntheticEnvironment(work.performer("burn"), [0], 0, 40, 5, Random(3))
    row = bytearray(40)
    environment.reset(memoryview(row))
    drawn, count = row_values(row)
    assert (drawn, count) == (Random(3).getrandbits(64), 0)
    fillings = {bytes(row[16:])}
    ends = 0
    for step in range(1, 21):
        reward, terminal = environment.step(1, memoryview(row))
        assert (reward, row_values(row)[1]) == (1.0, step)
        ends += terminal
        fillings.add(bytes(row[16:]))
    # Episodes of five steps after a first one of one to five.
    assert ends in (4, 5)
    assert len(fillings) == 2


def test_a_reset_within_a_step_draws_anew() -> None:
    environment = SyntheticEnvironment(work.performer("burn"), [0], 0, 16, 3, Random(3))
    row = bytearray(16)
    environment.reset(memoryview(row))
    seen = {row_values(row)[0]}
    for _ in range(9):
        environment.step(0, memoryview(row))
        seen.add(row_values(row)[0])
    assert len(seen) in (4, 5)


@pytest.mark.parametrize("kind", sorted(load.WORK))
def test_more_units_take_longer(kind: str) -> None:
    perform = work.performer(kind)
    units = round(2000 * work.rate(kind))

    def seconds(count: int) -> float:
        best = math.inf
        for _ in range(5):
            started = time.perf_counter()
            perform(count)
            best = min(best, time.perf_counter() - started)
        return best

    assert seconds(8 * units) > 3 * seconds(units) > 0


@given(st.lists(st.tuples(st.integers(0, 2**53), st.integers(0, 255), st.integers(0, 4095)), unique=True, max_size=40))
def test_seeds_differ_for_every_root_worker_and_environment(places: list[tuple[int, int, int]]) -> None:
    assert len({seeds.derive(*place) for place in places}) == len(places)
    assert all(0 <= seeds.derive(*place) < 1 << 63 for place in places)


def test_seeds_of_neighbouring_roots_share_nothing() -> None:
    # With root + index, environment 1 of root 1 is environment 0 of root 2.
    first, second = ({seeds.derive(root, 0, index) for index in range(100)} for root in (1, 2))
    assert not first & second


def test_equal_first_observations_are_named_with_worker_and_environment() -> None:
    findings = seeds.findings([b"a", b"b", b"c", b"b"], 2, None)
    assert [finding.code for finding in findings] == ["vectorization.seeds"]
    assert "environments 1 (worker 0) and 3 (worker 1)" in findings[0].message
    assert findings[0].got == "3 unique of 4"


def test_other_numbers_for_the_same_seeds_are_a_finding() -> None:
    assert seeds.findings([b"a", b"b"], 1, [b"a", b"b"]) == []
    assert [finding.code for finding in seeds.findings([b"a", b"b"], 1, [b"a", b"x"])] == ["vectorization.unseeded"]


@given(st.lists(st.floats(0.1, 1e9), min_size=1, max_size=50))
def test_the_spread_holds_the_median_between_least_and_most(values: list[float]) -> None:
    found = spread.of(values)
    assert found.least <= found.median <= found.most
    assert 0 <= found.mad <= found.most - found.least
    assert found.noise >= 0.01 * found.median


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(value) for value in range(1, 101)]
    assert [spread.percentile(values, share) for share in (0.5, 0.9, 0.99, 1.0)] == [50, 90, 99, 100]
    assert spread.percentile([7.0], 0.01) == 7.0


def test_a_lambda_a_closure_and_a_partial_cannot_be_sent_to_a_fresh_interpreter() -> None:
    import functools

    def inner() -> None:
        return None

    for factory in (lambda: None, inner, functools.partial(int, "1")):
        reason = start_method.importable(factory)
        assert reason and reason.startswith("not picklable")
        with pytest.raises(Refusal) as refusal:
            start_method.check("spawn", factory)
        assert refusal.value.findings[0].code == "vectorization.factory"
    assert start_method.importable(seeds.derive) is None
    assert start_method.importable(SyntheticEnvironment.reset) is None


def test_fork_is_refused_while_another_thread_lives() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait, args=(30,))
    thread.start()
    try:
        with pytest.raises(Refusal) as refusal:
            start_method.check("fork", seeds.derive)
        assert refusal.value.findings[0].code == "vectorization.fork"
        start_method.check("spawn", seeds.derive)
    finally:
        over.set()
        thread.join()

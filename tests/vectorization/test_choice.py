"""Which settings are measured, and which one is picked and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _skill.findings import Refusal
from _skill.vectorization import backends, candidates, sweep
from _skill.vectorization.choice import choose
from _skill.vectorization.measurement import Run
from _skill.vectorization.setting import Setting, problems
from _skill.vectorization.sweep import Measured

EVERY = backends.every()


def measured(backend: str, workers: int, speeds: list[float], environments: int = 16, batch: int = 0) -> Measured:
    runs = [Run(speed, 1000, 1.0, 0.1, (1.0, 2.0, 3.0, 4.0), 100, 100, 1) for speed in speeds]
    return Measured(Setting(backend, workers, environments, batch or environments), runs)


def picked(*rivals: Measured) -> Measured:
    return choose(list(rivals), EVERY, "spawn", False).picked


def test_the_clearly_fastest_wins_and_says_by_how_much() -> None:
    choice = choose(
        [measured("serial", 1, [100, 101, 99]), measured("processes-shared", 2, [180, 181, 179])], EVERY, "spawn", False
    )
    assert choice.picked.setting.backend == "processes-shared"
    assert "was 44.4 % slower" in choice.reasons[1]
    assert choice.fields == {
        "train.num_envs": 16,
        "vectorization.backend": "processes",
        "vectorization.num_workers": 2,
        "vectorization.envs_per_batch": 16,
        "vectorization.zero_copy": True,
        "vectorization.start_method": "spawn",
        "vectorization.oversubscribe": False,
    }


def test_a_tie_within_the_noise_goes_to_the_simpler_one() -> None:
    simple, better = measured("threads", 2, [95, 110, 99, 104, 90]), measured("async", 2, [104, 100, 98, 108, 102])
    choice = choose([measured("serial", 1, [50] * 5), simple, better], EVERY, "spawn", False)
    assert choice.picked is simple
    assert choice.reasons[1].endswith("a tie, which the simpler setting wins")


def test_fewer_workers_are_simpler_than_more() -> None:
    few, many = measured("processes-shared", 2, [100, 101, 99]), measured("processes-shared", 4, [100.5, 101.5, 99.5])
    assert picked(measured("serial", 1, [50, 50, 50]), few, many) is few


def test_a_drift_of_the_machine_does_not_hide_a_difference_in_every_round() -> None:
    # Each round is half as fast as the one before; in each the processes are a tenth faster.
    slowing = [800.0, 400.0, 200.0, 100.0]
    serial, shared = measured("serial", 1, slowing), measured("processes-shared", 2, [1.1 * x for x in slowing])
    assert picked(serial, shared) is shared


def test_a_backend_that_no_plan_can_name_is_never_picked_but_mentioned() -> None:
    serial, pipes = measured("serial", 1, [100, 100, 100]), measured("processes-pipes", 2, [300, 300, 300])
    choice = choose([serial, pipes], EVERY, "spawn", False)
    assert choice.picked is serial
    assert "no plan can choose that backend" in choice.reasons[-1]


@given(st.lists(st.lists(st.floats(1, 1e6), min_size=3, max_size=3), min_size=2, max_size=6))
def test_whatever_is_picked_nothing_simpler_is_as_good_and_nothing_is_better(speeds: list[list[float]]) -> None:
    from _skill.vectorization.choice import faster

    rivals = [measured("processes-shared", 2 + index, speed) for index, speed in enumerate(speeds)]
    choice = picked(*rivals)
    best = max(rivals, key=lambda each: each.speed.median)
    assert not faster(best, choice)
    assert all(faster(best, each) for each in rivals if each.setting.workers < choice.setting.workers)


@pytest.mark.parametrize(
    ("environments", "workers", "batch", "cores", "codes"),
    [
        (10, 4, 10, 8, ["vectorization.divide"]),
        (12, 4, 4, 8, ["vectorization.divide"]),
        (12, 4, 6, 8, []),
        (12, 4, 0, 8, ["vectorization.divide"]),
        (12, 4, 15, 8, ["vectorization.divide"]),
        (16, 16, 16, 2, ["vectorization.cores"]),
        (16, 16, 16, 16, []),
        (3, 4, 3, 2, ["vectorization.divide", "vectorization.cores"]),
        (1, 1, 1, 1, []),
    ],
)
def test_counts_that_do_not_divide_or_exceed_the_cores_are_refused(
    environments: int, workers: int, batch: int, cores: int, codes: list[str]
) -> None:
    found = problems(Setting("async", workers, environments, batch), cores, False)
    assert [finding.code for finding in found] == codes
    assert all(finding.fix for finding in found)


def test_the_nearest_valid_values_are_named() -> None:
    (finding,) = problems(Setting("async", 4, 10, 10), 8, False)
    assert finding.fix == "--envs 8 or 12, or --workers 2 or 5"
    (finding,) = problems(Setting("async", 4, 12, 4), 8, False)
    assert finding.fix == "--batch 3 or 6"


def test_more_workers_than_cores_need_the_word() -> None:
    assert problems(Setting("threads", 8, 16, 16), 2, True) == []


@pytest.mark.parametrize("cores", [1, 2, 3, 6, 12, 64, 96, 500])
def test_the_default_settings_keep_every_rule_on_any_machine(cores: int) -> None:
    workers = candidates.default_workers(cores)
    found = candidates.make(EVERY, workers, candidates.default_environments(workers), [], cores, False)
    assert found.left_out == []
    assert {"serial", "threads", "processes-shared"} <= {each.backend for each in found.settings}
    assert cores == 1 or "async" in {each.backend for each in found.settings}
    assert len(found.settings) <= 60


def test_a_backend_without_a_setting_left_is_a_refusal_and_a_part_is_left_out() -> None:
    with pytest.raises(Refusal) as refusal:
        candidates.make({"threads": EVERY["threads"]}, [16], [16], [], 2, False)
    assert refusal.value.exit_status == 1
    found = candidates.make({"threads": EVERY["threads"]}, [2, 16], [16], [], 2, False)
    assert [setting.workers for setting, _ in found.left_out] == [16]


def test_where_time_runs_short_the_slow_are_left_out_and_the_reference_stays() -> None:
    settings = [Setting("serial", 1, 8, 8), *(Setting("threads", count, 8, 8) for count in (2, 4, 8))]
    speeds = {settings[0]: 10.0, settings[1]: 30.0, settings[2]: 20.0, settings[3]: 40.0}
    runs = {setting: measured("x", 1, [speed]).runs for setting, speed in speeds.items()}
    kept, behind = sweep._affordable(settings, runs, dict.fromkeys(settings, 1.0), 2, 6.5)
    assert kept == [settings[0], settings[1], settings[3]]
    assert behind == [settings[2]]


def test_every_backend_says_what_it_is() -> None:
    assert list(EVERY) == ["serial", "threads", "processes-pipes", "processes-shared", "async"]
    for backend in EVERY.values():
        assert backend.SUMMARY and backend.PLAN in ("", "serial", "threads", "processes")

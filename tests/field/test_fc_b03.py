"""FC-B03 · All forked workers draw the same numbers.

The first observation of every environment is compared before anything is timed: fewer unique ones than environments
is an error. Seeds come from (root, worker, environment), are recorded and all different.
"""

from __future__ import annotations

import pytest

from .conftest import Tool

FOUR = ("--workers", "4", "--envs", "4", "--oversubscribe", "--seconds", "3", "--repeats", "3", "--step-us", "20")
PROCESSES = ["processes-pipes", "processes-shared", "async"]


@pytest.mark.parametrize("backend", PROCESSES)
def test_four_forked_workers_that_share_a_global_generator_are_one_unique_of_four(tool: Tool, backend: str) -> None:
    answer = tool(
        "benchmark_vectorization", *FOUR, "--start-method", "fork", "--inject", "seeds-global", "--backends", backend
    )
    assert (answer.exit_status, answer.codes) == (1, ["vectorization.seeds"])
    finding = answer.finding("vectorization.seeds")
    assert (finding["got"], finding["want"]) == ("1 unique of 4", "4 unique of 4")
    assert "fork" in finding["fix"]
    assert "benchmark" not in answer.report


def test_under_spawn_the_same_fault_is_four_unique_that_no_seed_repeats(tool: Tool) -> None:
    # Found in the second round of many short ones.
    arguments = ("--seconds", "20", "--repeats", "100", "--backends", "processes-shared")
    answer = tool("benchmark_vectorization", *FOUR, *arguments, "--inject", "seeds-global")
    assert (answer.exit_status, answer.codes) == (1, ["vectorization.unseeded"])
    assert answer.finding("vectorization.unseeded")["got"] == "4 of 4 changed"


@pytest.mark.parametrize("backend", ["serial", "threads", *PROCESSES])
def test_one_seed_for_all_is_found_in_every_backend(tool: Tool, backend: str) -> None:
    answer = tool("benchmark_vectorization", *FOUR, "--inject", "seeds-same", "--backends", backend)
    assert (answer.exit_status, answer.codes) == (1, ["vectorization.seeds"])
    assert answer.finding("vectorization.seeds")["got"] == "1 unique of 4"


def test_one_seed_for_all_environments_of_a_worker_is_found_too(tool: Tool) -> None:
    arguments = ("--workers", "2", "--envs", "8", "--oversubscribe", "--seconds", "3", "--step-us", "20")
    answer = tool("benchmark_vectorization", *arguments, "--inject", "seeds-worker", "--backends", "processes-shared")
    assert (answer.exit_status, answer.codes) == (1, ["vectorization.seeds"])
    finding = answer.finding("vectorization.seeds")
    assert finding["got"] == "2 unique of 8"
    assert "environments 0 (worker 0) and 1 (worker 0)" in finding["message"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_derived_seeds_are_all_different_recorded_and_the_same_for_any_start_method(tool: Tool, method: str) -> None:
    from _skill.vectorization import seeds

    arguments = ("--start-method", method, "--seed", "7", "--backends", "processes-shared")
    answer = tool("benchmark_vectorization", *FOUR, *arguments, "--seconds", "10", "--repeats", "1")
    assert answer.exit_status == 0, answer.text
    recorded = answer.report["benchmark"]["seeds"]
    choice = answer.report["benchmark"]["choice"]
    per_worker = choice["environments_per_worker"]
    assert recorded["picked"] == [str(seeds.derive(7, index // per_worker, index)) for index in range(4)]
    assert len(set(recorded["picked"])) == 4
    assert answer.report["benchmark"]["start_method"] == method

"""The benchmark as a whole: an honest report within its time, or a plain refusal."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from _skill import strict_json
from _skill.json_schema import Schema
from _skill.vectorization.report import table, warnings

from .conftest import ROOT, Benchmark, measured

SHORT = ("--seconds", "3", "--repeats", "3", "--workers", "2", "--envs", "4", "--step-us", "20", "--oversubscribe")


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """One real run over all backends, read back from JSON."""
    document = measured(reset_us=50.0, episode_steps=20)
    read: dict[str, Any] = strict_json.loads(strict_json.pretty(document).encode(), "report")
    assert read == document
    return read


def test_the_report_is_what_its_schema_says(report: dict[str, Any]) -> None:
    assert Schema.shipped("benchmark_report").findings(report) == []
    schema = json.loads((ROOT / "schemas" / "benchmark_report.schema.json").read_text())
    jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)


def test_every_backend_was_measured_often_enough_for_a_spread(report: dict[str, Any]) -> None:
    measured = {each["backend"]: each for each in report["settings"]}
    assert set(measured) == {"serial", "threads", "processes-pipes", "processes-shared", "async"}
    for each in measured.values():
        speed, latency = each["steps_per_second"], each["latency_us"]
        assert each["runs"] == 3
        assert speed["least"] <= speed["median"] <= speed["most"] and speed["mad"] >= 0
        assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["most"]
    assert measured["serial"]["speedup"] == 1
    assert measured["async"]["batch"] == 2


def test_environments_have_equal_turns_but_for_surplus_ones_and_those_are_counted(report: dict[str, Any]) -> None:
    for each in report["settings"]:
        fairness = each["fairness"]
        if each["backend"] == "async":
            assert fairness["share"] > 0 and fairness["longest_gap"] >= 2
        else:
            assert fairness["longest_gap"] == 1


def test_seeds_are_recorded_and_all_different(report: dict[str, Any]) -> None:
    seeds = report["seeds"]["picked"]
    assert len(set(seeds)) == len(seeds) == report["choice"]["environments"]


def test_it_says_that_the_load_is_synthetic_and_what_to_set(report: dict[str, Any]) -> None:
    assert "synthetic load, not your environment" in report["notice"]
    printed = "\n".join(table(report))
    assert "synthetic load, not your environment" in printed
    assert f"--set vectorization.num_workers={report['choice']['workers']}" in printed


def test_memory_is_shared_only_where_processes_share_it(report: dict[str, Any]) -> None:
    shared = {each["backend"]: each["shared_bytes"] for each in report["settings"]}
    assert shared["serial"] == shared["threads"] == 0
    assert shared["processes-shared"] > 4 * 256 > shared["processes-pipes"] > 0


def test_the_plan_fields_are_fields_of_a_plan(report: dict[str, Any]) -> None:
    plan = json.loads((ROOT / "schemas" / "plan.schema.json").read_text())["properties"]
    for name in report["choice"]["plan"]:
        section, field = name.split(".")
        assert field in plan[section]["properties"], name


def test_the_time_is_kept_and_the_report_goes_into_a_file(benchmark_run: Benchmark, tmp_path: Path) -> None:
    started = time.monotonic()
    status, report, _ = benchmark_run(*SHORT, "--backends", "serial,threads", "--out", "b.json")
    assert status == 0
    assert time.monotonic() - started < 8
    assert report["benchmark"]["seconds"] < 6
    assert strict_json.loads((tmp_path / "b.json").read_bytes(), "b.json") == report["benchmark"]


def test_too_little_time_is_no_figure_but_exit_2(benchmark_run: Benchmark) -> None:
    started = time.monotonic()
    status, report, _ = benchmark_run("--seconds", "0.1", "--step-us", "100000")
    assert time.monotonic() - started < 5
    assert (status, report["findings"][0]["code"]) == (2, "vectorization.budget")
    assert "benchmark" not in report and "--seconds" in report["findings"][0]["fix"]


def test_steps_that_wait_gain_from_threads_and_processes() -> None:
    backends = ["threads", "processes-shared"]
    report = measured(work="sleep", step_us=4000.0, workers=[4], backends=backends)
    speedups = {each["backend"]: each["speedup"] for each in report["settings"]}
    assert speedups["threads"] > 1.5 and speedups["processes-shared"] > 1.5
    assert report["choice"]["backend"] in backends


def test_surplus_environments_pay_where_some_steps_are_slow() -> None:
    backends = ["processes-shared", "async"]
    report = measured(work="sleep", step_us=3000.0, tail="lognormal:1.5", workers=[4], batches=[1], backends=backends)
    speeds = {each["backend"]: each["steps_per_second"]["median"] for each in report["settings"]}
    assert speeds["async"] > 1.2 * speeds["processes-shared"]
    plan = report["choice"]["plan"]
    assert (plan["vectorization.envs_per_batch"], plan["vectorization.zero_copy"]) == (1, False)
    assert [finding.code for finding in warnings(report)][-1:] == ["vectorization.few_steps"]


def test_another_load_ends_with_a_report() -> None:
    report = measured(work="native", policy_us=100.0, tail="pareto:1.5")
    assert {each["backend"] for each in report["settings"]} >= {"processes-pipes", "processes-shared", "async"}
    assert report["choice"]["plan"]["vectorization.start_method"] in ("spawn", None)


@pytest.mark.parametrize("size", [16, 17, 300_001])
def test_observations_of_any_size_arrive_whole(size: int) -> None:
    backends = ["processes-pipes", "processes-shared", "async"]
    report = measured(observation_bytes=size, repeats=1, backends=backends)
    assert {each["backend"] for each in report["settings"]} == {"serial", *backends}


def test_runs_that_differ_much_are_a_warning(report: dict[str, Any]) -> None:
    noisy = report | {"choice": report["choice"] | {"noise": 0.3}}
    assert [finding.code for finding in warnings(noisy)] == ["vectorization.noise"]
    assert {finding.severity for finding in warnings(noisy)} == {"warning"}


def test_a_report_never_replaces_a_file(benchmark_run: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("mine")
    started = time.monotonic()
    status, report, _ = benchmark_run("--out", "b.json", "--seconds", "30")
    assert (status, report["findings"][0]["code"]) == (1, "file.exists")
    assert time.monotonic() - started < 3
    assert (tmp_path / "b.json").read_text() == "mine"
    status, report, _ = benchmark_run("--out", "none/b.json", "--seconds", "30")
    assert (status, report["findings"][0]["code"]) == (2, "file.unwritable")


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("--backends", "proceses-shared"), 2, "use.wrong"),
        (("--workers", "0"), 2, "use.wrong"),
        (("--workers", "-1"), 2, "use.wrong"),
        (("--workers", "1.5"), 2, "use.wrong"),
        (("--envs", "9999999"), 2, "use.wrong"),
        (("--seconds", "nan"), 2, "use.wrong"),
        (("--seconds", "inf"), 2, "use.wrong"),
        (("--timeout", "0"), 2, "use.wrong"),
        (("--start-method", "forkserver"), 2, "use.wrong"),
        (("--inject", "rais"), 2, "use.wrong"),
        (("--inject", "raise:2:5:1"), 2, "use.wrong"),
        (("--inject", "hang", "--backends", "threads"), 2, "use.wrong"),
        (("--tail", "normal"), 2, "vectorization.load"),
        (("--workers", "4", "--envs", "10", "--backends", "threads", "--oversubscribe"), 1, "vectorization.divide"),
        (("--workers", "256", "--envs", "256", "--backends", "processes-shared"), 1, "vectorization.cores"),
        (("--observation-bytes", "67108864", "--envs", "4096", "--workers", "2"), 1, "vectorization.memory"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_any_worker_starts(
    benchmark_run: Benchmark, arguments: tuple[str, ...], status: int, code: str
) -> None:
    got, report, _ = benchmark_run(*arguments, timeout=20)
    assert (got, report["findings"][0]["code"]) == (status, code)
    assert "benchmark" not in report


def test_memory_that_does_not_fit_is_said_with_both_numbers(benchmark_run: Benchmark) -> None:
    _, report, _ = benchmark_run("--observation-bytes", "67108864", "--envs", "4096", "--workers", "2")
    finding = report["findings"][0]
    assert "GiB" in finding["got"] and "GiB" in finding["want"] and "/dev/shm" in finding["want"]


def limited(tmp_path: Path, limit: str, value: int, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The tool in a process with a limit of the system; exit status and report."""
    code = (
        f"import resource, runpy, sys; resource.setrlimit(resource.{limit}, ({value}, {value}));"
        f"sys.argv[:] = ['x', '--json', *{[*SHORT, *arguments]!r}]; sys.path.insert(0, {str(ROOT / 'scripts')!r});"
        f"runpy.run_path({str(ROOT / 'scripts' / 'benchmark_vectorization.py')!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout)


def test_where_files_may_not_grow_the_memory_is_refused_and_no_worker_dies_of_it(tmp_path: Path) -> None:
    arguments = ("--backends", "processes-shared", "--observation-bytes", "4000000")
    status, report = limited(tmp_path, "RLIMIT_FSIZE", 1 << 20, *arguments)
    assert (status, report["findings"][0]["code"]) == (2, "vectorization.memory")


def test_a_worker_that_cannot_be_started_is_exit_2_and_the_started_ones_end(tmp_path: Path) -> None:
    arguments = ("--workers", "16", "--envs", "16", "--backends", "processes-pipes")
    status, report = limited(tmp_path, "RLIMIT_NOFILE", 24, *arguments)
    assert status == 2 and "benchmark" not in report
    assert report["findings"][0]["code"] == "vectorization.start"


def test_an_ordered_fault_that_does_not_show_is_no_result(benchmark_run: Benchmark) -> None:
    status, report, _ = benchmark_run(*SHORT, "--inject", "raise:0:999999", "--backends", "threads")
    assert (status, report["findings"][0]["code"]) == (1, "vectorization.fault_unseen")
    assert "benchmark" not in report


@pytest.mark.parametrize("backend", ["serial", "threads", "processes-pipes", "processes-shared", "async"])
def test_an_observation_of_the_step_before_is_noticed(benchmark_run: Benchmark, backend: str) -> None:
    status, report, _ = benchmark_run(*SHORT, "--inject", "stale:1:5", "--backends", backend)
    assert (status, report["findings"][0]["code"]) == (1, "vectorization.stale")
    assert "step 5" in report["findings"][0]["pointer"]

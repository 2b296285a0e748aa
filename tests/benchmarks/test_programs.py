from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import step
import train
from _bench import contenders, goals, host, limits, ours, schedule
from _bench.process import Measured, proportional_set_mb
from harness import RecentReturns

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PROGRAMS = sorted(path for path in [*BENCHMARKS.glob("*.py"), BENCHMARKS / "peers" / "make_peers.py"])


def fake(key: str, code: str, *, is_ours: bool = False, **options: Any) -> contenders.Contender:
    return contenders.Contender(
        key, key, is_ours, "cartpole", lambda seed, folder: [sys.executable, "-I", "-S", "-c", code, str(seed)],
        contenders.read_peer, **options,
    )  # fmt: skip


PRINTS = "import json, sys; print(json.dumps({'solved': True, 'solved_seconds': 1.0 + int(sys.argv[1])}))"
AT_ONCE = schedule.Quiet(most_cores=1e9, wait_seconds=0.0, repeats=0)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_every_program_explains_itself(program, run):
    done = run([sys.executable, program, "--help"])
    assert done.returncode == 0 and done.stdout.startswith("usage:") and not done.stderr
    assert run([sys.executable, program, "--no-such-flag"]).returncode == 2


def test_the_machine_program_prints_json(run):
    facts = json.loads(run([sys.executable, BENCHMARKS / "machine.py", "--json"]).stdout)
    assert {"cpu", "cores_usable", "caches", "memory_gib", "compiler", "load_averages", "busy_cores_now"} <= set(facts)


def test_runs_are_interleaved_and_ours_is_built_first():
    said: list[str] = []
    pair = [fake("a", PRINTS, is_ours=True), fake("b", PRINTS), fake("c", PRINTS, missing="not installed: how")]
    records: list[dict[str, Any]] = []
    schedule.run_interleaved(pair, [1, 2], AT_ONCE, said.append, records)
    assert [(record["contender"], record["seed"]) for record in records] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert "unmeasured" in said[0] and len(said) == 5


def test_a_run_that_built_the_engine_is_made_again():
    builds = "import json; print(json.dumps({'seconds_inside': {'build': 9.0}}))"
    records: list[dict[str, Any]] = []
    schedule.run_interleaved([fake("b", builds)], [1], AT_ONCE, lambda _: None, records)
    assert [(record["engine_built"], record["clean"]) for record in records] == [(True, False)] * 2


def test_a_contender_that_fails_is_a_record_with_its_reason():
    record = schedule.run_once(fake("a", "import sys; sys.exit('it broke')"), 1, AT_ONCE)
    assert "it broke" in record["error"] and "result" not in record and not record["clean"]


def test_the_least_disturbed_run_of_each_seed_counts():
    base: dict[str, Any] = {"contender": "a", "result": {}}
    records = [
        base | {"seed": 1, "other_cores": 0.9},
        base | {"seed": 1, "other_cores": 0.1},
        base | {"seed": 1, "other_cores": 0.0, "engine_built": True},
        base | {"seed": 2, "other_cores": 0.5, "error": "x"},
        base | {"seed": 2, "other_cores": 0.7},
    ]
    assert [record["other_cores"] for record in schedule.best_of_each_seed(records, "a")] == [0.1, 0.7]


def test_the_tables_hold_every_contender_and_say_what_is_missing():
    pair = [
        fake("engine", PRINTS, is_ours=True, target=475.0),
        fake("jax", PRINTS, target=475.0, missing="not installed: how"),
    ]
    records: list[dict[str, Any]] = []
    schedule.run_interleaved(pair, [1, 2, 3], AT_ONCE, lambda _: None, records)
    for made in records:
        made["clean"] = True  # whatever else this machine was doing
    rows = {"cartpole": [train.Row(contender, records) for contender in pair]}
    text = train.text_of(rows, train.goals_of(rows, 0.05), host.describe(), 100.0)
    assert "3 of 3" in text and "3.00 (2.00-4.00)" in text and "not installed: how" in text
    assert "CartPole: training until solved" in text
    record = json.loads(json.dumps(rows["cartpole"][0].record(), allow_nan=False))
    assert record["values"]["solved_seconds"] == {"count": 3, "median": 3.0, "min": 2.0, "max": 4.0, "iqr": 1.0}
    assert (record["seeds"], record["seeds_solved"]) == (3, 3)


def test_peers_that_are_not_there_say_how_to_install_them(tmp_path):
    every = [*contenders.peers_in_cartpole(None), *contenders.peers_in_breakout(tmp_path)]
    assert every and all("make_peers.py" in (contender.missing or "") for contender in every)
    for contender in every:
        program = Path(contender.command(1, tmp_path)[1])
        assert program.is_file(), program


def test_a_benchmark_with_nothing_to_measure_exits_2_and_still_reports(run, tmp_path):
    report = tmp_path / "report.json"
    done = run([sys.executable, BENCHMARKS / "train.py", "--env", "cartpole", "--only", "jax", "--seeds", "1",
                "--wait", "0", "--json", report])  # fmt: skip
    assert done.returncode == 2 and "not installed" in done.stdout
    document = json.loads(report.read_text(encoding="utf-8"))
    assert document["schema"] == "benchmark/1" and document["runs"] == []
    assert [entry["contender"] for entry in document["summary"]] == ["jax"]
    assert {"machine", "load_after", "multiply_add_peak_gflops", "seeds", "goals"} <= set(document)


def test_a_folder_of_peers_that_does_not_exist_is_wrong_use(run, tmp_path):
    for program in ("train.py", "step.py"):
        done = run([sys.executable, BENCHMARKS / program, "--peers", tmp_path / "nowhere"])
        assert done.returncode == 2 and "make_peers.py" in done.stderr


def test_an_interrupted_benchmark_still_reports_and_leaves_nothing_running(tmp_path):
    report = tmp_path / "report.json"
    stand_in = tmp_path / "sb3" / "bin" / "python"
    stand_in.parent.mkdir(parents=True)
    stand_in.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid.part\nmv {tmp_path}/pid.part {tmp_path}/pid\nsleep 60\n")
    stand_in.chmod(0o755)
    program = [sys.executable, "-B", str(BENCHMARKS / "step.py"), "--peers", str(tmp_path), "--env", "cartpole",
               "--only", "gymnasium", "--wait", "0", "--json", str(report)]  # fmt: skip
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    end = time.monotonic() + 60
    while not (tmp_path / "pid").exists() and time.monotonic() < end:
        time.sleep(0.02)
    for _ in range(3):  # `timeout` sends two
        process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 143 and "gymnasium" in output
    assert json.loads(report.read_text(encoding="utf-8"))["interrupted"] is True
    started = int((tmp_path / "pid").read_text())
    assert proportional_set_mb(started) == 0


def test_a_report_that_cannot_be_written_is_found_before_measuring(run, tmp_path):
    for file, reason in ((tmp_path, "is a folder"), (tmp_path / "no" / "r.json", "there is no folder")):
        done = run([sys.executable, BENCHMARKS / "step.py", "--json", file])
        assert done.returncode == 2 and reason in done.stderr


def test_the_limits_of_the_machine_compile_and_run(tmp_path):
    try:
        limits.compiler()
    except limits.NoLimit as problem:
        pytest.skip(str(problem))
    assert limits.fma_peak_gflops(tmp_path, 1, seconds=0.03, best_of=1) > 1
    for program, variant in (("cartpole_loop_plain", "scalar"), ("cartpole_loop", "lanes")):
        command = limits.command(program, tmp_path, variant, 256, 0.02)
        line = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)
        # With random actions an episode of CartPole-v1 has about 22 steps: so it is that environment.
        assert line["variant"] == variant and 19 < line["episode_length"] < 24 and line["steps_per_second"] > 1e6
        assert subprocess.run([command[0]], capture_output=True, timeout=60, check=False).returncode == 2


def test_the_arithmetic_of_a_step_is_counted():
    assert contenders.dense_flop((4, 128, 3)) == 2 * (4 * 128 + 128 * 3) == 1792
    assert contenders.training_flop(1792, 1, contenders.dense_flop((4, 128))) == 7168 - 1024
    assert ours.space_sizes("cartpole") == (4, 2) and ours.space_sizes("squared") == (121, 5)
    assert ours.space_sizes("target") == (28, 14) and ours.space_sizes("nothing") is None


def test_a_goal_is_met_from_the_right_side():
    assert goals.Goal("x", 0.5, 0.4, at_most=True).met and not goals.Goal("x", 8e6, 7e6).met
    assert goals.Goal("x", 1.0, None).met is None
    assert "at most 0.500 s" in goals.goals_table([goals.Goal("x", 0.5, 0.4, "s", at_most=True)])
    assert goals.goals_table([goals.Goal("x", 1.0, None)]) == ""


def test_two_workers_are_compared_with_one():
    def row(key: str, speed: float) -> step.Row:
        result = {"contender": key, "seed": 1, "clean": True, "other_cores": 0.0, "result": {"steps_per_second": speed}}
        return step.Row(fake(key, "", is_ours=True), [result])

    found = step.goals_of({"cartpole": [row("ours-cartpole-rows-1", 100e6), row("ours-cartpole-rows-2", 190e6)]})
    assert [(goal.measured, goal.met) for goal in found] == [(100e6, True), (1.9, True)]


def test_recent_returns_solve_only_with_a_full_window():
    ticks = iter(range(100))
    recent = RecentReturns(10.0, lambda: float(next(ticks)), episodes=3)
    assert not recent.add(50.0, 1) and not recent.add(50.0, 2)
    assert recent.add(0.0, 3) and recent.solved_steps == 3 and recent.solved_seconds == 0.0
    recent.add(50.0, 4)
    assert recent.solved_steps == 3 and recent.mean() == pytest.approx(100 / 3)


def test_output_that_is_not_json_is_no_result(tmp_path):
    empty = Measured(0, False, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, "[1]\n{broken\n", "")
    with pytest.raises(contenders.Failed, match="exit status 0"):
        contenders.read_peer(empty, tmp_path)

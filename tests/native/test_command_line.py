"""The command line says what is wrong and what to do, and leaves nothing half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pufferlib.cli import VERBS
from pufferlib.environments import names

from .small_environments import write_environment
from .training_runs import assert_verifies, parts, short_plan, write_plan

QUICK = ["--train.total-timesteps", 1024, "--train.num-envs", 64, "--train.horizon", 16, "--train.minibatch-size", 1024]
QUICK += ["--train.target-return", "none"]


@pytest.mark.parametrize("verb", VERBS)
def test_help_fits_a_screen(puffer, verb):
    done = puffer(verb, "--help")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and not done.stderr
    assert len(lines) <= (80 if verb == "train" else 50)
    assert done.stdout.startswith(f"usage: puffer {verb}") and "exit status:" in done.stdout


def test_without_a_verb_there_is_help_and_a_status_of_wrong_use(puffer):
    done = puffer()
    assert done.returncode == 2 and all(f"  {verb}" in done.stdout for verb in VERBS)
    assert puffer("--help").returncode == 0
    assert puffer("--version").stdout.startswith("pufferlib-native ")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["trian", "cartpole"], "'trian'; did you mean 'train'"),
        (["train", "cartpol"], "'cartpol'; did you mean 'cartpole'"),
        (["envs", "brekout"], "'brekout'; did you mean 'breakout'"),
        (["build", "square"], "'square'; did you mean 'squared'"),
        (["train", "cartpole", "--train.learningrate", "1"], "did you mean --train.learning-rate?"),
        (["train", "cartpole", "--polcy.hidden=3"], "did you mean --policy.hidden?"),
        (["train", "cartpole", "--env.max_step", "5"], "'max_step'; did you mean 'max_steps'"),
        (["eval", "runs/x", "--episods", "3"], "did you mean --episodes?"),
        (["envs", "--jso"], "did you mean --json?"),
        (["doctor", "--jsn"], "did you mean --json?"),
    ],
)
def test_a_slip_gets_the_nearest_name(puffer, tmp_path, words, hint):
    done = puffer(*words, cwd=tmp_path)
    assert done.returncode == 2 and hint in done.stderr and "Traceback" not in done.stderr
    assert not any(p.name == "runs" for p in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--train.gamma", "1.5"], "train.gamma is 1.5, expected 0 to 1; nearest: 1"),
        (["--train.num-envs", "0"], "train.num_envs is 0, expected 1 to"),
        (["--train.num-envs", "many"], "train.num_envs is 'many', expected a number"),
        (["--train.num_envs", "2.5"], "train.num_envs is 2.5, expected a whole number"),
        (["--train.anneal-lr", "square"], "expected one of none, linear, cosine"),
        (["--policy.hidden", "64,x"], "expected widths like"),
        (["--policy.hidden", "4096"], "expected whole numbers from 1 to 1024"),
        (["--policy.activation", "sine"], "expected one of tanh, relu, gelu"),
        (["--env.gravity", "1000"], "environment.settings.gravity is 1000, expected 0 to 100; nearest: 100"),
        (["--env.max_steps", "2.5"], "expected a whole number; nearest: 2"),
        (["--env.gravity", "nan"], "expected a number"),
        (["--env.gravity", "heavy"], "--env.gravity is 'heavy', expected a number"),
        (["--workers", "-1"], "expected 0 (all usable cores) to 1024"),
        (["--train.minibatch-size", "1000"], "does not divide the batch"),
        (["--env", "breakout"], "unknown argument --env"),
    ],
)
def test_values_out_of_bounds_are_refused_and_no_folder_is_made(puffer, tmp_path, words, found):
    done = puffer("train", "cartpole", "--run-dir", tmp_path / "run", *words)
    assert done.returncode == 2, done.stderr
    assert found in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_run_from_flags_leaves_a_plan_that_says_so(puffer, tmp_path):
    flags = [
        "--env.max_steps",
        50,
        "--train.learning_rate=1e-3",
        "--policy.hidden",
        "8,4",
        "--policy.activation",
        "relu",
    ]
    done = puffer("train", *flags, "cartpole", "--run-dir", tmp_path / "run", "--workers", 1, *QUICK)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "run" / "report.html")
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())
    assert plan["train"]["learning_rate"] == 1e-3 and plan["train"]["total_timesteps"] == 1024
    assert plan["policy"] == {"network": "mlp", "hidden": [8, 4], "activation": "relu"}
    assert plan["environment"] == {"name": "cartpole", "api": "c", "settings": {"max_steps": 50}}
    assert_verifies(tmp_path / "run")
    kept = {"plan.json", "manifest.json", "metrics.jsonl", "replay.json", "report.html"}
    assert {p.name for p in (tmp_path / "run").iterdir()} == kept | {"checkpoint-0000000000001024.safetensors"}


def test_a_run_folder_that_exists_is_left_alone(puffer, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").write_text("precious")
    done = puffer("train", "cartpole", "--run-dir", tmp_path / "run")
    assert done.returncode == 2 and "exists" in done.stderr and "--resume" in done.stderr
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["mine"]


def test_a_file_where_a_folder_is_needed(puffer, tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "run"):
        done = puffer("train", "cartpole", "--run-dir", place)
        assert done.returncode in (1, 2) and str(place) in done.stderr and "Traceback" not in done.stderr
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--plan", "PLAN"], "--plan needs --run-dir"),
        (["--plan", "PLAN", "--run-dir", "RUN", "--train.seed", "2"], "leave seed out"),
        (["--plan", "PLAN", "--run-dir", "RUN", "--policy.hidden", "2"], "leave policy.hidden out"),
        (["cartpole", "--plan", "PLAN", "--run-dir", "RUN"], "leave cartpole out"),
        (["--resume"], "--resume takes --run-dir alone"),
        (["--resume", "--run-dir", "RUN", "--env.gravity", "3"], "--resume takes --run-dir alone"),
        (["--resume", "--run-dir", "RUN"], "there is no plan at"),
        (["--plan", "RUN/none.json", "--run-dir", "RUN"], "there is no plan at"),
        ([], "which environment?"),
    ],
)
def test_flags_that_contradict_each_other(puffer, tmp_path, words, found):
    plan = write_plan(tmp_path, short_plan())
    words = [word.replace("PLAN", str(plan)).replace("RUN", str(tmp_path / "run")) for word in words]
    done = puffer("train", *words, cwd=tmp_path)
    assert done.returncode == 2 and found in done.stderr and "Traceback" not in done.stderr
    assert [p.name for p in tmp_path.iterdir() if p.name != "home"] == ["plan.json"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[1]",
        b'{"schema": "plan/2", "schema": "plan/2"}',
        b'{"run": NaN}',
        b"\xff",
        b"[" * 100_000,
        b" " * (9 << 20),
    ],
)
def test_a_plan_that_is_none_is_refused(puffer, tmp_path, content):
    (tmp_path / "plan.json").write_bytes(content)
    done = puffer("train", "--plan", tmp_path / "plan.json", "--run-dir", tmp_path / "run")
    assert done.returncode == 2 and str(tmp_path / "plan.json") in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def limited(words, environment, kind, limit):
    """The command line in a child under a resource limit."""
    code = (
        f"import resource, sys; resource.setrlimit(resource.{kind}, ({limit}, {limit})); "
        "from pufferlib.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_full_disk_is_named_and_the_older_checkpoint_stays(puffer, puffer_environment, tmp_path):
    """Files may grow to 40 kB here; what a checkpoint needs grows with the policy."""
    puffer("build", "cartpole", timeout=300)
    folder = tmp_path / "small"
    write_plan(folder, short_plan("cartpole", hidden=(8,)))
    assert puffer("train", "--plan", folder / "plan.json", "--run-dir", folder).returncode == 0
    before = assert_verifies(folder)
    manifest = before | {"status": "interrupted"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    words = ["train", "--plan", folder / "plan.json", "--run-dir", folder, "--resume"]
    done = limited(words, puffer_environment, "RLIMIT_FSIZE", 2000)
    assert done.returncode == 1 and "cannot be written: File too large" in done.stderr, done.stderr
    assert str(folder) in done.stderr and "Traceback" not in done.stderr
    assert not parts(folder) and assert_verifies(folder)["checkpoint"] == before["checkpoint"]

    large = tmp_path / "large"
    write_plan(large, short_plan("cartpole", hidden=(64, 64)))
    done = limited(
        ["train", "--plan", large / "plan.json", "--run-dir", large], puffer_environment, "RLIMIT_FSIZE", 40_000
    )
    assert done.returncode == 1 and "checkpoint-0000000000000000.safetensors cannot be written" in done.stderr
    assert not parts(large) and {p.name for p in large.iterdir()} == {"plan.json", "metrics.jsonl"}


def test_too_little_memory_is_an_error_and_not_a_crash(puffer, puffer_environment, tmp_path):
    puffer("build", "cartpole", timeout=300)
    words = ["train", "cartpole", "--run-dir", tmp_path / "run", "--train.num-envs", 65536, "--train.horizon", 512]
    words += ["--train.minibatch-size", 65536 * 512, "--workers", 1]
    done = limited(words, puffer_environment, "RLIMIT_AS", 900 << 20)
    assert done.returncode == 1 and "out of memory: use fewer environments" in done.stderr, done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("words", [["envs", "--json"], ["envs"], ["train", "--help"], ["doctor"]])
def test_a_reader_that_left_is_no_accident(puffer_environment, words):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "pufferlib", *words], env=puffer_environment, stdin=subprocess.DEVNULL, stdout=writing,
        stderr=subprocess.PIPE, text=True, timeout=300, check=False,
    )  # fmt: skip
    os.close(writing)
    assert done.returncode == 1 and done.stderr == ""


def test_envs_lists_every_environment_in_full(puffer):
    done = puffer("envs", "--json", timeout=300)
    listed = {e["name"]: e for e in json.loads(done.stdout)}
    assert list(listed) == names()
    for name, e in listed.items():
        assert e["title"] and e["task"] and e["author"] and e["agents"] >= 1 and e["state_bytes"] > 0
        assert e["observation"]["dtype"] in ("float32", "uint8") and all(n > 0 for n in e["observation"]["shape"])
        assert e["action"]["type"] == ("discrete" if len(e["action"]["sizes"]) == 1 else "multi_discrete")
        assert e["settings"], name
        for s in e["settings"]:
            assert s["kind"] in ("int", "float") and s["low"] <= s["default"] <= s["high"] and s["help"], (name, s)
        for s in e["statistics"]:
            assert s["name"] and s["help"]
    assert listed["cartpole"]["observation"] == {"dtype": "float32", "shape": [4]}
    assert listed["cartpole"]["action"] == {"type": "discrete", "sizes": [2]}
    assert listed["breakout"]["observation"] == {"dtype": "float32", "shape": [118]}
    assert listed["squared"]["observation"] == {"dtype": "uint8", "shape": [11, 11]}
    assert listed["target"]["action"] == {"type": "multi_discrete", "sizes": [9, 5]} and listed["target"]["agents"] == 8


def test_envs_for_people(puffer):
    table = puffer("envs").stdout
    assert all(name in table for name in names())
    page = puffer("envs", "cartpole").stdout
    assert "float32(4)" in page and "max_steps" in page and "--env.NAME" in page and "balanced" in page


def test_eval_reports_the_policy_of_a_run(puffer, tmp_path):
    assert puffer("train", "squared", "--run-dir", tmp_path / "run", *QUICK).returncode == 0
    first, again, sampled = (
        json.loads(puffer("eval", tmp_path / "run", "--episodes", 20, "--json", *more).stdout)
        for more in ([], [], ["--sampled"])
    )
    assert first == again and first["episodes"] == 20 and first["environment"] == "squared"
    assert first["actions"] == "greedy" and sampled["actions"] == "sampled"
    assert first["weights_sha256"] == assert_verifies(tmp_path / "run")["weights_sha256"]
    assert first["return_min"] <= first["return_mean"] <= first["return_max"]
    for words, found in [(["nowhere"], "there is no run at"), ([tmp_path / "run", "--episodes", 0], "at least 1")]:
        done = puffer("eval", *words)
        assert done.returncode == 2 and found in done.stderr


def test_a_run_that_misses_its_goal_ends_with_1(puffer, tmp_path):
    done = puffer("train", "cartpole", "--run-dir", tmp_path / "run", *QUICK[:-1], 499)
    assert done.returncode == 1 and "budget ran out" in done.stderr
    manifest = assert_verifies(tmp_path / "run")
    assert manifest["status"] == "complete" and not manifest["goal_reached"]


def test_an_environment_outside_gives_its_name_and_place(puffer, tmp_path):
    write_environment(tmp_path / "mine", "counter")
    listed = json.loads(puffer("envs", "counter", "--env-path", tmp_path / "mine", "--json").stdout)
    assert [e["name"] for e in listed] == ["counter"]
    done = puffer("envs", "conter", "--env-path", tmp_path / "mine")
    assert done.returncode == 2 and "did you mean 'counter'" in done.stderr
    done = puffer("envs", "counter", "--env-path", tmp_path / "none")
    assert done.returncode == 2 and "holds no counter.h" in done.stderr


def test_doctor_tells_what_there_is(puffer):
    done = puffer("doctor", "--json", timeout=300)
    findings = json.loads(done.stdout)
    assert done.returncode == 0 and findings["ok"]
    assert [f["what"] for f in findings["findings"]] == ["python", "compiler", "cores", "cache", "engine", "nvcc"]

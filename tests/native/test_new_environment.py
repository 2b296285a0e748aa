"""Adding an environment is adding a folder: nothing else is edited, inside the package or outside of it."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from typing import Any

import pytest

from .conftest import PROFILE
from .small_environments import write_environment
from .training_runs import assert_verifies

FLAGS = ["--train.total-timesteps", 4096, "--train.num-envs", 64, "--train.horizon", 16, "--train.minibatch-size", 1024]
GUESS: dict[str, Any] = {
    "action": "DISCRETE(3)",
    "settings": 'SETTING(int, max_steps, 8, 1, 100, "steps") SETTING(float, pay, 2.0, 0.0, 10.0, "for a right guess")',
    "statistics": 'STATISTIC(length, "steps of the episode")',
    "step": "out->reward[0] = action[0][0] == 2 ? c->pay : 0.0f; if (s->steps >= c->max_steps) truncate_all(out);",
    "finish": "out->length = (float)s->steps;",
}


def digests(folder):
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in folder.rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }


def test_a_folder_in_a_copy_of_the_package_is_all_it_takes(tmp_path, run):
    copy = tmp_path / "native_profile"
    shutil.copytree(PROFILE / "pufferlib", copy / "pufferlib", ignore=shutil.ignore_patterns("__pycache__"))
    before = digests(copy)
    folder = copy / "pufferlib" / "ocean" / "guess"
    write_environment(folder, "guess", **GUESS)
    (folder / "train.json").write_text(json.dumps({"train": {"gamma": 0.5}, "policy": {"hidden": [8]}}))

    def puffer(*words):
        return run([sys.executable, "-m", "pufferlib", *map(str, words)], env={"PYTHONPATH": str(copy)}, timeout=300)

    assert "guess" in puffer("envs").stdout
    done = puffer("train", "guess", "--run-dir", tmp_path / "run", *FLAGS, "--env.pay", 3)
    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())
    assert plan["train"]["gamma"] == 0.5 and plan["policy"]["hidden"] == [8]
    assert assert_verifies(tmp_path / "run")["status"] == "complete"
    line = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    assert line["statistics"] == {"length": 8.0}
    after = digests(copy)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"pufferlib/ocean/guess/guess.h", "pufferlib/ocean/guess/train.json"}


@pytest.mark.parametrize("nested", [False, True])
def test_a_folder_outside_is_trained_evaluated_and_resumed(tmp_path, puffer, nested):
    outside = tmp_path / "mine"
    header = write_environment(outside / "guess" if nested else outside, "guess", **GUESS)
    before = digests(PROFILE)
    done = puffer("train", "guess", "--env-path", outside, "--run-dir", tmp_path / "run", *FLAGS, timeout=300)
    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())
    assert plan["environment"] == {"name": "guess", "api": "c", "settings": {}, "path": str(outside)}
    assert puffer("eval", tmp_path / "run", "--episodes", 3).returncode == 0
    assert puffer("train", "--resume", "--run-dir", tmp_path / "run").returncode == 0
    assert digests(PROFILE) == before and digests(outside) == {
        str(header.relative_to(outside)): hashlib.sha256(header.read_bytes()).hexdigest()
    }


def test_an_environment_without_settings_and_statistics_is_complete(tmp_path, puffer):
    """Empty structs are a byte long in C++ and nothing in C."""
    write_environment(tmp_path, "bare", settings="", step="if (s->steps >= 5) truncate_all(out);")
    done = puffer("train", "bare", "--env-path", tmp_path, "--run-dir", tmp_path / "run", *FLAGS)
    assert done.returncode == 0, done.stderr
    line = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    assert line["statistics"] == {} and line["length"] == 5.0
    assert puffer("envs", "bare", "--env-path", tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("pieces", "dtype", "shape"),
    [
        ({"observation": "U8(3, 4, 5)", "agents": 3, "action": "MULTI_DISCRETE(2, 3, 4, 5, 6)"}, "uint8", [3, 4, 5]),
        ({"observation": "F32(70)", "agents": 100}, "float32", [70]),
        ({"observation": "F32(1)", "action": "DISCRETE(1)"}, "float32", [1]),
        ({"action": f"MULTI_DISCRETE({', '.join(['2'] * 16)})"}, "float32", [3]),
    ],
)
def test_shapes_that_the_built_in_ones_do_not_have(tmp_path, make_trainer, pieces, dtype, shape):
    write_environment(tmp_path, "shapes", **pieces)
    agents = pieces.get("agents", 1)
    trainer = make_trainer(
        "shapes", tmp_path, num_envs=4, horizon=24, minibatch_size=4 * 24 * agents, hidden=(9,), workers=2
    )
    assert trainer.environment.describe()["observation"] == {"dtype": dtype, "shape": shape}
    for i in range(3):
        metrics = trainer.iterate()
        assert metrics.step == (i + 1) * 4 * 24 * agents
    assert metrics.episodes == 4 * agents * (72 // 10) and metrics.recent_return == 10.0
    assert trainer.evaluate(3, 1).lengths == [10] * 3 * agents

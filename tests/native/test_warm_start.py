"""A warm start takes the weights of a checkpoint and nothing else, says so, and refuses a file that does not fit."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from _skill.plans import plan as gate_plan
from _skill.plans import plan_environment, plan_making, plan_numbers
from _skill.plans import profile as gate_profile
from pufferlib import checkpoint
from pufferlib.environments import names
from pufferlib.plan import check_plan
from pufferlib.training import Run

from .training_runs import assert_verifies, read_manifest, short_plan, write_plan


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """The checkpoint of a short run."""
    folder = tmp_path_factory.mktemp("trained")
    plan = short_plan(total_timesteps=8192)
    assert Run(plan, write_plan(folder, plan).read_bytes(), folder).execute() == 0
    return folder / read_manifest(folder)["checkpoint"]["file"]


def warm_plan(file: Path, **options):
    plan = short_plan(total_timesteps=4096, **options)
    plan["start"] = {
        "kind": "warm",
        "checkpoint": str(file.resolve()),
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
    }
    return plan


def policy(file: Path) -> dict[str, bytes]:
    stored = checkpoint.Checkpoint(file)
    data = stored.content[stored._data :]
    return {name: data[t.begin : t.end] for name, t in stored.tensors.items() if name.startswith("policy.")}


def test_the_weights_are_taken_and_the_rest_is_new(trained, puffer, tmp_path):
    # With a learning rate next to nothing the weights stay what they were to a few digits.
    plan = warm_plan(trained, learning_rate=1e-12, seed=5)
    write_plan(tmp_path, plan)
    done = puffer("train", "--plan", tmp_path / "plan.json", "--run-dir", tmp_path)
    assert done.returncode == 0, done.stderr
    manifest = assert_verifies(tmp_path)
    assert manifest["step"] == 4096 and manifest["iteration"] == 2
    import numpy

    before, after = policy(trained), policy(tmp_path / manifest["checkpoint"]["file"])
    assert before.keys() == after.keys()
    for name in before:
        a, b = (numpy.frombuffer(weights[name], dtype=numpy.float32) for weights in (before, after))
        assert numpy.allclose(a, b, atol=1e-6), name
    assert any(numpy.frombuffer(weights, dtype=numpy.float32).any() for weights in before.values())


def test_it_is_said_out_loud_and_written_down(trained, puffer, tmp_path):
    plan = warm_plan(trained)
    write_plan(tmp_path, plan)
    done = puffer("train", "--plan", tmp_path / "plan.json", "--run-dir", tmp_path)
    assert "warm start: the weights of" in done.stdout + done.stderr
    assert "optimizer, step, random numbers and environments are new" in done.stdout + done.stderr
    assert f"warm start from weights of SHA-256 {plan['start']['sha256']}" in read_manifest(tmp_path)["reason"]


def test_a_private_copy_may_stand_in_for_the_named_file(trained, puffer, tmp_path):
    """The gate hands over the file that it has hashed, whatever has come in its place since."""
    plan = warm_plan(trained)
    plan["start"]["checkpoint"] = str(tmp_path / "gone.safetensors")
    write_plan(tmp_path, plan)
    copy = tmp_path / "start.safetensors"
    copy.write_bytes(trained.read_bytes())
    words = ["train", "--plan", tmp_path / "plan.json", "--run-dir", tmp_path]
    assert puffer(*words, "--start-from", copy).returncode == 0
    assert copy.exists()


@pytest.mark.parametrize("change", ["digest", "shape", "missing", "surplus", "cut", "fresh plan"])
def test_a_file_that_does_not_fit_is_refused_and_nothing_is_trained(trained, puffer, tmp_path, change):
    file = tmp_path / "start.safetensors"
    file.write_bytes(trained.read_bytes())
    content = file.read_bytes()
    if change == "missing":
        content = content.replace(b"policy.actor.bias", b"policy.actor.bios", 1)
    if change == "cut":
        content = content[:-4]
    file.write_bytes(content)
    hidden = {"shape": (32,), "surplus": (16,)}.get(change, (16,))
    plan = warm_plan(file, hidden=hidden)
    if change == "digest":
        plan["start"]["sha256"] = "0" * 64
    if change == "surplus":
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        end = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
        header["policy.other.weight"] = {"dtype": "F32", "shape": [1], "data_offsets": [end, end + 4]}
        words = json.dumps(header).encode()
        file.write_bytes(len(words).to_bytes(8, "little") + words + content[8 + length :] + b"\0\0\0\0")
        plan["start"]["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    if change == "fresh plan":
        plan["start"] = {"kind": "fresh"}
    run = tmp_path / "run"
    write_plan(run, plan)
    done = puffer("train", "--plan", run / "plan.json", "--run-dir", run, "--start-from", file)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    wanted = {
        "digest": "the plan says",
        "shape": "the plan needs",
        "missing": "policy.actor.bias",
        "surplus": "policy.other.weight",
        "cut": "not a whole safetensors file",
        "fresh plan": "--start-from needs a plan whose start is warm",
    }
    assert wanted[change] in done.stderr
    assert not (run / "manifest.json").exists()


def test_the_flag_alone_makes_a_warm_plan(trained, puffer, tmp_path):
    words = ["--start-from", trained, "--policy.hidden", "16", "--train.total-timesteps", 4096, "--workers", 1]
    done = puffer("train", "cartpole", "--run-dir", tmp_path / "run", "--train.target-return", "none", *words)
    assert done.returncode in (0, 1), done.stderr
    start = json.loads((tmp_path / "run" / "plan.json").read_text())["start"]
    assert start["kind"] == "warm" and start["checkpoint"] == str(trained.resolve())


def test_a_warm_run_that_was_interrupted_goes_on_with_its_own_state(trained, puffer, tmp_path):
    write_plan(tmp_path, warm_plan(trained))
    words = ["train", "--plan", tmp_path / "plan.json", "--run-dir", tmp_path]
    assert puffer(*words).returncode == 0
    done = puffer(*words, "--resume")
    assert done.returncode == 0 and "nothing to resume" in done.stdout + done.stderr


def test_resuming_is_no_kind_of_start_for_the_engine(puffer, tmp_path):
    plan = short_plan()
    plan["start"] = {"kind": "resume", "run": "runs/other"}
    write_plan(tmp_path, plan)
    done = puffer("train", "--plan", tmp_path / "plan.json", "--run-dir", tmp_path)
    assert done.returncode == 2 and "--resume" in done.stderr


@pytest.mark.parametrize("name", names())
def test_a_checkpoint_is_no_larger_than_a_plan_says(name, tmp_path):
    """The gate compares the bound with the disk limit before a run; it is computed without building anything."""
    document = plan_making.make(name, None, ["train.total_timesteps=1", "train.target_return=null"], "r")
    document["train"]["total_timesteps"] = 1
    read = gate_plan.parse(gate_plan.written(document), "plan")
    numbers = plan_numbers.derive(read, gate_profile.load("4.0"), plan_environment.load(read))
    write_plan(tmp_path, document)
    assert Run(check_plan(document, "plan"), (tmp_path / "plan.json").read_bytes(), tmp_path).execute() in (0, 1)
    file = tmp_path / read_manifest(tmp_path)["checkpoint"]["file"]
    stored = checkpoint.Checkpoint(file)
    weights = sum(t.end - t.begin for key, t in stored.tensors.items() if key.startswith("policy."))
    assert weights == 4 * numbers.parameters
    assert file.stat().st_size <= numbers.checkpoint_bytes
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= numbers.disk_bytes

"""Rules between the fields of a plan: each broken one is named, with a nearest value that then passes."""

from __future__ import annotations

import ast
import copy
import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from _skill import machine
from _skill.findings import Finding
from _skill.gate import tier
from _skill.machine import Machine
from _skill.plans import plan, plan_making, plan_numbers, plan_rules, profile, rules
from _skill.plans.environment_header import EnvironmentHeader, Setting

from .test_schemas import PLAN

PROFILE = profile.load("4.0")


def header(agents: int = 1, shape: tuple[int, ...] = (4,), kind: str = "float32") -> EnvironmentHeader:
    gravity = Setting("float", "gravity", 9.8, 0.1, 100.0, "")
    steps = Setting("int", "max_steps", 500, 1, 1000000, "")
    found = {"gravity": gravity, "max_steps": steps}
    return EnvironmentHeader("cartpole", "", "", "", agents, kind, shape, "DISCRETE", (2,), found, {})


def made(**changes: Any) -> plan.Plan:
    document = copy.deepcopy(PLAN)
    del document["environment"]["path"]
    document["network"] = []
    for name, value in changes.items():
        parts = name.split("__")
        target = document
        for part in parts[:-1]:
            target = target[part]
        target[parts[-1]] = value
    return plan.parse(json.dumps(document).encode(), "plan")


def found(agents: int = 1, shape: tuple[int, ...] = (4,), kind: str = "float32", **changes: Any) -> list[Finding]:
    return plan_rules.findings(made(**changes), PROFILE, header(agents, shape, kind))


def codes(**changes: Any) -> list[str]:
    return [finding.code for finding in found(**changes)]


def test_the_plan_of_the_documents_is_fine() -> None:
    assert found() == []
    numbers = plan_numbers.derive(made(), PROFILE, header())
    assert (numbers.agents, numbers.batch, numbers.minibatches, numbers.tiles, numbers.slices) == (
        2048,
        65536,
        4,
        32,
        128,
    )


def test_leftover_steps_are_refused_and_both_nearest_sizes_are_named() -> None:
    # Field case C01: 128 agents, horizon 60, minibatch 2040 leave steps over; 64 and 2048 fit.
    finding = found(train__num_envs=128, train__horizon=60, train__minibatch_size=2040)[0]
    assert (finding.code, finding.pointer) == ("batch.divides", "/train/minibatch_size")
    assert "128 agents x 60 steps = a batch of 7680" in finding.got
    assert "1560 steps would be left over" in finding.message
    assert codes(train__num_envs=128, train__horizon=64, train__minibatch_size=2048) == []


@pytest.mark.parametrize(
    ("changes", "code", "pointer"),
    [
        ({"train__minibatch_size": 131072}, "batch.exceeds", "/train/minibatch_size"),
        ({"train__num_envs": 96, "train__minibatch_size": 1536}, "batch.tile", "/train/num_envs"),
        ({"train__horizon": 36, "train__minibatch_size": 36864}, "batch.slice", "/train/horizon"),
        ({"train__num_envs": 64, "train__minibatch_size": 256}, "batch.slices", "/train/minibatch_size"),
        ({"train__total_timesteps": 65535}, "budget.batch", "/train/total_timesteps"),
        ({"evaluation__seed": 1}, "evaluation.seed", "/evaluation/seed"),
        ({"device": "cuda"}, "device.profile", "/device"),
        ({"environment__settings": {"gravty": 1.0}}, "environment.setting", "/environment/settings/gravty"),
        ({"environment__settings": {"max_steps": 5.5}}, "environment.setting_type", "/environment/settings/max_steps"),
        ({"environment__settings": {"gravity": 101}}, "environment.setting_range", "/environment/settings/gravity"),
    ],
)
def test_each_rule_names_its_field(changes: dict[str, Any], code: str, pointer: str) -> None:
    findings = found(**changes)
    assert [(finding.code, finding.pointer) for finding in findings] == [(code, pointer)]
    assert findings[0].got and findings[0].want and findings[0].fix


def test_one_minibatch_needs_no_whole_tiles() -> None:
    assert codes(train__num_envs=10, train__horizon=5, train__minibatch_size=50) == []


@given(st.integers(1, 400), st.integers(1, 80), st.integers(1, 40000), st.sampled_from([1, 8, 64, 100]))
def test_every_nearest_value_that_is_named_passes(num_envs: int, horizon: int, minibatch: int, agents: int) -> None:
    changes: dict[str, Any] = {
        "train__num_envs": num_envs,
        "train__horizon": horizon,
        "train__minibatch_size": minibatch,
    }
    findings = [f for f in found(agents=agents, **changes) if f.code.startswith("batch.")]
    assume(findings)
    alone, together = findings[0].fix.split("together ")
    changed = {f"train__{name}": int(value) for name, value in re.findall(r"(\w+) (\d+)", together)}
    assert len(changed) == 3
    assert not [c for c in codes(agents=agents, **changed) if c.startswith("batch.")]
    for name, value in re.findall(r"(num_envs|horizon|minibatch_size) (\d+)", alone):
        assert not [
            c for c in codes(agents=agents, **{**changes, f"train__{name}": int(value)}) if c.startswith("batch.")
        ]


def test_rollout_storage_is_counted_by_observation_type_and_compared_with_the_limit() -> None:
    # Field case C08: 84 x 84 x 4 bytes for each of 131072 steps.
    sizes: dict[str, Any] = {"train__num_envs": 2048, "train__horizon": 64, "train__minibatch_size": 32768}
    for kind, count in (("uint8", 3_699_376_128), ("float32", 14_797_504_512)):
        finding = found(shape=(84, 84, 4), kind=kind, **sizes)[0]
        assert (finding.code, finding.pointer) == ("memory.rollout", "/limits/memory_mb")
        assert f"{count} of them observations" in finding.got
        assert "2147483648 bytes" in finding.want
        assert "minibatch_size does not change this" in finding.fix


def on(cores: int = 16, **changes: Any) -> Machine:
    """A roomy machine."""
    plain = Machine("Linux", "x86_64", "3.11", cores, 64 << 30, 8 << 30, 100 << 30, (), "g++", {}, ())
    return plain._replace(**changes)


def test_workers_are_compared_with_the_cores_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    # Field case B01.
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)
    finding = found(vectorization__num_workers=16)[0]
    place = "/vectorization/num_workers"
    assert (finding.code, finding.pointer, finding.fix) == ("workers.cores", place, "num_workers 2")
    assert codes(vectorization__num_workers=2) == codes(vectorization__num_workers=0) == []


def test_a_worker_without_a_tile_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "usable_cores", lambda: 8)
    finding = found(vectorization__num_workers=4, train__num_envs=128, train__minibatch_size=4096)[0]
    assert (finding.code, finding.severity) == ("workers.tiles", "warning")


@pytest.mark.parametrize(
    ("seed", "evaluation", "code"),
    [
        (1, 1, "evaluation.seed"),
        (1, 2, "evaluation.seed_range"),
        (1, 2048, "evaluation.seed_range"),
        (1, 2049, None),
        (5000, 2953, "evaluation.seed_range"),
        (5000, 2952, None),
        (1, 1000001, None),
        (2**53 - 1, 2**53 - 2, "evaluation.seed_range"),
    ],
)
def test_no_environment_of_the_evaluation_has_a_seed_of_training(seed: int, evaluation: int, code: str | None) -> None:
    """2048 environments take the seeds from train.seed on."""
    changes: dict[str, Any] = {"train__seed": seed, "evaluation__seed": evaluation}
    findings = found(**changes)
    assert [finding.code for finding in findings] == ([code] if code else [])
    for finding in findings:
        for value in re.findall(r"seed (\d+)", finding.fix):
            assert 0 <= int(value) < 2**53
            assert codes(**{**changes, "evaluation__seed": int(value)}) == []


def test_many_episodes_need_as_many_seeds() -> None:
    assert codes(evaluation__episodes=100000, evaluation__seed=90000) == ["evaluation.seed_range"]
    assert codes(evaluation__episodes=100000, evaluation__seed=100001) == []


def test_checkpoints_fit_into_the_disk_limit() -> None:
    changes: dict[str, Any] = {"policy__hidden": [1024, 1024, 1024, 1024], "train__num_envs": 2048}
    numbers = plan_numbers.derive(made(**changes), PROFILE, header())
    assert numbers.parameters == (4 + 1) * 1024 + 3 * (1024 + 1) * 1024 + (1024 + 1) * 3
    assert numbers.disk_bytes > 2 * numbers.checkpoint_bytes > 2 * 12 * numbers.parameters
    finding = found(limits__disk_mb=64, **changes)[0]
    assert (finding.code, finding.pointer) == ("budget.disk", "/limits/disk_mb")
    assert str(numbers.disk_bytes) in finding.got and str(64 << 20) in finding.want
    named = re.search(r"disk_mb (\d+)", finding.fix)
    assert named and codes(limits__disk_mb=int(named[1]), **changes) == []
    assert codes(limits__disk_mb=int(named[1]) - 1, **changes) == ["budget.disk"]


def test_the_disk_itself_is_looked_at() -> None:
    findings = plan_rules.findings(made(), PROFILE, header(), on(disk_free_bytes=1 << 20))
    assert [finding.code for finding in findings] == ["budget.disk_free"]


@pytest.mark.parametrize(
    ("loggers", "code"),
    [
        (
            [{"kind": "jsonl"}, {"kind": "wandb", "mode": "offline"}, {"kind": "wandb", "mode": "disabled"}],
            "logger.twice",
        ),
        ([{"kind": "tensorboard"}], "logger.local"),
    ],
)
def test_each_logger_stands_once_and_the_local_one_is_there(loggers: list[Any], code: str) -> None:
    assert code in codes(loggers=loggers)


def test_facts_of_a_profile_decide_and_its_name_does_not() -> None:
    facts: dict[str, Any] = {
        "networks": ("lstm",),
        "devices": ("cuda",),
        "backends": ("serial",),
        "loggers": ("trackio",),
        "apis": (),
    }
    other = PROFILE._replace(
        name="x",
        supports=PROFILE.supports._replace(start_kinds=("warm",), **facts),
        launchable=False,
        reason="a test",
    )
    assert {finding.code for finding in plan_rules.findings(made(), other, header(), on())} == {
        "policy.network", "device.profile", "vector.backend", "logger.profile", "start.profile", "environment.api",
        "profile.not_launchable",
    }  # fmt: skip
    assert plan_rules.findings(made(), PROFILE._replace(name="x"), header(), on()) == []


def test_ranks_above_those_of_a_profile_are_refused() -> None:
    section = {"world_size": 4, "nodes": 1, "backend": "gloo", "timeout_seconds": 60}
    supports = PROFILE.supports._replace(max_world_size=2)
    some = PROFILE._replace(supports=supports, section_defaults={"distributed": section})
    findings = plan_rules.findings(made(distributed=section), some, header(), on())
    assert [finding.code for finding in findings] == ["distributed.profile"] and findings[0].fix == "world_size 2"


def test_a_run_that_goes_on_needs_the_file_that_it_started_from_no_more() -> None:
    warm = made(start={"kind": "warm", "checkpoint": "/nowhere/x.safetensors", "sha256": "0" * 64})
    assert [finding.code for finding in plan_rules.findings(warm, PROFILE, header(), on())] == ["file.unreadable"]
    assert plan_rules.findings(warm, PROFILE, header(), on(), resuming=True) == []


def test_every_finding_about_a_plan_says_what_was_found_what_was_expected_and_what_to_do() -> None:
    """Read from the source: code, message, place, got, want, fix."""
    folder = Path(rules.__file__).parent
    for path in (*folder.glob("*.py"), folder.parent / "plan.py", folder.parent / "resume_state.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                assert len(node.args) >= 6, f"{path.name}:{node.lineno}"
                assert not any(isinstance(a, ast.Constant) and a.value == "" for a in node.args), (
                    path.name,
                    node.lineno,
                )


def test_a_new_file_in_the_folder_is_a_new_rule() -> None:
    folder = Path(rules.__file__).parent
    assert set(rules.modules()) == {path.stem for path in folder.glob("*.py")} - {"__init__"}
    for name in rules.modules():
        module = importlib.import_module(f"_skill.plans.rules.{name}")
        assert module.__doc__ and callable(module.findings)


THREE = profile.load("3.0")
PLAN_THREE = plan_making.make("cartpole", None, [], "r", "3.0")
NAMES = ("num_envs", "horizon", "batch_size", "minibatch_size", "max_minibatch_size")


def three(sizes: tuple[int, ...], **vectorization: Any) -> plan.Plan:
    """A plan of profile 3.0 with the sizes NAMES."""
    document = copy.deepcopy(PLAN_THREE)
    document["train"].update(dict(zip(NAMES, sizes, strict=True)), total_timesteps=10**9)
    document["vectorization"].update({"num_workers": 1, "envs_per_batch": sizes[0], **vectorization})
    return plan.parse(plan.written(document), "plan")


def errors(made_plan: plan.Plan, cores: int = 64) -> list[Finding]:
    findings = plan_rules.findings(made_plan, THREE, header(), on(cores))
    return [finding for finding in findings if finding.severity == "error"]


@settings(max_examples=80)
@given(
    st.tuples(st.integers(1, 64), st.integers(1, 40), st.integers(1, 20000), st.integers(1, 5000), st.integers(1, 5000))
)
def test_every_nearest_size_of_segments_mends_what_it_is_named_for(sizes: tuple[int, ...]) -> None:
    for finding in errors(three(sizes)):
        if not finding.code.startswith("batch."):
            continue
        named = re.findall(r"(num_envs|horizon|max_minibatch_size|minibatch_size|batch_size) (\d+)", finding.fix)
        assert named, finding
        # "minibatch_size 64 with batch_size 640" go together; others stand alone.
        for change in [dict(named)] if " with " in finding.fix else [{name: value} for name, value in named]:
            mended = tuple(int(change.get(name, value)) for name, value in zip(NAMES, sizes, strict=True))
            assert finding.code not in {other.code for other in errors(three(mended))}, (finding, mended)


@settings(max_examples=100)
@given(st.integers(1, 64), st.integers(0, 70), st.integers(1, 80), st.booleans(), st.integers(1, 32))
def test_every_nearest_worker_count_and_block_passes(
    envs: int, workers: int, block: int, zero_copy: bool, cores: int
) -> None:
    sizes = (envs, 8, envs * 8, envs * 8, envs * 8)
    changes = {"num_workers": workers, "envs_per_batch": block, "zero_copy": zero_copy}
    for finding in errors(three(sizes, **changes), cores):
        for name, value in re.findall(r"(num_workers|envs_per_batch) (\d+)", finding.fix):
            after = errors(three(sizes, **{**changes, name: int(value)}), cores)
            assert finding.code not in {other.code for other in after}, (finding, name, value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"environment": {"name": "cartpole", "api": "c", "path": "/x", "settings": {}}}, "not built in"),
        ({"device": "cuda"}, "not cpu"),
        ({"network": ["example.org"]}, "names the network"),
        ({"train__total_timesteps": 1_000_000_001}, "train.total_timesteps"),
        ({"limits__wall_seconds": 3601}, "limits.wall_seconds"),
        ({"limits__memory_mb": 8193}, "limits.memory_mb"),
        ({"limits__disk_mb": 4097}, "limits.disk_mb"),
    ],
)
def test_anything_but_a_small_built_in_cpu_run_needs_a_person(changes: dict[str, Any], reason: str) -> None:
    assert tier.of(made()) == ("self", [])
    level, reasons = tier.of(made(**changes))
    assert level == "person"
    assert len(reasons) == 1 and reason in reasons[0]

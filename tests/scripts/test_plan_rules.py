"""Rules between the fields of a plan: each broken one is named, with a nearest value that then passes."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from _skill import machine
from _skill.findings import Finding
from _skill.gate import tier
from _skill.plans import plan, plan_numbers, plan_rules
from _skill.plans.environment_header import EnvironmentHeader, Setting
from _skill.plans.profile import Profile

from .test_schemas import PLAN

PROFILE = Profile("4.0", "", 64, 8, "pufferlib", {}, {}, ("cpu",))


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
    sizes = {"train__num_envs": 2048, "train__horizon": 64, "train__minibatch_size": 32768}
    for kind, count in (("uint8", 3_699_376_128), ("float32", 14_797_504_512)):
        finding = found(shape=(84, 84, 4), kind=kind, **sizes)[0]
        assert (finding.code, finding.pointer) == ("memory.rollout", "/limits/memory_mb")
        assert f"{count} of them observations" in finding.got
        assert "2147483648 bytes" in finding.want
        assert "minibatch_size does not change this" in finding.fix


def test_workers_are_compared_with_the_cores_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    # Field case B01.
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)
    finding = found(num_workers=16)[0]
    assert (finding.code, finding.pointer, finding.fix) == ("workers.cores", "/num_workers", "num_workers 2")
    assert codes(num_workers=2) == codes(num_workers=0) == []


def test_a_worker_without_a_tile_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "usable_cores", lambda: 8)
    finding = found(num_workers=4, train__num_envs=128, train__minibatch_size=4096)[0]
    assert (finding.code, finding.severity) == ("workers.tiles", "warning")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"environment": {"name": "cartpole", "path": "/x", "settings": {}}}, "not built in"),
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

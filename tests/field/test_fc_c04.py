"""FC-C04: wandb asks for a login, or stalls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Tool
from .plan_files import PLAN_3 as FOUR_WORKERS
from .plan_files import PLAN_4, changed, machine, write

DUMMY = "dummy-secret-123"
PLAN_3 = changed(FOUR_WORKERS, {"vectorization.num_workers": 1})
"""One worker, so that it passes on any machine."""


def plan(mode: str | None, **more: Any) -> dict[str, Any]:
    entry = {"kind": "wandb"} | ({} if mode is None else {"mode": mode})
    return changed(PLAN_3, {"loggers": [{"kind": "jsonl"}, entry], "network": ["api.wandb.ai"]} | more)


def test_online_without_a_credential_is_refused_before_anything_starts(tool: Tool, tmp_path: Path) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    answer = tool("validate_plan", write(tmp_path, plan("online")))
    assert answer.exit_status == 1
    finding = answer.finding("logger.credential")
    assert finding["pointer"] == "/loggers/1/mode"
    assert "WANDB_API_KEY" in finding["want"] and "offline" in finding["fix"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*before, "plan.json"])


def test_online_with_the_variable_set_is_accepted_and_its_value_never_shown(tool: Tool, tmp_path: Path) -> None:
    answer = tool("validate_plan", write(tmp_path, plan("online")), variables={"WANDB_API_KEY": DUMMY})
    assert "logger.credential" not in answer.codes and answer.exit_status == 0, answer.text
    assert DUMMY not in answer.text


@pytest.mark.parametrize("value", ["", " ", "\t", "\n"])
def test_an_empty_variable_is_no_credential(tool: Tool, tmp_path: Path, value: str) -> None:
    answer = tool("validate_plan", write(tmp_path, plan("online")), variables={"WANDB_API_KEY": value})
    assert "logger.credential" in answer.codes


def test_another_machine_s_variables_count_for_that_machine(tool: Tool, tmp_path: Path) -> None:
    path = write(tmp_path, plan("online"))
    there = machine(tmp_path, variables=["WANDB_API_KEY"])
    assert tool("validate_plan", path, "--machine", there).exit_status == 0
    without = machine(tmp_path, variables=["HF_TOKEN"])
    answer = tool("validate_plan", path, "--machine", without, variables={"WANDB_API_KEY": DUMMY})
    assert "logger.credential" in answer.codes and DUMMY not in answer.text


@pytest.mark.parametrize("mode", ["offline", "disabled"])
def test_offline_and_disabled_need_neither_key_nor_network(tool: Tool, tmp_path: Path, mode: str) -> None:
    answer = tool("validate_plan", write(tmp_path, plan(mode, network=[])))
    assert answer.exit_status == 0, answer.text


@pytest.mark.parametrize(
    ("mode", "near"), [("ofline", "offline"), ("Online", "online"), ("dryrun", ""), ("disable", "disabled")]
)  # fmt: skip
def test_an_unknown_mode_is_refused_with_the_nearest(tool: Tool, tmp_path: Path, mode: str, near: str) -> None:
    answer = tool("validate_plan", write(tmp_path, plan(mode)))
    assert answer.exit_status == 1
    finding = answer.finding("logger.mode")
    assert near in finding["fix"] and finding["want"] == "disabled, offline, online"


def test_no_mode_is_refused_since_the_library_s_default_is_online(tool: Tool, tmp_path: Path) -> None:
    answer = tool("validate_plan", write(tmp_path, plan(None)))
    assert answer.exit_status == 1 and answer.finding("logger.mode")["got"] == "nothing"


def test_online_without_a_host_in_the_plan_is_refused(tool: Tool, tmp_path: Path) -> None:
    answer = tool("validate_plan", write(tmp_path, plan("online", network=[])), variables={"WANDB_API_KEY": DUMMY})
    assert answer.codes[0] == "logger.network" or "logger.network" in answer.codes
    assert answer.exit_status == 1


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"kind": "wanb", "mode": "offline"}, "logger.kind"),
        ({"kind": "mlflow"}, "logger.kind"),
        ({"kind": "jsonl", "mode": "online"}, "logger.mode_unneeded"),
        ({"kind": "tensorboard", "mode": "offline"}, "logger.mode_unneeded"),
        ({"kind": "jsonl"}, "schema.unique"),
        ({"kind": "wandb", "mode": "offline", "api_key": "x" * 10}, "credential.literal"),
        ({"kind": "wandb", "modes": "offline"}, "schema.unknown_key"),
    ],
)
def test_other_mistakes_of_a_logger(tool: Tool, tmp_path: Path, entry: dict[str, str], code: str) -> None:
    document = changed(PLAN_3, {"loggers": [{"kind": "jsonl"}, entry]})
    answer = tool("validate_plan", write(tmp_path, document))
    assert answer.exit_status == 1 and code in answer.codes, answer.text


def test_the_local_log_cannot_be_left_out(tool: Tool, tmp_path: Path) -> None:
    document = changed(PLAN_3, {"loggers": [{"kind": "wandb", "mode": "offline"}]})
    answer = tool("validate_plan", write(tmp_path, document))
    assert answer.exit_status == 1 and "logger.local" in answer.codes


@pytest.mark.parametrize("kind", ["trackio", "tensorboard"])
def test_local_loggers_need_no_credential(tool: Tool, tmp_path: Path, kind: str) -> None:
    document = changed(PLAN_3, {"loggers": [{"kind": "jsonl"}, {"kind": kind}]})
    answer = tool("validate_plan", write(tmp_path, document))
    assert answer.exit_status == 0, answer.text


def test_a_profile_says_which_loggers_it_has(tool: Tool, tmp_path: Path) -> None:
    document = changed(PLAN_4, {"loggers": [{"kind": "jsonl"}, {"kind": "wandb", "mode": "offline"}]})
    answer = tool("validate_plan", write(tmp_path, document))
    assert answer.exit_status == 1 and "jsonl" in answer.finding("logger.profile")["fix"]


def test_a_package_that_is_missing_here_is_a_warning(tool: Tool, tmp_path: Path) -> None:
    answer = tool("validate_plan", write(tmp_path, plan("offline")), "--machine", machine(tmp_path, packages={}))
    assert answer.exit_status == 0 and answer.finding("logger.package")["severity"] == "warning"


def test_make_plan_refuses_it_as_well(tool: Tool, tmp_path: Path) -> None:
    loggers = 'loggers=[{"kind":"jsonl"},{"kind":"wandb","mode":"online"}]'
    words = ["make_plan", "cartpole", "--profile", "3.0", "--set", loggers, "--out", "plan.json"]
    answer = tool(*words)
    assert answer.exit_status == 1 and "logger.credential" in answer.codes
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.parametrize("kind", ["mlflow", "comet", "comet_ml", "clearml", "aim", "csv", "none"])
def test_a_service_that_is_not_known_is_answered_with_the_local_log(tool: Tool, tmp_path: Path, kind: str) -> None:
    loggers = [{"kind": "jsonl"}, {"kind": kind}]
    answer = tool("validate_plan", write(tmp_path, changed(PLAN_4, {"loggers": loggers})))
    assert answer.exit_status == 1 and "metrics.jsonl" in answer.finding("logger.kind")["fix"]

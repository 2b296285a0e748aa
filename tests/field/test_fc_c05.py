"""FC-C05: the logger's service is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Tool
from .plan_files import PLAN_3, PLAN_4, changed, write


@pytest.mark.parametrize("profile", [PLAN_3, PLAN_4], ids=["3.0", "4.0"])
@pytest.mark.parametrize(
    "kind", ["neptune", "Neptune", "NEPTUNE", "neptune.ai", "neptune-client", "neptune_scale", "NeptuneLogger"]
)
def test_neptune_is_refused_with_the_reason_and_what_there_is(
    tool: Tool, tmp_path: Path, profile: dict[str, object], kind: str
) -> None:
    answer = tool("validate_plan", write(tmp_path, changed(profile, {"loggers": [{"kind": "jsonl"}, {"kind": kind}]})))
    assert answer.exit_status == 1
    finding = answer.finding("logger.closed")
    assert "closed in March 2026" in finding["message"]
    assert "jsonl" in finding["want"] and "jsonl" in finding["fix"]
    # No other service on the network is suggested in its place.
    assert "wandb" not in finding["fix"] and "trackio" not in finding["fix"]


def test_a_token_in_the_environment_changes_nothing(tool: Tool, tmp_path: Path) -> None:
    path = write(tmp_path, changed(PLAN_3, {"loggers": [{"kind": "jsonl"}, {"kind": "neptune"}]}))
    answer = tool("validate_plan", path, variables={"NEPTUNE_API_TOKEN": "dummy-secret-123"})
    assert "logger.closed" in answer.codes and "dummy-secret-123" not in answer.text


def test_options_of_trainers_that_still_offer_it_are_answered(tool: Tool, tmp_path: Path) -> None:
    document = changed(PLAN_3, {})
    document["neptune"] = True
    answer = tool("validate_plan", write(tmp_path, document))
    finding = answer.finding("version.option")
    assert finding["pointer"] == "/neptune" and "loggers" in finding["fix"]


def test_make_plan_writes_no_such_plan(tool: Tool, tmp_path: Path) -> None:
    loggers = 'loggers=[{"kind":"jsonl"},{"kind":"neptune"}]'
    answer = tool("make_plan", "cartpole", "--set", loggers, "--out", "plan.json")
    assert answer.exit_status == 1 and "logger.closed" in answer.codes
    assert not (tmp_path / "plan.json").exists()

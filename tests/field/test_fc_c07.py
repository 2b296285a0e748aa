"""FC-C07: compiler or native extension missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Tool
from .plan_files import MACHINE, PLAN_3, PLAN_4, changed, machine, write

PACKAGES = MACHINE["packages"]


def check(tool: Tool, folder: Path, changes: dict[str, Any], **place: Any) -> Any:
    path = write(folder, changed(PLAN_3, changes))
    return tool("validate_plan", path, "--machine", machine(folder, **place))


def test_compile_without_a_compiler_is_refused(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, {"compile": True}, compiler=None)
    assert answer.exit_status == 1
    finding = answer.finding("compile.compiler")
    assert finding["pointer"] == "/compile" and "apt install g++" in finding["fix"] and "eager" in finding["fix"]
    assert check(tool, tmp_path, {"compile": True}).exit_status == 0
    assert check(tool, tmp_path, {"compile": False}, compiler=None).exit_status == 0


def test_compile_on_cuda_without_triton_is_refused(tool: Tool, tmp_path: Path) -> None:
    packages = {name: version for name, version in PACKAGES.items() if name != "triton"}
    answer = check(tool, tmp_path, {"compile": True, "device": "cuda"}, packages=packages)
    assert answer.exit_status == 1 and "triton" in answer.finding("compile.triton")["want"]
    assert check(tool, tmp_path, {"compile": True}, packages=packages).exit_status == 0


@pytest.mark.parametrize("version", ["2.9.0+cpu", "2.4.1+cpu.cxx11.abi"])
def test_cuda_with_a_build_for_the_cpu_is_refused(tool: Tool, tmp_path: Path, version: str) -> None:
    answer = check(tool, tmp_path, {"device": "cuda"}, packages={**PACKAGES, "torch": version})
    assert answer.exit_status == 1
    finding = answer.finding("device.build")
    assert finding["got"] == version and "cpu" in finding["fix"]
    for good in ("2.9.0", "2.9.0+cu128"):
        assert check(tool, tmp_path, {"device": "cuda"}, packages={**PACKAGES, "torch": good}).exit_status == 0


def test_cuda_without_a_device_is_refused(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, {"device": "cuda"}, devices=[])
    assert answer.exit_status == 1 and '"cpu"' in answer.finding("device.missing")["fix"]


@pytest.mark.parametrize(
    ("changes", "place", "fallback", "code"),
    [
        ({"compile": True}, {"compiler": None}, "eager", "compile.compiler"),
        ({"compile": True, "device": "cuda"}, {"packages": {"torch": "2.9.0"}}, "eager", "compile.triton"),
        ({"device": "cuda"}, {"packages": {"torch": "2.9.0+cpu"}}, "cpu", "device.build"),
    ],
)
def test_a_fallback_counts_only_where_the_plan_lists_it(
    tool: Tool, tmp_path: Path, changes: dict[str, Any], place: dict[str, Any], fallback: str, code: str
) -> None:
    other = "cpu" if fallback == "eager" else "eager"
    for listed, status in (([], 1), ([other], 1), ([fallback], 0), (["cpu", "eager"], 0)):
        answer = check(tool, tmp_path, {**changes, "fallbacks": listed}, **place)
        assert answer.exit_status == status, answer.text
        finding = answer.finding(code)
        assert finding["severity"] == ("error" if status else "warning")
        assert ("recorded" in finding["fix"]) == (not status)


def test_one_rank_without_a_device_may_fall_back_where_the_plan_lists_it(tool: Tool, tmp_path: Path) -> None:
    allowed = check(tool, tmp_path, {"device": "cuda", "fallbacks": ["cpu"]}, devices=[])
    assert allowed.exit_status == 0, allowed.text
    assert "recorded" in allowed.finding("device.missing")["fix"]
    refused = check(tool, tmp_path, {"device": "cuda"}, devices=[])
    assert refused.exit_status == 1 and refused.codes[0] == "device.missing"


def test_a_fallback_for_the_device_covers_no_ranks(tool: Tool, tmp_path: Path) -> None:
    """One rank may fall back to the CPU; two that miss their devices would end up on different ones."""
    changes = {"device": "cuda", "fallbacks": ["cpu"], "distributed.world_size": 2, "distributed.backend": "nccl"}
    answer = check(tool, tmp_path, changes, devices=[])
    assert answer.exit_status == 1 and "distributed.devices" in answer.codes


@pytest.mark.parametrize("fallbacks", [["gpu"], ["cpu", "cpu"], "cpu", None, ["CPU"], ["unsafe"]])
def test_other_fallbacks_do_not_exist(tool: Tool, tmp_path: Path, fallbacks: Any) -> None:
    answer = check(tool, tmp_path, {"fallbacks": fallbacks})
    assert answer.exit_status == 1 and answer.codes[0].startswith("schema.")


def test_packages_that_are_missing_are_named(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, {}, packages={})
    missing = [f["want"] for f in answer.report["findings"] if f["code"] == "package.missing"]
    assert missing == ["numpy", "torch"]


def test_the_compiler_of_this_machine_is_looked_for(tool: Tool, tmp_path: Path) -> None:
    path = write(tmp_path, changed(PLAN_3, {"compile": True}))
    answer = tool("validate_plan", path, variables={"PATH": str(tmp_path), "CXX": ""})
    assert "compile.compiler" in answer.codes
    answer = tool("validate_plan", path, variables={"CXX": "/nowhere/c++"})
    assert "compile.compiler" in answer.codes


def test_profile_4_says_what_it_does_not_have(tool: Tool, tmp_path: Path) -> None:
    answer = tool("validate_plan", write(tmp_path, changed(PLAN_4, {"compile": True, "device": "cuda"})))
    assert answer.exit_status == 1
    assert answer.finding("profile.key_unneeded")["pointer"] == "/compile"
    assert "3.0" in answer.finding("device.profile")["fix"]

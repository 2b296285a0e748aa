"""FC-C02: "resume" loads weights only."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Tool
from .plan_files import PLAN_3, PLAN_4, changed, machine, write

STEP = 1_000_000


def safetensors(
    tensors: dict[str, tuple[str, list[int]]],
    metadata: dict[str, str] | None = None,
    counters: tuple[int, ...] | None = None,
) -> bytes:
    """A whole file of zeros, but for `trainer.progress`."""
    sizes = {"F32": 4, "I64": 8, "I32": 4, "U8": 1}
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for name, (dtype, shape) in tensors.items():
        size = sizes[dtype]
        for length in shape:
            size *= length
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    words = json.dumps(header).encode()
    data = bytearray(end)
    if counters and "trainer.progress" in header:
        begin, stop = header["trainer.progress"]["data_offsets"]
        data[begin:stop] = struct.pack(f"<{len(counters)}q", *counters)
    return struct.pack("<Q", len(words)) + words + data


def weights_sha256(tensors: dict[str, tuple[str, list[int]]]) -> str:
    """The digest of the policy in a file of zeros."""
    digest = hashlib.sha256()
    for name, (dtype, shape) in tensors.items():
        if name.startswith("policy."):
            digest.update(f"{name} {dtype} {shape}\n".encode() + bytes(4 * math.prod(shape)))
    return digest.hexdigest()


def entry(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"file": path.name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def trainer_state(folder: Path) -> dict[str, Any]:
    """A run of a trainer whose weights and state are separate files; everything is there."""
    run = folder / "runs" / "old"
    run.mkdir(parents=True)
    (run / "model.safetensors").write_bytes(safetensors({"policy.actor.weight": ("F32", [2, 64])}))
    (run / "trainer.safetensors").write_bytes(safetensors({"adam.first.actor.weight": ("F32", [2, 64])}))
    weights = entry(run / "model.safetensors")
    return {
        "schema": "trainer_state/1",
        "run": "old",
        "step": STEP,
        "update": 122,
        "weights": weights,
        "state": {
            **entry(run / "trainer.safetensors"),
            "weights_file": weights["file"],
            "weights_sha256": weights["sha256"],
            "step": STEP,
            "update": 122,
            "optimizer": {"kind": "adam", "updates": 976},
            "schedule": {"step": STEP, "total_timesteps": 20_000_000},
            "rng": ["torch", "numpy"],
        },
    }


def resume(tool: Tool, folder: Path, manifest: Any) -> Any:
    (folder / "runs" / "old" / "manifest.json").write_text(json.dumps(manifest))
    document = changed(PLAN_3, {"start": {"kind": "resume", "run": "runs/old"}})
    return tool("validate_plan", write(folder, document), "--machine", machine(folder))


def test_a_whole_state_is_accepted(tool: Tool, tmp_path: Path) -> None:
    answer = resume(tool, tmp_path, trainer_state(tmp_path))
    assert answer.exit_status == 0, answer.text


def test_weights_without_a_trainer_state_are_refused(tool: Tool, tmp_path: Path) -> None:
    answer = resume(tool, tmp_path, trainer_state(tmp_path) | {"state": None})
    assert answer.exit_status == 1
    finding = answer.finding("start.part_missing")
    for part in ("optimizer", "step", "update", "schedule", "rng"):
        assert part in finding["message"]
    assert finding["pointer"] == "/start/run" and "warm" in finding["fix"]


def test_step_0_after_a_million_is_refused(tool: Tool, tmp_path: Path) -> None:
    manifest = trainer_state(tmp_path)
    manifest["state"]["step"] = 0
    answer = resume(tool, tmp_path, manifest)
    assert answer.exit_status == 1
    finding = answer.finding("start.part_conflict")
    assert "step" in finding["message"] and "0" in finding["got"] and "1000000" in finding["want"]


def test_a_state_that_names_other_weights_is_refused(tool: Tool, tmp_path: Path) -> None:
    manifest = trainer_state(tmp_path)
    manifest["state"]["weights_file"] = "model_000001.safetensors"
    finding = resume(tool, tmp_path, manifest).finding("start.part_conflict")
    assert "weights" in finding["message"]
    assert "model_000001" in finding["got"] and "model.safetensors" in finding["want"]


def drop(key: str) -> Callable[[dict[str, Any]], None]:
    def change(manifest: dict[str, Any]) -> None:
        del manifest["state"][key]

    return change


def put(place: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(manifest: dict[str, Any]) -> None:
        *parts, last = place.split(".")
        target = manifest
        for part in parts:
            target = target[part]
        target[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "code", "part"),
    [
        (drop("optimizer"), "start.part_missing", "optimizer"),
        (drop("step"), "start.part_missing", "step"),
        (drop("update"), "start.part_missing", "update"),
        (drop("schedule"), "start.part_missing", "schedule"),
        (drop("rng"), "start.part_missing", "rng"),
        (put("state.update", 0), "start.part_conflict", "update"),
        (put("state.step", STEP + 1), "start.part_conflict", "step"),
        (put("state.schedule.step", 0), "start.part_conflict", "schedule"),
        (put("state.schedule.total_timesteps", 10_000_000), "start.part_conflict", "schedule"),
        (put("state.optimizer.updates", 0), "start.part_conflict", "optimizer"),
        (put("state.weights_sha256", "0" * 64), "start.part_conflict", "weights"),
        (put("weights.sha256", "0" * 64), "start.part_conflict", "weights"),
        (put("weights.bytes", 7), "start.part_conflict", "weights"),
        (put("weights.file", "gone.safetensors"), "start.part_missing", "weights"),
        (put("state.file", "trainer_state.pt"), "start.part_missing", "optimizer"),
        (put("state.sha256", "0" * 64), "start.part_conflict", "optimizer"),
        (put("update", 0), "start.part_conflict", "update"),
        (put("state.rng", []), "schema.count", "rng"),
        (put("state.step", 1000000.0), "schema.type", "step"),
        (put("weights.file", "../../model.safetensors"), "schema.pattern", "weights"),
        (put("weights.file", "/etc/hostname"), "schema.pattern", "weights"),
        (put("schema", "trainer_state/9"), "start.manifest", "manifest"),
        (put("step", 20_000_000), "start.done", ""),
    ],
)
def test_each_part_that_is_missing_or_of_another_moment_is_named(
    tool: Tool, tmp_path: Path, change: Callable[[dict[str, Any]], None], code: str, part: str
) -> None:
    manifest = trainer_state(tmp_path)
    change(manifest)
    answer = resume(tool, tmp_path, manifest)
    assert answer.exit_status == 1
    found = [f for f in answer.report["findings"] if f["code"] == code]
    assert any(part in f["message"] + f["pointer"] for f in found), answer.text


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a":1,"a":2}', b"null", b'{"schema": "manifest/1"}'])
def test_a_manifest_that_cannot_be_read_is_no_pass(tool: Tool, tmp_path: Path, content: bytes) -> None:
    trainer_state(tmp_path)
    (tmp_path / "runs" / "old" / "manifest.json").write_bytes(content)
    document = changed(PLAN_3, {"start": {"kind": "resume", "run": "runs/old"}})
    answer = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path))
    assert answer.exit_status == 1 and not answer.text.count("Traceback")


def test_a_run_that_is_not_there_gets_the_nearest(tool: Tool, tmp_path: Path) -> None:
    trainer_state(tmp_path)
    document = changed(PLAN_3, {"start": {"kind": "resume", "run": "runs/odl"}})
    answer = tool("validate_plan", write(tmp_path, document), "--machine", machine(tmp_path))
    assert answer.exit_status == 1 and "runs/old" in answer.finding("start.run")["fix"]


@pytest.mark.parametrize(
    "run", ["old", "/abs/runs/old", "runs/../runs/old", "runs/", "runs/old/", "../old", "runs/Old"]
)
def test_a_run_is_named_in_one_way_only(tool: Tool, tmp_path: Path, run: str) -> None:
    document = changed(PLAN_3, {"start": {"kind": "resume", "run": run}})
    assert tool("validate_plan", write(tmp_path, document)).codes == ["schema.pattern"]


# The checkpoint of profile 4.0 holds everything in one file.

WHOLE: dict[str, tuple[str, list[int]]] = {
    "policy.hidden.0.weight": ("F32", [64, 4]),
    "policy.hidden.0.bias": ("F32", [64]),
    "policy.actor.weight": ("F32", [2, 64]),
    "policy.critic.weight": ("F32", [1, 64]),
    "policy.actor.bias": ("F32", [2]),
    "policy.critic.bias": ("F32", [1]),
}
ADAM = {f"adam.{m}.{name[7:]}": kind for m in ("first", "second") for name, kind in WHOLE.items()}
REST = {"trainer.progress": ("I64", [5]), "environment.states": ("U8", [128, 32])}


def native_run(
    folder: Path, tensors: dict[str, Any], counters: tuple[int, ...] = (122, 15616, 40, 0, 0), **changes: Any
) -> None:
    run = folder / "runs" / "native"
    run.mkdir(parents=True)
    file = run / f"checkpoint-{STEP:016d}.safetensors"
    file.write_bytes(safetensors(tensors, {"step": str(STEP)}, counters))
    manifest = {
        "schema": "manifest/1", "run": "native", "status": "interrupted", "reason": "signal 2", "iteration": 122,
        "step": STEP, "goal_reached": False, "weights_sha256": weights_sha256(tensors), "checkpoint": entry(file),
        "plan_sha256": "0" * 64, "evaluation": None,
        "engine": {"sources_sha256": "0" * 64, "library_sha256": "0" * 64, "compiler": "c++"},
        "seconds": {"build": 0.0, "train": 1.0, "evaluate": 0.0, "total": 1.0},
    }  # fmt: skip
    (run / "manifest.json").write_text(json.dumps(manifest | changes))


def check_native(tool: Tool, folder: Path, plan: dict[str, Any] = PLAN_3) -> Any:
    document = changed(plan, {"start": {"kind": "resume", "run": "runs/native"}})
    return tool("validate_plan", write(folder, document), "--machine", machine(folder))


@pytest.mark.parametrize(
    ("left_out", "part"),
    [
        ("policy.", "weights"),
        ("adam.first.", "optimizer"),
        ("adam.second.", "optimizer"),
        ("adam.first.actor.bias", "optimizer"),
        ("trainer.progress", "step"),
        ("environment.states", "rng"),
        ("nothing", ""),
    ],
)
def test_a_checkpoint_is_read_by_what_it_holds(tool: Tool, tmp_path: Path, left_out: str, part: str) -> None:
    everything = WHOLE | ADAM | REST
    native_run(tmp_path, {name: kind for name, kind in everything.items() if not name.startswith(left_out)})
    answer = check_native(tool, tmp_path)
    if left_out == "nothing":
        assert answer.exit_status == 0, answer.text
    else:
        assert answer.exit_status == 1
        assert any(part in f["message"] for f in answer.report["findings"] if f["code"] == "start.part_missing")


@pytest.mark.parametrize(("key", "value"), [("step", 0), ("step", STEP + 1), ("iteration", 0)])
def test_a_manifest_of_another_moment_is_refused(tool: Tool, tmp_path: Path, key: str, value: int) -> None:
    changes: dict[str, Any] = {key: value}
    native_run(tmp_path, WHOLE | ADAM | REST, **changes)
    answer = check_native(tool, tmp_path)
    assert answer.exit_status == 1 and "start.part_conflict" in answer.codes


@pytest.mark.parametrize("counters", [(0, 0, 0, 0, 0), (121, 15488, 40, 0, 0), (122, 0, 40, 0, 0), (-1, 1, 1, 0, 0)])
def test_counters_of_another_moment_are_refused(tool: Tool, tmp_path: Path, counters: tuple[int, ...]) -> None:
    """The step counter restarts at 0 where only the manifest remembers it."""
    native_run(tmp_path, WHOLE | ADAM | REST, counters)
    answer = check_native(tool, tmp_path)
    assert answer.exit_status == 1 and "start.part_conflict" in answer.codes


def test_a_manifest_that_names_other_weights_is_refused(tool: Tool, tmp_path: Path) -> None:
    native_run(tmp_path, WHOLE | ADAM | REST, weights_sha256="1" * 64)
    answer = check_native(tool, tmp_path)
    assert answer.exit_status == 1 and "weights" in answer.finding("start.part_conflict")["message"]


def test_profile_4_is_checked_and_then_sent_to_the_launcher(tool: Tool, tmp_path: Path) -> None:
    native_run(tmp_path, WHOLE | ADAM | REST)
    answer = check_native(tool, tmp_path, PLAN_4)
    assert answer.exit_status == 1 and [f["code"] for f in answer.report["findings"]] == ["start.profile"]
    assert "launch.py resume runs/native" in answer.finding("start.profile")["fix"]


# Warm and fresh starts.


def warm(file: Path, **more: Any) -> dict[str, Any]:
    digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else "0" * 64
    return {"kind": "warm", "checkpoint": str(file), "sha256": digest} | more


def check_warm(tool: Tool, folder: Path, start: dict[str, Any], plan: dict[str, Any] = PLAN_4) -> Any:
    return tool("validate_plan", write(folder, changed(plan, {"start": start})), "--machine", machine(folder))


@pytest.mark.parametrize("plan", [PLAN_4, PLAN_3], ids=["4.0", "3.0"])
def test_a_warm_start_needs_only_weights_that_fit(tool: Tool, tmp_path: Path, plan: dict[str, Any]) -> None:
    file = tmp_path.resolve() / "x.safetensors"
    file.write_bytes(safetensors(WHOLE))
    answer = check_warm(tool, tmp_path, warm(file), plan)
    assert answer.exit_status == 0, answer.text
    assert "warm" in json.dumps(answer.report["tier_reasons"]) + answer.text


@pytest.mark.parametrize(
    ("tensors", "code"),
    [
        ({**WHOLE, "policy.actor.weight": ("F32", [3, 64])}, "start.shape"),
        ({**WHOLE, "policy.actor.weight": ("I32", [2, 64])}, "start.shape"),
        ({**WHOLE, "policy.hidden.1.weight": ("F32", [64, 64])}, "start.shape"),
        ({name: kind for name, kind in WHOLE.items() if name != "policy.critic.bias"}, "start.shape"),
        (ADAM, "start.weights"),
        ({}, "start.weights"),
    ],
)
def test_weights_that_do_not_fit_are_refused(tool: Tool, tmp_path: Path, tensors: dict[str, Any], code: str) -> None:
    file = tmp_path.resolve() / "x.safetensors"
    file.write_bytes(safetensors(tensors))
    answer = check_warm(tool, tmp_path, warm(file))
    assert answer.exit_status == 1 and code in answer.codes


def test_a_file_that_changed_is_refused(tool: Tool, tmp_path: Path) -> None:
    file = tmp_path.resolve() / "x.safetensors"
    file.write_bytes(safetensors(WHOLE))
    start = warm(file)
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    answer = check_warm(tool, tmp_path, start)
    assert answer.exit_status == 1 and "start.digest" in answer.codes


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"1234567",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 100_000_001) + b"{}",
        safetensors(WHOLE)[:-1],
        safetensors(WHOLE) + b"\0",
        b"\x80\x04cos\ngetcwd\n(tR.",
        struct.pack("<Q", 2) + b"[]",
    ],
)
def test_what_is_no_whole_safetensors_file_is_refused(tool: Tool, tmp_path: Path, content: bytes) -> None:
    file = tmp_path.resolve() / "x.safetensors"
    file.write_bytes(content)
    answer = check_warm(tool, tmp_path, warm(file))
    assert answer.exit_status == 1 and "start.format" in answer.codes


def test_links_folders_and_missing_files_are_refused(tool: Tool, tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    file = folder / "x.safetensors"
    file.write_bytes(safetensors(WHOLE))
    (folder / "link").symlink_to(file)
    (folder / "folder").mkdir()
    for name in ("link", "folder", "gone"):
        path = folder / name
        start = warm(file) | {"checkpoint": str(path)}
        assert check_warm(tool, tmp_path, start).exit_status == 1, name


@pytest.mark.parametrize(
    ("start", "code"),
    [
        ({"kind": "fresh", "checkpoint": "/x"}, "start.unneeded"),
        ({"kind": "fresh", "run": "runs/a"}, "start.unneeded"),
        ({"kind": "warm"}, "start.incomplete"),
        ({"kind": "warm", "checkpoint": "/x"}, "start.incomplete"),
        ({"kind": "warm", "run": "runs/a"}, "start.incomplete"),
        ({"kind": "resume"}, "start.incomplete"),
        ({"kind": "resume", "run": "runs/a", "checkpoint": "/x"}, "start.unneeded"),
        ({"kind": "warn"}, "schema.enum"),
        ({}, "schema.required"),
        ({"kind": "warm", "checkpoint": "x.safetensors", "sha256": "0" * 64}, "schema.pattern"),
        ({"kind": "warm", "checkpoint": "/x", "sha256": "A" * 64}, "schema.pattern"),
    ],
)
def test_a_start_says_one_thing(tool: Tool, tmp_path: Path, start: dict[str, Any], code: str) -> None:
    answer = check_warm(tool, tmp_path, copy.deepcopy(start))
    assert answer.exit_status == 1 and code in answer.codes

"""Whether a run can be resumed: weights, optimizer, step, update, schedule, random numbers, all of one moment.

A run says what it saved in its manifest.json: `manifest/1` (one checkpoint with everything) or `trainer_state/1`
(weights and state apart). What is named is looked at: sizes, digests, and the checkpoint's header.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .. import strict_json, text
from ..findings import Finding, Refusal
from ..json_schema import Schema
from . import checkpoint_header
from .checkpoint_header import CheckpointHeader

MANIFEST = "manifest.json"
PARTS = ("weights", "optimizer", "step", "update", "schedule", "rng")
_PLACE = "/start/run"
_GROUPS = (
    ("weights", ("policy.",)),
    ("optimizer", ("adam.first.", "adam.second.")),
    ("step, update and schedule", ("trainer.progress",)),
    ("rng", ("environment.states",)),
)
"""Parts of a checkpoint with everything, by the names of its tensors. A C environment holds its generators itself."""
_WARM = 'resume from an older checkpoint of the run, or start "warm": the weights alone, with everything else new'


def findings(folder: str, plan_total: int) -> Iterator[Finding]:
    """Why the run in `folder` cannot be resumed by a plan with `plan_total` timesteps."""
    path = os.path.join(folder, MANIFEST)
    if not os.path.lexists(path):
        yield _missing("weights", "the folder holds no manifest.json, so nothing was saved", folder)
        return
    try:
        manifest = strict_json.loads(strict_json.read_file(path), MANIFEST)
    except Refusal as refusal:
        yield from refusal.findings
        return
    kind = manifest.get("schema") if isinstance(manifest, dict) else None
    name = {"manifest/1": "manifest", "trainer_state/1": "trainer_state"}.get(str(kind))
    if name is None:
        yield Finding(
            "start.manifest",
            "the run's manifest is of an unknown form",
            f"{_PLACE}",
            text.shown(kind),
            "manifest/1 or trainer_state/1",
            _WARM,
        )
        return
    wrong = Schema.shipped(name).findings(manifest)
    if wrong:
        yield from (finding._replace(pointer=f"{MANIFEST}#{finding.pointer}") for finding in wrong)
        return
    if name == "manifest":
        yield from _whole_checkpoint(folder, manifest, plan_total)
    else:
        yield from _separate_state(folder, manifest, plan_total)


def _whole_checkpoint(folder: str, manifest: dict[str, Any], plan_total: int) -> Iterator[Finding]:
    named = manifest["checkpoint"]
    yield from _file(folder, named, "weights")
    try:
        header = checkpoint_header.read(os.path.join(folder, named["file"]))
    except Refusal as refusal:
        yield from refusal.findings
        return
    for part, prefixes in _GROUPS:
        for prefix in prefixes:
            if not header.group(prefix):
                yield _missing(part, f"the checkpoint holds no {prefix.rstrip('.')}", named["file"])
    weights, first = header.group("policy."), header.group("adam.first.")
    lost = sorted(name for name in weights if first and "adam.first." + name[7:] not in first)
    if lost:
        yield _missing("optimizer", f"{text.escaped(lost[0], 60)} has no moments", named["file"])
    step = manifest["step"]
    stated = {"the checkpoint's name": int(named["file"][11:27])}
    if header.metadata.get("step", "").isdigit():
        stated["the checkpoint's metadata"] = int(header.metadata["step"][:17])
    for where, found in stated.items():
        if found != step:
            yield _conflict("step", f"{where} says {found}", f"{step}, as the manifest says")
    if step and not manifest["iteration"]:
        yield _conflict("update", f"0 updates after {step} steps", "at least 1")
    yield from _counters(os.path.join(folder, named["file"]), header, manifest)
    if step >= plan_total:
        yield _done(step, plan_total)


def _counters(path: str, header: CheckpointHeader, manifest: dict[str, Any]) -> Iterator[Finding]:
    """Whether the weights and the trainer's own counters in the file are those of the manifest's moment."""
    iteration = manifest["iteration"]
    numbers = checkpoint_header.integers(path, header, "trainer.progress", 64)
    if header.group("trainer.progress") and len(numbers) < 2:
        yield _conflict("step", "trainer.progress is no list of whole numbers", "iterations, updates and episodes")
    elif numbers and numbers[0] != iteration:
        yield _conflict("step", f"the trainer stands at iteration {numbers[0]}", f"{iteration}, as the manifest says")
    elif numbers and numbers[1] < iteration:
        yield _conflict("update", f"{numbers[1]} gradient steps after {iteration} iterations", f"at least {iteration}")
    weights = checkpoint_header.group_sha256(path, header, "policy.")
    if header.group("policy.") and weights != manifest["weights_sha256"]:
        yield _conflict(
            "weights",
            f"the file's weights have SHA-256 {weights}",
            f"{manifest['weights_sha256']}, as the manifest says",
        )


def _separate_state(folder: str, manifest: dict[str, Any], plan_total: int) -> Iterator[Finding]:
    weights, state, step = manifest["weights"], manifest["state"], manifest["step"]
    yield from _file(folder, weights, "weights")
    if state is None:
        yield _missing("optimizer, step, update, schedule and rng", "only the weights were saved", MANIFEST)
        return
    yield from _file(folder, state, "optimizer, step, update, schedule and rng")
    if (state["weights_file"], state["weights_sha256"]) != (weights["file"], weights["sha256"]):
        yield _conflict(
            "weights",
            f"the state belongs to {text.escaped(state['weights_file'], 80)} ({state['weights_sha256'][:12]}...)",
            f"{text.escaped(weights['file'], 80)} ({weights['sha256'][:12]}...)",
        )
    for part in PARTS[1:]:
        if part not in state:
            yield _missing(part, f"the state holds no {part}", MANIFEST)
    for part, expected in (("step", step), ("update", manifest["update"])):
        if part in state and state[part] != expected:
            yield _conflict(part, f"the state says {state[part]}", f"{expected}, as the weights say")
    if step and not manifest["update"]:
        yield _conflict("update", f"0 updates after {step} steps", "at least 1")
    schedule = state.get("schedule")
    if schedule is not None and schedule["step"] != step:
        yield _conflict("schedule", f"the schedule stands at step {schedule['step']}", str(step))
    if schedule is not None and schedule["total_timesteps"] != plan_total:
        yield _conflict(
            "schedule", f"it runs over {schedule['total_timesteps']} steps", f"{plan_total}, as the plan says"
        )
    optimizer = state.get("optimizer")
    if optimizer is not None and step and not optimizer["updates"]:
        yield _conflict("optimizer", f"moments of 0 gradient steps after {step} steps", "at least 1")
    if step >= plan_total:
        yield _done(step, plan_total)


def _file(folder: str, named: dict[str, Any], part: str) -> Iterator[Finding]:
    """The named file is there, has the size, then the digest."""
    path = os.path.join(folder, named["file"])
    if not os.path.lexists(path):
        yield _missing(part, f"the manifest names {named['file']}, and it is not there", named["file"])
        return
    size = os.lstat(path).st_size
    if size != named["bytes"]:
        yield _conflict(part, f"{named['file']} has {size} bytes", f"{named['bytes']}, as the manifest says")
        return
    try:
        digest = checkpoint_header.sha256(path)
    except Refusal as refusal:
        yield from refusal.findings
        return
    if digest != named["sha256"]:
        yield _conflict(part, f"{named['file']} has SHA-256 {digest}", f"{named['sha256']}, as the manifest says")


def _missing(part: str, why: str, where: str) -> Finding:
    return Finding(
        "start.part_missing",
        f"the run cannot be resumed; missing: {part} ({why})",
        _PLACE,
        text.escaped(where),
        "all of " + ", ".join(PARTS),
        _WARM,
    )


def _conflict(part: str, got: str, want: str) -> Finding:
    return Finding(
        "start.part_conflict", f"the run cannot be resumed; of another moment: {part}", _PLACE, got, want, _WARM
    )


def _done(step: int, total: int) -> Finding:
    return Finding(
        "start.done",
        "the run is already trained for the whole budget",
        "/train/total_timesteps",
        str(total),
        f"more than {step}",
        f"total_timesteps {2 * step}",
    )

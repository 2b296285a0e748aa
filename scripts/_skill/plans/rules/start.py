"""Where the weights come from: a warm start's checkpoint fits, a resumed run has everything."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ... import layout, text
from ...findings import Finding, Refusal
from .. import checkpoint_header, resume_state
from . import Case


def findings(case: Case) -> Iterator[Finding]:
    """What is missing for the kind of start; then whether the profile can make it."""
    if case.resuming:
        return
    start = case.plan.start
    kind = start["kind"]
    if kind == "warm":
        yield from _warm(case, start["checkpoint"], start["sha256"])
    elif kind == "resume":
        folder = os.path.join(os.path.realpath(os.getcwd()), *start["run"].split("/"))
        if os.path.realpath(folder) != folder or not os.path.isdir(folder):
            yield Finding(
                "start.run",
                "there is no such run in this folder",
                "/start/run",
                text.shown(start["run"]),
                f"a folder in {layout.RUNS}/, not a link",
                f"did you mean {near}?" if (near := _near_run(start["run"])) else "work in the folder that holds it",
            )
        else:
            yield from resume_state.findings(folder, case.plan.train["total_timesteps"])
    if kind not in case.profile.supports.start_kinds:
        instead = case.profile.supports.instead.get(kind, "").replace("RUN", start.get("run", ""))
        yield Finding(
            "start.profile",
            f"a plan of profile {case.profile.name} cannot ask for this kind of start",
            "/start/kind",
            text.shown(kind),
            text.listed(case.profile.supports.start_kinds),
            instead or f'use "{case.profile.supports.start_kinds[0]}"',
        )


def _near_run(run: str) -> str | None:
    try:
        names = os.listdir(layout.runs_folder())[:10_000]
    except OSError:
        return None
    return text.nearest(run, [f"{layout.RUNS}/{name}" for name in names if not name.startswith(".")])


def _warm(case: Case, path: str, sha256: str) -> Iterator[Finding]:
    place = "/start/checkpoint"
    if os.path.realpath(path) != path:
        yield Finding(
            "start.path",
            "the checkpoint must be named by its absolute path without links",
            place,
            text.shown(path),
            "no link on the way",
            text.shown(os.path.realpath(path)),
        )
        return
    try:
        header = checkpoint_header.read(path)
        digest = checkpoint_header.sha256(path)
    except Refusal as refusal:
        yield from (finding._replace(pointer=place) for finding in refusal.findings)
        return
    if digest != sha256:
        yield Finding(
            "start.digest",
            "the checkpoint is not the one that the plan names",
            "/start/sha256",
            digest,
            sha256,
            "look at where the file comes from; if it is the right one, write its digest into the plan",
        )
    weights = header.group("policy.")
    if not weights:
        yield Finding(
            "start.weights",
            "the checkpoint holds no weights of a policy",
            place,
            text.listed(header.tensors, 6) or "no tensor at all",
            "tensors called policy.*",
            "name a checkpoint of a run, such as runs/NAME/checkpoint-STEP.safetensors",
        )
        return
    wanted = _wanted(case)
    for name in sorted(wanted.keys() | weights.keys()):
        have, want = weights.get(name), wanted.get(name)
        if have is None or want is None or tuple(have) != ("F32", want):
            yield Finding(
                "start.shape",
                "the checkpoint's weights do not fit the plan's policy",
                place,
                f"{text.escaped(name, 80)}: " + (f"{have.dtype} {list(have.shape)}" if have else "not there"),
                f"F32 {list(want)}" if want else "no such tensor",
                "write the policy that the checkpoint was trained with: policy.hidden and the environment's spaces",
            )
            return


def _wanted(case: Case) -> dict[str, tuple[int, ...]]:
    """The tensors of the plan's network by name, shapes as (outputs, inputs)."""
    shapes: dict[str, tuple[int, ...]] = {}
    inputs = case.environment.observation_elements
    for index, width in enumerate(case.plan.document["policy"]["hidden"]):
        shapes[f"policy.hidden.{index}.weight"] = (width, inputs)
        shapes[f"policy.hidden.{index}.bias"] = (width,)
        inputs = width
    logits = sum(sum(leaf.sizes) if leaf.sizes else 2 * leaf.components for leaf in case.environment.action)
    for head, outputs in (("actor", logits), ("critic", 1)):
        shapes[f"policy.{head}.weight"] = (outputs, inputs)
        shapes[f"policy.{head}.bias"] = (outputs,)
    return shapes

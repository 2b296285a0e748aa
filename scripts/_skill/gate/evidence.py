"""Evidence that a run did what it promised, read from its folder: never taken from an exit status alone."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import Any, NamedTuple

from .. import strict_json, text
from ..findings import Finding, Refusal
from ..json_schema import Schema
from ..plans import checkpoint_header
from ..plans.plan import Plan
from .digest import same

MANIFEST = "manifest.json"
_PROOF = ("plan.", "approval", "manifest.", "checkpoint-", "output.", "start.")
MOST_FILES = 2000
"""Files of a run that its record names."""


class Evidence(NamedTuple):
    """What a run's folder proves."""

    manifest: dict[str, Any] | None
    """The manifest, where its form is right; None where there is none."""
    findings: list[Finding]
    """Why the last checkpoint does not verify; empty where it does."""

    @property
    def checkpoint(self) -> str | None:
        """The name of the last checkpoint that verifies."""
        return self.manifest["checkpoint"]["file"] if self.manifest is not None and not self.findings else None


def of(folder: str, plan: Plan) -> Evidence:
    """Reads the manifest in a run's folder and verifies the checkpoint and the plan that it names."""
    path = os.path.join(folder, MANIFEST)
    if not os.path.lexists(path):
        return Evidence(None, [Finding("evidence.manifest", "there is no manifest", MANIFEST)])
    try:
        manifest = strict_json.loads(strict_json.read_file(path), MANIFEST)
    except Refusal as refusal:
        return Evidence(None, refusal.findings)
    found = Schema.shipped("manifest").findings(manifest)
    if found:
        return Evidence(None, found)
    findings = [*_mismatches(manifest, plan), *_checkpoint(folder, manifest["checkpoint"])]
    return Evidence(manifest, findings or _weights(folder, manifest))


def incomplete(evidence: Evidence, plan: Plan) -> list[Finding]:
    """Why the run is not done, in findings; empty where everything that was promised is there."""
    if evidence.findings or evidence.manifest is None:
        return evidence.findings
    manifest = evidence.manifest
    found = []
    if manifest["status"] != "complete":
        found.append(Finding("evidence.status", "the run is not complete", MANIFEST, manifest["status"], "complete"))
    if not manifest["goal_reached"] and manifest["step"] < plan.train["total_timesteps"]:
        want = f"the goal, or {plan.train['total_timesteps']} steps"
        found.append(
            Finding("evidence.steps", "training stopped too early", MANIFEST, f"{manifest['step']} steps", want)
        )
    if manifest["evaluation"] is None:
        found.append(Finding("evidence.evaluation", "the policy was not evaluated", MANIFEST))
    return found


def file_digests(folder: str) -> dict[str, str]:
    """SHA-256 of the plain files in a run's folder that are not part of the audit log, by name, at most MOST_FILES.

    A name that does not print stands escaped: a record has to be readable whatever a run calls its files.
    """
    found = {}
    for name in file_names(folder)[:MOST_FILES]:
        found[text.escaped(name, 300)] = file_digest(os.path.join(folder, name))
    return found


def file_names(folder: str) -> list[str]:
    """The names of the plain files in a run's folder that are not part of the audit log, what proves most first."""
    names = (
        name
        for name in os.listdir(folder)
        if not name.startswith(("audit.", ".")) and stat.S_ISREG(os.lstat(os.path.join(folder, name)).st_mode)
    )
    return sorted(names, key=lambda name: (not name.startswith(_PROOF), name))


def file_digest(path: str) -> str:
    """SHA-256 of a plain file of a run."""
    return _digest(path)[1]


def _mismatches(manifest: dict[str, Any], plan: Plan) -> list[Finding]:
    found = []
    if not same(manifest["plan_sha256"], plan.sha256):
        found.append(
            Finding("evidence.plan", "the manifest is of another plan", MANIFEST, manifest["plan_sha256"], plan.sha256)
        )
    if manifest["run"] != plan.run:
        found.append(Finding("evidence.run", "the manifest is of another run", MANIFEST, manifest["run"], plan.run))
    step = int(manifest["checkpoint"]["file"][11:27])
    if step != manifest["step"]:
        found.append(
            Finding(
                "evidence.step",
                "checkpoint and manifest differ in their step",
                MANIFEST,
                str(step),
                str(manifest["step"]),
            )
        )
    return found


def _checkpoint(folder: str, named: dict[str, Any]) -> list[Finding]:
    path = os.path.join(folder, named["file"])
    try:
        # The size first: it is cheap, and a file cut short is the usual damage.
        size, sha256 = _digest(path, named["bytes"])
    except OSError as error:
        return [Finding("evidence.checkpoint", f"cannot read the checkpoint: {error.strerror}", named["file"])]
    if size != named["bytes"]:
        want = f"{named['bytes']} bytes"
        return [
            Finding("evidence.checkpoint", "the checkpoint has the wrong size", named["file"], f"{size} bytes", want)
        ]
    if not same(sha256, named["sha256"]):
        return [
            Finding("evidence.checkpoint", "the checkpoint has been changed", named["file"], sha256, named["sha256"])
        ]
    return []


def _weights(folder: str, manifest: dict[str, Any]) -> list[Finding]:
    """Whether the file is a whole checkpoint and holds the weights that the manifest tells of: bytes alone are easy."""
    name = manifest["checkpoint"]["file"]
    path = os.path.join(folder, name)
    try:
        header = checkpoint_header.read(path)
        found = checkpoint_header.group_sha256(path, header, "policy.")
    except Refusal as refusal:
        return [Finding("evidence.checkpoint", refusal.findings[0].message, name)]
    if not header.group("policy."):
        return [Finding("evidence.checkpoint", "the checkpoint holds no weights", name, want="tensors called policy.*")]
    if not same(found, manifest["weights_sha256"]):
        message = "the checkpoint holds other weights than the manifest tells of"
        return [Finding("evidence.checkpoint", message, name, found, manifest["weights_sha256"])]
    return []


def _digest(path: str, expected: int | None = None) -> tuple[int, str]:
    """Size and SHA-256 of a plain file; the hash is left out (empty) where the size is not the expected one."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(22, "not a plain file", path)
        if expected is not None and status.st_size != expected:
            return status.st_size, ""
        digest = hashlib.sha256()
        while block := os.read(handle, 1 << 20):
            digest.update(block)
        return status.st_size, digest.hexdigest()
    finally:
        os.close(handle)

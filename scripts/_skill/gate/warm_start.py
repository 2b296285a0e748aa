"""The weights that a warm start begins with: inspected and never loaded here, of the plan's digest, privately copied.

Only a safetensors file that the inspection finds safe is taken. Whatever else it is, or whatever could not be checked,
is refused: nothing tries again with a weaker check.
"""

from __future__ import annotations

import hashlib
import os

from .. import atomic_file, regular_file, text
from ..findings import COULD_NOT, PROBLEM, Finding, Refusal, errors_in
from ..plans.plan import Plan
from .digest import same

ITEM = "start checkpoint"


def items(plan: Plan) -> dict[str, str]:
    """The digest's item of the weights; empty where the start is not a warm one."""
    if plan.start["kind"] != "warm":
        return {}
    path = plan.start["checkpoint"]
    found = _inspected(path)
    _compare(plan, path, found)
    return {ITEM: found}


def copy(plan: Plan, target: str) -> dict[str, str]:
    """Copies the weights to the new file `target`, which is then inspected itself; the item of what was copied."""
    path = plan.start["checkpoint"]
    handle, status = regular_file.open_for_reading(path)
    try:
        if status.st_size > plan.limits.disk_mb << 20:
            raise Refusal(
                Finding(
                    "start.size",
                    "the weights are larger than the run's disk",
                    path,
                    text.byte_count(status.st_size),
                    f"at most {plan.limits.disk_mb} MiB",
                    "raise limits.disk_mb in a new plan",
                )
            )
        written = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o400)
        digest = hashlib.sha256()
        try:
            while block := os.read(handle, 1 << 20):
                digest.update(block)
                atomic_file.write_all(written, block)
            os.fsync(written)
        finally:
            os.close(written)
    finally:
        os.close(handle)
    _compare(plan, path, digest.hexdigest())
    found = _inspected(target)
    _compare(plan, path, found)
    return {ITEM: found}


def _inspected(path: str) -> str:
    """The digest of a file that the inspection finds to be safe weights."""
    from ..checkpoints import content, inspection

    with inspection.opened(path, "safetensors") as inspected:
        verdict, kind, found = inspected.content.verdict, inspected.content.kind, inspected.content.findings
        if verdict == content.SAFE and kind == "safetensors" and not errors_in(found) and len(inspected.sha256) == 64:
            return inspected.sha256
        refused = Finding(
            "start.refused",
            "the weights of the warm start were not found safe",
            path,
            f"{verdict.replace('_', ' ')} ({kind})",
            "a safetensors file that inspect_checkpoint.py finds safe",
            f"python3 scripts/inspect_checkpoint.py {text.escaped(path)}",
        )
        status = COULD_NOT if verdict == content.COULD_NOT_CHECK else PROBLEM
        raise Refusal(refused, *errors_in(found)[:10], exit_status=status)


def _compare(plan: Plan, path: str, found: str) -> None:
    if not same(found, plan.start["sha256"]):
        raise Refusal(
            Finding(
                "start.changed",
                "the weights of the warm start are not those that the plan names",
                path,
                found,
                plan.start["sha256"],
                "put them back, or plan again with the digest of what is there",
            )
        )

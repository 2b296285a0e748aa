"""The budget holds at least one batch, and the limits hold what the budget writes."""

from __future__ import annotations

from collections.abc import Iterator

from ... import text
from ...findings import Finding
from . import Case


def findings(case: Case) -> Iterator[Finding]:
    """What is wrong with total_timesteps and the limits on disk and time."""
    plan, numbers = case.plan, case.numbers
    total = plan.train["total_timesteps"]
    if total < numbers.batch:
        yield Finding(
            "budget.batch",
            "the budget is smaller than one batch",
            "/train/total_timesteps",
            str(total),
            f"at least {numbers.batch}",
            f"total_timesteps {numbers.batch}, or fewer num_envs or a shorter horizon",
        )
    limit = plan.limits.disk_mb << 20
    if numbers.disk_bytes > limit:
        yield Finding(
            "budget.disk",
            "the run's files do not fit into the disk limit",
            "/limits/disk_mb",
            f"{numbers.disk_bytes} bytes ({text.byte_count(numbers.disk_bytes)}): two checkpoints of "
            f"{numbers.checkpoint_bytes} bytes at the moment of writing, metrics and replay",
            f"at most {limit} bytes ({plan.limits.disk_mb} MiB)",
            f"disk_mb {-(-numbers.disk_bytes >> 20)}, or narrower policy.hidden, or fewer num_envs",
        )
    free = case.machine.disk_free_bytes
    if free is not None and numbers.disk_bytes > free:
        yield Finding(
            "budget.disk_free",
            "the run's files do not fit on the disk",
            "/limits/disk_mb",
            f"{numbers.disk_bytes} bytes",
            f"at most {free} bytes free",
            "free space, or work on another disk",
        )

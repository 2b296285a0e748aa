"""How many cores this process may use: the smaller of its affinity and its control group's quota."""

from __future__ import annotations

import os
from pathlib import Path

_CGROUP_V2 = Path("/sys/fs/cgroup")
_CGROUP_V1 = Path("/sys/fs/cgroup/cpu")


def usable_cores() -> int:
    """At least 1."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        cores = os.cpu_count() or 1
    quota = _quota()
    return max(1, cores if quota is None else min(cores, int(quota)))


def _quota() -> float | None:
    """Cores that the control group grants, or None without a limit. Every level above ours can set a smaller one."""
    quotas = []
    for folder in _own_groups():
        words = _read(folder / "cpu.max").split()
        if len(words) == 2 and words[0] != "max":
            quotas.append(float(words[0]) / float(words[1]))
    quota, period = _read(_CGROUP_V1 / "cpu.cfs_quota_us").strip(), _read(_CGROUP_V1 / "cpu.cfs_period_us").strip()
    if quota and period and float(quota) > 0:
        quotas.append(float(quota) / float(period))
    return min(quotas, default=None)


def _own_groups() -> list[Path]:
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        if line.startswith("0::/"):
            folder = _CGROUP_V2 / line[4:]
            return [f for f in [folder, *folder.parents] if f.is_relative_to(_CGROUP_V2)]
    return [_CGROUP_V2]


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(65536).decode("ascii", "replace")
    except OSError:
        return ""

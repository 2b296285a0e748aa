"""The settings that a sweep measures, and those that it leaves out with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..findings import Finding, Refusal
from .backends import Backend
from .setting import MOST_WORKERS, Setting, problems


class Candidates(NamedTuple):
    """Settings: the serial reference of each count first, then those with the most workers."""

    settings: list[Setting]
    left_out: list[tuple[Setting, Finding]]


def default_workers(cores: int) -> list[int]:
    """All cores, half and a quarter of them; one worker only where there is one core."""
    most = min(cores, MOST_WORKERS)
    return sorted({most, *(count for count in (most // 2, most // 4) if count >= 2)})


def default_environments(workers: Sequence[int]) -> list[int]:
    """Two counts that all these workers share evenly: few and many environments for each."""
    common = 1
    for count in workers:
        common = _least_common_multiple(common, count)
    if common > 512:
        common = max(workers)
    return [2 * common, 8 * common]


def make(
    backends: Mapping[str, Backend],
    workers: Sequence[int],
    environments: Sequence[int],
    batches: Sequence[int],
    cores: int,
    oversubscribe: bool,
) -> Candidates:
    """Every combination; `batches` are for the backends with surplus environments, by default half of the workers.

    Raises Refusal (exit 1) with every broken rule where a backend that was asked for has no setting left.
    """
    settings: list[Setting] = [Setting("serial", 1, count, count) for count in environments]
    left_out: list[tuple[Setting, Finding]] = []
    for name, backend in backends.items():
        if name == "serial":
            continue
        kept = 0
        broken: list[Finding] = []
        for count in environments:
            for worker in workers:
                for batch in _batches(backend, worker, count, batches):
                    setting = Setting(name, worker, count, batch)
                    found = problems(setting, cores, oversubscribe)
                    if found:
                        left_out.append((setting, found[0]))
                        broken.extend(found)
                    else:
                        settings.append(setting)
                        kept += 1
        if not kept and broken:
            raise Refusal(*broken)
    # What is likely to be best comes first: where time runs out in the first round, the rest is left out.
    settings.sort(key=lambda each: (each.backend != "serial", -each.workers, -each.environments))
    return Candidates(settings, left_out)


def _batches(backend: Backend, workers: int, environments: int, asked: Sequence[int]) -> Sequence[int]:
    """The batches of a backend: all environments, or with surplus ones what was asked for, else half of the workers."""
    if not backend.SURPLUS or environments % workers:
        return [environments]
    # One worker alone has no surplus.
    return asked or ([environments // workers * -(-workers // 2)] if workers > 1 else [])


def _least_common_multiple(left: int, right: int) -> int:
    from math import gcd

    return left * right // gcd(left, right)

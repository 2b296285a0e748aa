"""One way to run environments side by side, and the rules that its counts must keep."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..findings import Finding

MOST_WORKERS = 256
MOST_ENVIRONMENTS = 4096


class Setting(NamedTuple):
    """A backend and its counts; `batch` is how many environments one policy call waits for."""

    backend: str
    workers: int
    environments: int
    batch: int

    @property
    def per_worker(self) -> int:
        """Environments of one worker."""
        return self.environments // self.workers

    def as_json(self) -> dict[str, Any]:
        """The setting as a flat JSON object."""
        return {
            "backend": self.backend,
            "workers": self.workers,
            "environments": self.environments,
            "environments_per_worker": self.per_worker,
            "batch": self.batch,
        }

    def __str__(self) -> str:
        batch = f", batch {self.batch}" if self.batch != self.environments else ""
        return f"{self.backend}, {_counted(self.workers, 'worker')}, {self.environments} environments{batch}"


def problems(setting: Setting, cores: int, oversubscribe: bool) -> list[Finding]:
    """The rules that a setting breaks, each with the nearest valid values."""
    found = []
    _, workers, environments, batch = setting
    if environments % workers:
        found.append(
            Finding(
                "vectorization.divide",
                "the environments are not a multiple of the workers",
                str(setting),
                f"{environments} environments over {workers} workers",
                f"a multiple of {workers}",
                f"--envs {_near(environments, workers)}, or --workers {_near_divisors(environments, workers)}",
            )
        )
    elif batch % setting.per_worker or not 0 < batch <= environments:
        per_worker = setting.per_worker
        found.append(
            Finding(
                "vectorization.divide",
                "the batch is not a multiple of the environments of one worker",
                str(setting),
                f"a batch of {batch} with {per_worker} environments a worker",
                f"a multiple of {per_worker}, at most {environments}",
                f"--batch {_near(min(batch, environments), per_worker, environments)}",
            )
        )
    if workers > cores and not oversubscribe:
        found.append(
            Finding(
                "vectorization.cores",
                "more workers than cores that this process may use",
                str(setting),
                f"{workers} workers",
                f"at most {cores} (affinity and cgroup limit)",
                f"--workers {cores}, or --oversubscribe for workers that mostly wait",
            )
        )
    return found


def _near(value: int, step: int, most: int | None = None) -> str:
    """The multiples of `step` around `value`."""
    below = value // step * step
    both = {below or step, below + step if below != value else below}
    return " or ".join(str(each) for each in sorted(both) if most is None or each <= most)


def _near_divisors(value: int, near: int) -> str:
    divisors = sorted((each for each in range(1, value + 1) if value % each == 0), key=lambda each: abs(each - near))
    return " or ".join(str(each) for each in sorted(divisors[:2]))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")

"""Seeds of environments, and the check that every environment really drew from its own.

A seed is SHA-256 over (root, worker, environment): no two are equal by arithmetic, as `seed + index` is for two
roots, and none depends on what a process inherited.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..findings import Finding

RULE = "the first 8 bytes, big endian, without the top bit, of sha256('vectorization-seed/1:ROOT:WORKER:ENVIRONMENT')"


def derive(root: int, worker: int, environment: int) -> int:
    """The seed of one environment, 63 bits; `environment` counts over all workers."""
    import hashlib

    words = f"vectorization-seed/1:{root}:{worker}:{environment}".encode()
    return int.from_bytes(hashlib.sha256(words).digest()[:8], "big") >> 1


def findings(first: Sequence[bytes], workers: int, earlier: Sequence[bytes] | None) -> list[Finding]:
    """What the first observations of all environments say: each must differ from each, and be the same every time.

    `earlier` are those of an earlier run with the same root and layout.
    """
    unique = len(set(first))
    if unique < len(first):
        owners: dict[bytes, int] = {}
        pair = ""
        per_worker = len(first) // workers
        for index, observation in enumerate(first):
            other = owners.setdefault(observation, index)
            if other != index:
                pair = (
                    f"environments {other} (worker {other // per_worker}) and {index} (worker {index // per_worker})"
                    " start alike"
                )
                break
        return [
            Finding(
                "vectorization.seeds",
                f"environments drew the same numbers: {pair}",
                "first observations",
                f"{unique} unique of {len(first)}",
                f"{len(first)} unique of {len(first)}",
                "give each environment a generator of its own, seeded by (root, worker, environment); a generator that "
                "is global to the process is copied by fork",
            )
        ]
    if earlier is not None and list(earlier) != list(first):
        changed = sum(1 for before, now in zip(earlier, first, strict=True) if before != now)
        return [
            Finding(
                "vectorization.unseeded",
                "environments drew other numbers in a second run with the same seeds",
                "first observations",
                f"{changed} of {len(first)} changed",
                "the same numbers for the same seeds",
                "draw from a generator that the seed makes, not from one that seeds itself from the system",
            )
        ]
    return []

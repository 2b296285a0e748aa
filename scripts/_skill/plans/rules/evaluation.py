"""Evaluation plays other episodes than training: another seed, and no environment of the one in the other."""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import Finding
from . import Case


def findings(case: Case) -> Iterator[Finding]:
    """A seed of the evaluation that training uses too.

    Environment i of training draws from (train.seed, i). Engines that add the two would play episodes of
    evaluation.seed where it lies within num_envs of train.seed, so the two ranges are kept apart.
    """
    train, seed = case.plan.train["seed"], case.plan.document["evaluation"]["seed"]
    envs = max(case.plan.train["num_envs"], case.plan.document["evaluation"]["episodes"])
    far = train + max(1_000_000, envs)
    if far > (1 << 53) - 1:
        far = train - max(1_000_000, envs)
    if seed == train:
        yield Finding(
            "evaluation.seed",
            "evaluation would play the episodes that were trained on",
            "/evaluation/seed",
            str(seed),
            "a seed other than train.seed",
            f"seed {far}",
        )
    elif abs(seed - train) < envs:
        yield Finding(
            "evaluation.seed_range",
            "the seeds of training and evaluation environments overlap",
            "/evaluation/seed",
            f"{seed}, {abs(seed - train)} from train.seed {train}",
            f"at least {envs} apart: one seed for each environment or episode",
            f"the nearest valid: seed {train + envs if seed > train or train < envs else train - envs}, or seed {far}",
        )

"""Kinds of logger and what each needs: modes, a credential, the network, threads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Logger(NamedTuple):
    """Facts about one kind of logger."""

    title: str
    modes: tuple[str, ...] = ()
    online: tuple[str, ...] = ()
    """Modes that reach a hosted service."""
    variables: tuple[str, ...] = ()
    """Variables of which one must be set for that."""
    threads: bool = False
    package: str = ""
    refused: str = ""
    """Why it is never accepted."""


LOGGERS: dict[str, Logger] = {
    "jsonl": Logger("metrics.jsonl in the run's folder, one JSON object a line"),
    "tensorboard": Logger("event files in the run's folder", threads=True, package="tensorboard"),
    "trackio": Logger("a local dashboard", threads=True, package="trackio"),
    "wandb": Logger(
        "Weights & Biases",
        modes=("online", "offline", "disabled"),
        online=("online",),
        variables=("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE"),
        threads=True,
        package="wandb",
    ),
    "neptune": Logger("Neptune", refused="its hosted service closed in March 2026 and its data went with it"),
}


def with_threads(loggers: Iterable[dict[str, Any]]) -> list[str]:
    """The kinds of the plan's loggers that run a thread of their own in the trainer's process."""
    return [
        logger["kind"]
        for logger in loggers
        if logger["kind"] in LOGGERS and LOGGERS[logger["kind"]].threads and logger.get("mode") != "disabled"
    ]

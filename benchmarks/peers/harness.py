"""What the peer programs share: recent returns, the clock of a solve, and the one line of JSON that each prints.

Runs inside a peer's interpreter, so it uses nothing but the standard library.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

RECENT_EPISODES = 100


class RecentReturns:
    """Mean return of the most recent finished episodes, and the moment it first reached a target."""

    def __init__(self, target: float | None, clock: Callable[[], float], episodes: int = RECENT_EPISODES) -> None:
        self.target = target
        self.clock = clock
        self.returns: deque[float] = deque(maxlen=episodes)
        self.solved_steps: int | None = None
        self.solved_seconds: float | None = None

    def add(self, episode_return: float, step: int) -> bool:
        """Note one finished episode; True from the moment that the target was reached."""
        self.returns.append(episode_return)
        full = len(self.returns) == self.returns.maxlen
        if self.solved_steps is None and self.target is not None and full and self.mean() >= self.target:
            self.solved_steps = step
            self.solved_seconds = self.clock()
        return self.solved

    @property
    def solved(self) -> bool:
        """Whether the target was reached."""
        return self.solved_steps is not None

    def mean(self) -> float:
        """Mean return of the episodes held; 0 when there is none."""
        return sum(self.returns) / len(self.returns) if self.returns else 0.0


def training_parser(description: str, steps: int) -> argparse.ArgumentParser:
    """The flags that every training program has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=steps, help="budget of environment steps (default: %(default)s)")
    parser.add_argument("--target", type=float, default=475.0, help="mean return of the last 100 episodes to stop at")
    parser.add_argument("--threads", type=int, default=1, help="threads of the peer's library (default: %(default)s)")
    return parser


def report(fields: dict[str, Any]) -> None:
    """Print the result as one line of JSON."""
    print(json.dumps(fields, allow_nan=False), flush=True)
    sys.stdout.flush()

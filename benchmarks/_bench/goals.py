"""The numbers that this project sets itself, and a table of what was measured beside them.

A goal that is missed on a busy machine says little, so what was measured there is marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from _bench.summary import NOTHING, number, table


@dataclass(frozen=True)
class Goal:
    """One number to reach: at least `wanted`, or at most when `at_most`. `measured` is None when there is no result."""

    what: str
    wanted: float
    measured: float | None
    unit: str = ""
    at_most: bool = False
    disturbed: bool = False

    @property
    def met(self) -> bool | None:
        """Whether it was reached; None when it was not measured."""
        if self.measured is None:
            return None
        return self.measured <= self.wanted if self.at_most else self.measured >= self.wanted

    def row(self) -> list[str]:
        """Cells of the table."""
        unit = f" {self.unit}" if self.unit else ""
        bound = "at most" if self.at_most else "at least"
        measured = (
            NOTHING
            if self.measured is None
            else f"{number(self.measured)}{unit}" + (" (disturbed)" if self.disturbed else "")
        )
        return [
            self.what,
            f"{bound} {number(self.wanted)}{unit}",
            measured,
            {True: "yes", False: "no", None: NOTHING}[self.met],
        ]

    def record(self) -> dict[str, Any]:
        """As plain values for the JSON report."""
        return {"what": self.what, "unit": self.unit, "at_most": self.at_most, "wanted": self.wanted,
                "measured": self.measured, "met": self.met, "disturbed": self.disturbed}  # fmt: skip


def goals_table(goals: Sequence[Goal]) -> str:
    """All goals that were measured; empty when none was."""
    rows = [goal.row() for goal in goals if goal.measured is not None]
    return table(["goal", "wanted", "measured", "met"], rows) if rows else ""

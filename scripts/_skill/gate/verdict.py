"""What the end of a child process means: success needs exit status 0 and evidence, both."""

from __future__ import annotations

import signal
from typing import NamedTuple

from .. import text
from ..findings import COULD_NOT, INTERRUPTED, OK, PROBLEM, TERMINATED, Finding
from ..plans.plan import Plan
from ..process.child import MOST_PROCESSES, Outcome
from . import evidence
from .evidence import Evidence


class Verdict(NamedTuple):
    """The gate's answer about a run."""

    result: str
    """complete, goal_not_reached, interrupted, limit, ended_early, failed or refused."""
    exit_status: int
    findings: list[Finding]


def of(plan: Plan, outcome: Outcome, found: Evidence) -> Verdict:
    """The verdict about a child that has ended and the folder that it left."""
    if outcome.limit == "interpreter":
        return Verdict("refused", PROBLEM, [Finding("digest.changed", "the interpreter changed since it was hashed")])
    if outcome.limit == "processes":
        message = f"the run had more than {MOST_PROCESSES} processes and was killed"
        return Verdict("limit", PROBLEM, [Finding("limit.processes", message)])
    if outcome.limit is not None:
        value = plan.limits._asdict()[outcome.limit]
        message = f"the run broke its limit {outcome.limit} ({value}) and was stopped"
        fix = f"raise limits.{outcome.limit} in a new plan"
        return Verdict("limit", PROBLEM, [Finding("limit.reached", message, f"/limits/{outcome.limit}", fix=fix)])
    missing = evidence.incomplete(found, plan)
    if outcome.exit_status == 0 and not missing:
        return Verdict("complete", OK, [])
    if outcome.interrupted is not None:
        status = INTERRUPTED if outcome.interrupted == signal.SIGINT else TERMINATED
        name = signal.Signals(outcome.interrupted).name
        return Verdict("interrupted", status, [Finding("run.interrupted", f"{name} ended the run", severity="warning")])
    if outcome.exit_status == 0:
        early = Finding("run.ended_early", "the child says that it is done, but the evidence is missing")
        return Verdict("ended_early", PROBLEM, [early, *missing])
    if outcome.signal is not None:
        causes = {"SIGKILL": "the system may be out of memory", "SIGXFSZ": "raise limits.disk_mb in a new plan"}
        found_signal = Finding("run.killed", f"{outcome.signal} ended the child", fix=causes.get(outcome.signal, ""))
        return Verdict("failed", PROBLEM, [found_signal])
    if (
        outcome.exit_status == PROBLEM
        and not missing
        and found.manifest is not None
        and not found.manifest["goal_reached"]
    ):
        steps = plan.train["total_timesteps"]
        message = "the whole budget was trained, and the mean return has not reached the goal"
        fix = f"plan again with --set train.total_timesteps={2 * steps}, or with other settings"
        goal = Finding(
            "goal.not_reached", message, "/train/target_return", want=text.shown(plan.train["target_return"])
        )
        return Verdict("goal_not_reached", PROBLEM, [goal._replace(got=f"{steps} steps", fix=fix)])
    status = COULD_NOT if outcome.exit_status == 2 else PROBLEM
    return Verdict("failed", status, [Finding("run.failed", f"the child ended with exit status {outcome.exit_status}")])

"""Carries a request out: last checks, private copy, run folder, one child, evidence, audit record.

Nothing is written before the approval has been checked against what is on disk, and whatever cannot be finished
before the child starts is taken away again.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from .. import atomic_file, layout, text
from ..findings import COULD_NOT, TERMINATED, Finding, Refusal, Report
from ..plans.plan import Plan
from ..process import child
from . import approval, evidence, tier, verdict
from .approval import Approval
from .audit_log import AuditLog
from .evidence import Evidence
from .launch_request import LaunchRequest
from .run_place import RunPlace


def launch(request: LaunchRequest, given: Approval, report: Report) -> int:
    """Launches, waits for the end and reports; returns the exit status."""
    findings = approval.findings(given, request.plan, request.items, request.purpose, request.tier)
    if findings:
        raise Refusal(*findings)
    place = RunPlace(request, given)
    place.check()
    interpreter = os.stat(sys.executable)
    # SIGTERM from here on undoes what was made, as Ctrl-C does; once the child runs, both are passed on to it.
    signal.signal(signal.SIGTERM, _terminated)
    log = None
    try:
        if request.purpose == approval.RESUME:
            # First of all the lock: it says that nobody else works in this folder.
            log = AuditLog.reopen(request.run_folder)
            place.remove_copy()
            place.make_copy()
            place.record_resume(log)
        else:
            place.make_copy()
            log = place.open_run()
    except BaseException as error:
        place.take_away()
        if log is not None:
            log.close()
        if isinstance(error, OSError):
            raise atomic_file.unwritable(str(error.filename or layout.RUNS), error) from None
        raise
    try:
        return _run_child(request, log, interpreter, report)
    finally:
        log.close()
        place.remove_copy()


def _terminated(number: int, frame: object) -> None:
    raise SystemExit(TERMINATED)


def _run_child(request: LaunchRequest, log: AuditLog, interpreter: os.stat_result, report: Report) -> int:
    report.say(f"started     {layout.RUNS}/{request.plan.run}")
    try:
        outcome = child.supervise(
            request.command,
            request.variables,
            request.snapshot,
            request.plan.limits,
            request.run_folder,
            log.handle,
            # With --json our standard output belongs to the report alone.
            2 if report.as_json else None,
            interpreter,
        )
    except OSError as error:
        log.append(("ended", {"result": "not_started", "reason": text.escaped(str(error))}))
        raise Refusal(
            Finding("child.start", f"the child could not be started: {error.strerror}"), exit_status=COULD_NOT
        ) from None
    found = evidence.of(request.run_folder, request.plan)
    judged = verdict.of(request.plan, outcome, found)
    record: dict[str, Any] = {
        "result": judged.result,
        "exit_status": outcome.exit_status,
        "signal": outcome.signal,
        "limit": outcome.limit,
        "seconds": round(outcome.seconds, 3),
        "peak_memory_bytes": outcome.peak_memory_bytes,
        "last_verified_checkpoint": found.checkpoint,
        "findings": [text.escaped(f"{finding.code}: {finding.message}") for finding in judged.findings[:10]],
        "files": evidence.file_digests(request.run_folder),
    }
    log.append(("ended", record))
    report.findings.extend(judged.findings)
    report.results.update(result=judged.result, seconds=record["seconds"], last_verified_checkpoint=found.checkpoint)
    _say_files_and_next(request, found, judged.result, report)
    return report.finish(judged.exit_status, _summary(request, found, judged.result))


def _say_files_and_next(request: LaunchRequest, found: Evidence, result: str, report: Report) -> None:
    run = f"{layout.RUNS}/{request.plan.run}"
    verify = f"{layout.script('audit.py')} verify {run}"
    if result == "complete":
        next_commands = [
            verify,
            f"PYTHONPATH={layout.shown_path(layout.NATIVE_PROFILE)} python3 -m pufferlib eval {run}",
            _plan_again(request.plan),
        ]
    else:
        next_commands = [verify, f"{layout.script('audit.py')} show {run}"]
        if found.checkpoint and evidence.incomplete(found, request.plan):
            opt_in = " --opt-in" if request.tier == tier.SELF else ""
            next_commands.append(f"{layout.script('launch.py')} resume {run}{opt_in}")
    names = sorted(name for name in os.listdir(request.run_folder) if not name.startswith("."))
    sizes = {name: os.lstat(os.path.join(request.run_folder, name)).st_size for name in names}
    report.results.update(next=next_commands, files=[f"{run}/{name}" for name in names])
    report.say("files", *(f"  {run}/{name}  {text.byte_count(sizes[name])}" for name in names))
    report.say("next", *(f"  {command}" for command in next_commands))


def _plan_again(plan: Plan) -> str:
    """The command that plans the same environment with the next seed."""
    import shlex

    seed = plan.train["seed"] + 1
    folder = f" --env-path {shlex.quote(plan.environment_path)}" if plan.environment_path is not None else ""
    choice = f"--set train.seed={seed} --out {plan.environment}-{seed}.json"
    return f"{layout.script('make_plan.py')} {plan.environment}{folder} {choice}"


def _summary(request: LaunchRequest, found: Evidence, result: str) -> str:
    summary = f"{result}: {layout.RUNS}/{request.plan.run}"
    if result == "complete" and found.manifest is not None:
        played = found.manifest["evaluation"]
        return f"{summary}, mean return {played['return_mean']:.6g} over {played['episodes']} episodes"
    return f"{summary}, last verified checkpoint {found.checkpoint}" if found.checkpoint else summary

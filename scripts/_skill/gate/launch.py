"""Carries a request out: last checks, private copy, run folder, one child, evidence, audit record.

Nothing is written before the approval has been checked against what is on disk, and whatever cannot be finished
before the child starts is taken away again.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from .. import atomic_file, layout, text
from ..findings import COULD_NOT, OK, PROBLEM, TERMINATED, Finding, Refusal, Report
from ..plans.plan import Plan
from ..process import child
from ..process.child_output import OutputLog
from . import approval, child_command, consent, credential_variables, evidence, run_files, verdict
from .approval import Approval
from .audit_log import AuditLog
from .consent import Signature
from .evidence import Evidence
from .launch_request import LaunchRequest
from .run_place import RunPlace

OUTPUT = "output.log"
SHOWN_FILES = 100
MOST_OUTPUT_BYTES = 4 << 20
"""How much of the child's output is kept; a small run's disk gives less."""


def launch(request: LaunchRequest, given: Approval, report: Report, signatures: Sequence[Signature] = ()) -> int:
    """Launches, waits for the end and reports; returns the exit status."""
    findings = approval.findings(
        given, request.plan, request.items, request.purpose, request.tier, request.decision.longest_expiry
    )
    if given.document["approved_by"] == approval.OPT_IN and not request.opt_in_is_enough:
        # Only a policy that was loosened and then put back could get here; the digest says so as well.
        findings.append(Finding("tier.person", "--opt-in is not enough for this plan", "", request.tier))
    if findings:
        raise Refusal(*findings)
    signers = consent.check(given, signatures, request.decision.demands)
    place = RunPlace(request, given, signatures, signers)
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
            cache = _cache_folder(request)
            place.record_resume(log)
        else:
            place.make_copy()
            cache = _cache_folder(request)
            log = place.open_run()
    except BaseException as error:
        place.take_away()
        if log is not None:
            log.close()
        if isinstance(error, OSError):
            raise atomic_file.unwritable(str(error.filename or layout.RUNS), error) from None
        raise
    try:
        return _run_child(request, log, interpreter, cache, report)
    finally:
        log.close()
        place.remove_copy()


def _terminated(number: int, frame: object) -> None:
    raise SystemExit(TERMINATED)


def _run_child(
    request: LaunchRequest, log: AuditLog, interpreter: os.stat_result, cache: str | None, report: Report
) -> int:
    report.say(f"started     {layout.RUNS}/{request.plan.run}")
    run_folder = request.run_folder
    hide = credential_variables.hider({**os.environ, **request.variables})
    output = OutputLog(os.path.join(run_folder, OUTPUT), min(MOST_OUTPUT_BYTES, request.plan.limits.disk_mb << 18))
    try:
        outcome = child.supervise(
            request.command,
            request.variables,
            request.snapshot,
            request.plan.limits,
            request.run_folder,
            log.lock,
            None,
            interpreter,
            isolation=request.bounds.isolation,
            # With --json our standard output belongs to the report alone.
            output=child.Output(output, hide, 2 if report.as_json else 1),
            disk=child.Disk((run_folder, os.path.join(request.snapshot, "tmp")), cache),
        )
    except OSError as error:
        log.append(("ended", {"result": "not_started", "reason": text.escaped(str(error))}))
        raise Refusal(
            Finding("child.start", f"the child could not be started: {error.strerror}"), exit_status=COULD_NOT
        ) from None
    finally:
        output.close()
    touched = [*log.mend(), *_changed_inputs(request, log)]
    # A value that is a plain word or number can stand in a file by chance; in what is shown it is hidden all the same.
    leaked = run_files.secrets_in(run_folder, credential_variables.hider(credential_variables.telling(os.environ)))
    found = evidence.of(run_folder, request.plan)
    judged = verdict.of(request.plan, outcome, found)
    if touched or leaked:
        status = PROBLEM if judged.exit_status == OK else judged.exit_status
        result = "tampered" if touched else judged.result
        judged = verdict.Verdict(result, status, [*touched, *leaked, *judged.findings])
    record: dict[str, Any] = {
        "result": judged.result,
        "exit_status": outcome.exit_status,
        "signal": outcome.signal,
        "limit": outcome.limit,
        "seconds": round(outcome.seconds, 3),
        "peak_memory_bytes": outcome.peak_memory_bytes,
        "last_verified_checkpoint": found.checkpoint,
        "output_bytes_left_out": output.left_out,
        "findings": [text.escaped(f"{finding.code}: {finding.message}") for finding in judged.findings[:10]],
        "files": evidence.file_digests(request.run_folder),
        "files_left_out": max(0, len(evidence.file_names(run_folder)) - evidence.MOST_FILES),
    }
    log.append(("ended", record))
    report.findings.extend(judged.findings)
    report.results.update(result=judged.result, seconds=record["seconds"], last_verified_checkpoint=found.checkpoint)
    _say_files_and_next(request, found, judged.result, report)
    return report.finish(judged.exit_status, _summary(request, found, judged.result))


def _cache_folder(request: LaunchRequest) -> str | None:
    """The engine's folder in the user's cache, made where it is missing; the child may write there."""
    writable = request.bounds.isolation.writable
    folder = os.path.join(request.variables["XDG_CACHE_HOME"], child_command.ENGINE_CACHE)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        if writable is not None:
            raise atomic_file.unwritable(folder, error) from None
        return None
    return folder


def _changed_inputs(request: LaunchRequest, log: AuditLog) -> list[Finding]:
    """Names the plan, the approvals and the signatures of a run that are not as they were when it started."""
    findings = []
    for name, sha256 in run_files.inputs(log.records).items():
        path = os.path.join(request.run_folder, name)
        try:
            same = evidence.file_digest(path) == sha256
        except OSError:
            same = False
        if not same:
            findings.append(Finding("run.tampered", f"{name} was changed while the run was alive", path))
    return findings


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
            opt_in = " --opt-in" if request.opt_in_is_enough else ""
            next_commands.append(f"{layout.script('launch.py')} resume {run}{opt_in}")
    names = sorted(name for name in os.listdir(request.run_folder) if not name.startswith("."))
    sizes = {name: os.lstat(os.path.join(request.run_folder, name)).st_size for name in names[:SHOWN_FILES]}
    shown = {text.escaped(name): text.byte_count(size) for name, size in sizes.items()}
    report.results.update(next=next_commands, files=[f"{run}/{name}" for name in shown])
    left_out = [f"  and {len(names) - SHOWN_FILES} more"] if len(names) > SHOWN_FILES else []
    report.say("files", *(f"  {run}/{name}  {size}" for name, size in shown.items()), *left_out)
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

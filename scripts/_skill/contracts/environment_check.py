"""Checks one Python environment: runs the worker, reads what it says, and adds what only the parent can know.

A crash, a hang, an exit, a broken limit and any output are findings with the call that was in progress.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from .. import layout, text
from ..findings import Finding, Refusal, could_not
from . import child_run, messages
from .child_run import ChildOutcome, Limits
from .contract import (
    COULD_NOT_CHECK,
    FOUND,
    PASSED,
    ActionLeaf,
    CheckOptions,
    CheckResult,
    Contract,
    LeafRow,
    ObservationLeaf,
    Place,
    Spec,
    found,
)
from .target import Target

WORK_SHARE = 0.6
"""How much of the time the worker plans to use; the rest is for what cannot be planned."""
CALL_SHARE = 0.5
OUTPUT_IS_ERROR = ("reset", "step", "last", "observe")
SIGNALS = {
    "SIGSEGV": "native code read or wrote memory that is not its own",
    "SIGBUS": "exit -7: often shared memory (/dev/shm) that is too small; raise its size (containers: --shm-size)",
    "SIGABRT": "native code gave up: a failed assertion, a double free, an uncaught C++ exception",
    "SIGFPE": "native code divided by zero",
    "SIGILL": "native code used an instruction that this processor does not have",
    "SIGKILL": "killed from outside the check: most often the system ran out of memory",
    "SIGXCPU": "the limit of processor time was reached",
    "SIGXFSZ": "the limit of a file's size was reached",
}
LIMITS = {
    "memory": ("environment.memory", "the environment used more memory than it may", "--memory-mb N raises the limit"),
    "disk": ("environment.disk", "the environment wrote more to its folder than it may", "write less, or nothing"),
    "processes": ("environment.processes", "the environment started more processes than it may", "start fewer"),
    "exit": ("leak.exit", "the process does not end after close", "join or end the threads that are left in close()"),
}


def check(target: Target, options: CheckOptions, fixed_seeds: list[int]) -> Contract:
    """The contract of a Python environment; a Refusal (exit 2) where it cannot be run at all.

    `fixed_seeds` are lines of the source that make a random generator from a constant.
    """
    limits = Limits(options.seconds, options.seconds * CALL_SHARE, options.memory_mb)
    python = options.python or sys.executable
    if not os.path.isfile(python) or not os.access(python, os.X_OK):
        raise could_not("python.missing", "no such interpreter", where=python, want="the path of a python3")
    job = {
        "kind": target.kind,
        "name": target.name,
        "file": target.file,
        "module": target.module,
        "folder": os.getcwd(),
        "engine": layout.NATIVE_PROFILE,
        "source_folder": os.path.dirname(target.file) if target.file else "",
        "python": "python3" if python == sys.executable else python,
        "api": options.api,
        "steps": options.steps,
        "seed": options.seed,
        "kwargs": options.kwargs,
        "respawn": options.respawn,
        "autoreset": options.autoreset,
        "fixed_seeds": fixed_seeds,
        "work_seconds": options.seconds * WORK_SHARE,
    }
    outcome = child_run.run(python, job, limits)
    said = messages.read(outcome.messages)
    _cannot_check(said, outcome, target)
    findings: list[Finding] = [_finding(message) for message in said.all("finding")]
    findings += _output(said, outcome)
    findings += [
        found(
            "environment.warning",
            "the environment or a package of it warns",
            Place(text.escaped(message["place"])),
            got=text.shown(message["text"]),
            severity="warning",
        )
        for message in said.all("warning")
    ]
    ended = _end(said, outcome, limits, target)
    findings += [finding for finding in ended if finding is not None]
    checks = [
        CheckResult(
            text.escaped(row["name"], 40), text.escaped(row["title"], 80), row["status"], text.escaped(row["detail"])
        )
        for row in said.all("check")
    ]
    checks.insert(0, _run_row(said, outcome, bool(ended)))
    starts = said.all("start")
    return Contract(
        api=starts[0]["api"] if starts else options.api,
        form=text.escaped(starts[0]["form"], 40) if starts else "",
        spec=_spec(said),
        checks=checks,
        findings=findings,
        leaves=_leaves(said),
        notes=[text.escaped(note["text"], 300) for note in said.all("note")] + _revivals(said),
        isolation=child_run.isolation(limits),
        measured={
            **(said.all("end")[0]["numbers"] if said.all("end") else {}),
            "seconds": round(outcome.seconds, 3),
            "peak_memory_bytes": outcome.peak_memory_bytes,
        },
    )


def _cannot_check(said: messages.Messages, outcome: ChildOutcome, target: Target) -> None:
    """Raises where no check was possible: something is not installed, or there is no such name."""
    for message in said.all("unavailable"):
        name = text.escaped(message["module"], 80)
        raise could_not(
            "environment.package",
            f"the package {name} is not installed" if name else "a package that the environment needs is not installed",
            where=text.escaped(message["call"], 60),
            want=f"an interpreter that can import {name or 'it'} (--python PATH)",
            fix=text.escaped(message["fix"], 300),
        )
    for message in said.all("no_such_name"):
        known = [str(name) for name in message["known"]]
        near = text.nearest(target.name, known)
        raise could_not(
            "target.name",
            f"{'Gymnasium knows' if target.kind == 'id' else 'the module has'} no {text.shown(target.name)}",
            where=target.file or target.module,
            want=text.listed(known) if known else "a registered id, or FILE.py:NAME",
            fix=f"did you mean {text.escaped(near)}?" if near else "",
        )
    for message in said.all("old_python"):
        raise could_not(
            "python.version",
            f"the interpreter is Python {text.escaped(message['version'], 20)}",
            want="3.10 or newer",
            fix="--python PATH",
        )
    if not outcome.messages and not outcome.progress.phase and outcome.limit is None:
        raise could_not(
            "check.start",
            f"the check's own program did not start: {text.shown(outcome.output[-300:])}",
            want="an interpreter that runs (--python PATH)",
        )


def _finding(message: dict[str, Any]) -> Finding:
    """A worker's finding with every text escaped."""
    place = Place(
        text.escaped(message["call"], 80),
        message["agent"],
        message["leaf"],
        tuple(message["indices"]),
        message["environment"],
        message["episode"],
        message["step"],
    )
    return found(
        message["code"],
        text.escaped(message["message"]),
        place._replace(agent=text.escaped(place.agent, 60), leaf=text.escaped(place.leaf, 80)),
        got=text.escaped(message["got"], 300),
        want=text.escaped(message["want"], 300),
        fix=text.escaped(message["fix"], 300),
        severity=message["severity"],
    )


def _output(said: messages.Messages, outcome: ChildOutcome) -> list[Finding]:
    """A finding for the first output of each call; native code that prints is seen by its bytes only."""
    findings: list[Finding] = []
    for message in said.all("output")[:8]:
        call = text.escaped(message["call"], 40) or "a thread or the time between calls"
        findings.append(
            found(
                "environment.output",
                f"the environment writes to {text.escaped(message['stream'], 10)}",
                Place(call, episode=message["episode"], step=message["step"]),
                got=f"{text.shown(message['text'])} ({outcome.output_bytes} bytes in all)",
                want="no output: it slows a run, and is taken for a report's own words",
                fix="remove the print, or use the logging module",
                severity="error" if message["call"] in OUTPUT_IS_ERROR else "warning",
            )
        )
    ends = said.all("end")
    native = outcome.output_bytes - ends[0]["written"] if ends else 0
    if native > 0 or (not ends and outcome.output_bytes and not findings):
        findings.append(
            found(
                "environment.output",
                "native code or a child process writes to stdout or stderr",
                got=f"{text.shown(outcome.output)} ({max(native, 1)} bytes)",
                want="no output",
                severity="error" if ends else "warning",
            )
        )
    return findings


def _end(said: messages.Messages, outcome: ChildOutcome, limits: Limits, target: Target) -> list[Finding]:
    """Findings about how the process ended; none where it ended well."""
    progress = outcome.progress
    place = Place(
        text.escaped(progress.call or progress.phase, 40),
        text.escaped(progress.agent, 60),
        environment=progress.environment,
        episode=progress.episode,
        step=progress.step,
    )
    frames = _frames(outcome.trace, target)
    at = f"the environment was in {frames}" if frames else ""
    if outcome.limit == "hang":
        return [
            found(
                "environment.hang",
                f"the call {place.call} does not return",
                place,
                got=f"no return after {limits.call_seconds:g} s",
                want=f"a return within {limits.call_seconds:g} s (half of --seconds)",
                fix=at or "raise --seconds if the call is only slow",
            )
        ]
    if outcome.limit in LIMITS:
        code, message, fix = LIMITS[outcome.limit]
        got = f"{text.byte_count(outcome.peak_memory_bytes)} resident" if outcome.limit == "memory" else ""
        want = f"at most {limits.memory_mb} MiB" if outcome.limit == "memory" else ""
        if outcome.limit == "exit":
            place = Place("exit")
        return [found(code, message, place, got=got, want=want, fix=f"{fix}; {at}" if at else fix)]
    if outcome.limit is not None or said.problem:
        return []
    if outcome.signal is not None:
        name = outcome.signal
        if said.all("end"):
            place = Place("exit")
        return [
            found(
                "environment.crash",
                f"the process was ended by {name}",
                place,
                got=f"{name}: {SIGNALS.get(name, 'ended by a signal')}",
                want="a return value",
                fix=at,
            )
        ]
    if outcome.exit_status or not said.all("end"):
        if said.all("end"):
            place = Place("exit")
        return [
            found(
                "environment.exit",
                "the environment ended the process",
                place,
                got=f"exit status {outcome.exit_status}",
                want="a return value or an exception",
                fix=at or "no os._exit in an environment",
            )
        ]
    return []


def _run_row(said: messages.Messages, outcome: ChildOutcome, ended: bool) -> CheckResult:
    """The first row of the table: whether the run came to its end."""
    title = "the run as a whole: crash, hang, exit, limits"
    if ended:
        return CheckResult("run", title, FOUND, "the checks that are not listed could not be made")
    if said.problem:
        detail = f"the worker's report cannot be believed: {text.escaped(said.problem)}"
        return CheckResult("run", title, COULD_NOT_CHECK, detail)
    for message in said.all("internal"):
        words = (
            f"a mistake of the check itself in {text.escaped(message['check'], 40)}: {text.escaped(message['text'])}"
        )
        return CheckResult("run", title, COULD_NOT_CHECK, words)
    if outcome.limit == "wall":
        return CheckResult("run", title, COULD_NOT_CHECK, "not done within --seconds; raise it, or lower --steps")
    if outcome.limit == "messages":
        return CheckResult("run", title, COULD_NOT_CHECK, "the worker's report is too large")
    return CheckResult("run", title, PASSED, f"{outcome.seconds:.1f} s")


def _frames(trace: str, target: Target) -> str:
    """The environment's own frames of the last dump, nearest first: `env.py:12 in step`."""
    start = max(trace.rfind("Current thread"), trace.rfind("most recent call first"), 0)
    shown = []
    for path, line, name in re.findall(r'File "([^"\n]{1,500})", line (\d{1,7}) in ([^\n]{1,100})', trace[start:]):
        if os.path.dirname(child_run.WORKER) not in path and "importlib" not in path:
            shown.append(f"{text.escaped(os.path.basename(path), 60)}:{line} in {text.escaped(name, 60)}")
    own = [frame for frame in shown if target.file and frame.startswith(os.path.basename(target.file))]
    return (own or shown or [""])[0]


def _spec(said: messages.Messages) -> Spec | None:
    """The spec, with the autoreset mode that was found."""
    specs, modes = said.all("spec"), said.all("autoreset")
    if not specs:
        return None
    given = specs[0]
    return Spec(
        given["api"],
        given["agents"],
        tuple(ObservationLeaf(text.escaped(o["path"]), o["dtype"], tuple(o["shape"])) for o in given["observation"]),
        tuple(
            ActionLeaf(
                text.escaped(a["path"]), a["kind"], a["dtype"], tuple(a["shape"]), tuple(a["sizes"]), tuple(a["start"])
            )
            for a in given["action"]
        ),
        (modes[0]["mode"] or None) if modes else None,
    )


def _leaves(said: messages.Messages) -> list[LeafRow]:
    """The table of leaves, with what really came."""
    actual = {(m["agent"], m["path"]): m["actual"] for m in said.all("actual")}
    rows = []
    for row in said.all("leaf"):
        path = row["path"] or "/"
        came = actual.get((row["agent"], path)) or actual.get(("", path)) or "" if row["role"] == "observation" else ""
        rows.append(
            LeafRow(
                text.escaped(row["agent"], 60),
                row["role"],
                text.escaped(row["path"], 80),
                text.escaped(row["space"], 80),
                text.escaped(row["dtype"], 40),
                tuple(row["shape"]),
                row["bytes"],
                text.escaped(came, 80),
                text.escaped(row["low"], 40),
                text.escaped(row["high"], 40),
            )
        )
    return rows


def _revivals(said: messages.Messages) -> list[str]:
    """One line for each agent that came back."""
    return [
        f"agent {text.escaped(m['agent'], 60)} came back: ended at step {m['ended']}, listed again at step "
        f"{m['revived']} of episode {m['episode']}"
        for m in said.all("revival")
    ]


def refuse_options(options: CheckOptions) -> None:
    """A Refusal (exit 2) for options that cannot be meant."""
    for name, value, least, most in (
        ("--steps", options.steps, 1, 1_000_000),
        ("--seed", options.seed, 0, 2**31 - 1),
        ("--seconds", options.seconds, 1, 86_400),
        ("--memory-mb", options.memory_mb, 64, 1 << 24),
    ):
        if not least <= value <= most:
            raise Refusal(
                Finding("use.wrong", f"{name} is out of range", got=str(value), want=f"{least} to {most}"),
                exit_status=2,
            )

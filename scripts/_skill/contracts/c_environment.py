"""Checks a C environment: reads its header, compiles it with the driver under sanitizers, runs it in bounded children.

What each child does stands at the top of `c_driver.c`; what its words mean in `c_findings`. One crash does not hide the
rest: every part runs in a process of its own.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from typing import NamedTuple

from .. import text
from ..findings import TERMINATED, Finding, Refusal
from ..plans import environment_folder
from ..plans.environment_header import EnvironmentHeader
from . import c_build, c_child, c_findings, c_source
from .contract import (
    COULD_NOT_CHECK,
    FOUND,
    NOT_APPLICABLE,
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

OUT_OF_TIME = "the time is used up"
_PROGRESS = struct.Struct("8q32s96s")


class Mode(NamedTuple):
    """One run of the driver."""

    name: str
    title: str
    share: float
    """Part of the steps that were asked for."""
    most: int = 1_000_000


MODES = (
    Mode("describe", "the compiled header says what its text says: agents, spaces, random first in State", 1),
    Mode("play", "five kinds of players: finite values, ranges, flags, nothing written that is read only, pictures", 1),
    Mode(
        "repeat",
        "the same trace again: beside another environment, in other memory, State copied away and back",
        1,
        20_000,
    ),
    Mode("trace", "the same trace in another process; other seeds and streams give other traces", 1, 20_000),
    Mode("limits", "an end at a step limit is a truncation", 0.5),
    Mode("bounds", "every setting at either bound", 0.2),
    Mode("outside", "actions outside of their space do no harm (the engine sends none)", 1),
    Mode("after-end", "steps after the end of an episode do no harm (the engine makes none)", 1),
)


class _Run(NamedTuple):
    """One ended run and what it said."""

    ended: c_child.Ended
    facts: dict[str, list[float]]
    findings: list[Finding]
    seeds: dict[tuple[str, str], str]
    trace: list[list[str]]


def check(options: CheckOptions, name: str, header: str) -> Contract:
    """The contract of the environment `name` in the file `header`; a Refusal (exit 2) where it cannot be checked."""
    import shutil
    import signal
    import tempfile

    folder = os.path.dirname(os.path.realpath(header))
    loaded = environment_folder.load(name, folder)
    settings = _settings(loaded.header, options)
    source = c_source.check(folder, name)
    checks = [_row("source", "the text: no heap, globals, C library randomness, clock, input or output", source)]
    spec = _spec(loaded.header)
    bounds = c_child.Bounds(float(options.seconds), options.memory_mb, max(1.0, min(10.0, options.seconds / 2)))
    contract = Contract("c", "", spec, checks, list(source), _leaves(spec), [], c_child.isolation(bounds), {})
    unsafe = sorted({finding.code for finding in source} & c_source.UNSAFE_TO_COMPILE)
    if unsafe:
        contract.notes.append(f"not compiled and not run, because of {', '.join(unsafe)}")
        _could_not(contract, "compile", *(mode.name for mode in MODES))
        return contract

    def terminated(*_: object) -> None:
        raise Refusal(exit_status=TERMINATED)

    work = tempfile.mkdtemp(prefix="check-c-env-")
    before = signal.signal(signal.SIGTERM, terminated)
    try:
        _compile_and_run(contract, folder, name, loaded.header, work, settings, options, bounds)
    except Refusal as refusal:
        # What the text says stands, whether or not the rest can be checked.
        if refusal.exit_status == TERMINATED or not any(finding.severity == "error" for finding in source):
            raise
        contract.notes.extend(finding.message for finding in refusal.findings)
        _could_not(contract, "compile", *(mode.name for mode in MODES))
    finally:
        signal.signal(signal.SIGTERM, before)
        shutil.rmtree(work, ignore_errors=True)
    return contract


def _compile_and_run(
    contract: Contract,
    folder: str,
    name: str,
    header: EnvironmentHeader,
    work: str,
    settings: list[str],
    options: CheckOptions,
    bounds: c_child.Bounds,
) -> None:
    build = c_build.build(folder, name, work, bounds.seconds)
    contract.findings.extend(build.findings)
    detail = os.path.basename(build.compiler)
    title = "compiles as C11 and C++17, keeps no variable and calls no function of the C library"
    if not build.looked_at_symbols and build.program:
        contract.notes.append("the compiled object was not looked into: there is no nm")
    contract.checks.append(_row("compile", title, build.findings, detail))
    if not build.program:
        _could_not(contract, *(mode.name for mode in MODES))
        return
    runner = _Runner(build.program, folder, work, header, settings, options, bounds)
    seen: set[tuple[str, str, str]] = set()
    for mode in MODES:
        if runner.stopped:
            if runner.stopped == OUT_OF_TIME and "c_env.slow" not in {code for code, _, _ in seen}:
                seen.add(("c_env.slow", "", ""))
                message, fix = (
                    "the time was used up before the check was done",
                    "give it more --seconds, or fewer --steps",
                )
                contract.findings.append(found("c_env.slow", message, fix=fix, severity="warning"))
            contract.checks.append(CheckResult(mode.name, mode.title, COULD_NOT_CHECK, runner.stopped))
            continue
        run = runner.run(mode)
        findings = list(run.findings)
        detail = ""
        if mode.name == "describe":
            findings += _metadata(run, header) if not findings else []
        if mode.name == "play":
            detail = _played(contract, run, findings)
        if mode.name == "trace" and not findings:
            again = runner.run(mode, {"CHECK_PADDING": "x" * 5000})
            findings += again.findings or _compared(run, again)
            findings += _seeds(run)
        if mode.name == "limits" and not findings and not any(run.facts.get("limits", [])):
            contract.checks.append(CheckResult(mode.name, mode.title, NOT_APPLICABLE, "no setting is a step limit"))
            continue
        if mode.name == "bounds":
            findings = [finding for finding in findings if finding.code != "c_env.observation_scale"]
        fresh = []
        for finding in findings:
            key = (finding.code, finding.pointer if "(" in finding.pointer else "", finding.got)
            if finding.code in ("c_env.undefined", "c_env.memory"):
                key = (finding.code, finding.pointer.partition("(")[2].partition(")")[0], "")
            elif finding.code in c_findings.MEANINGS or finding.code == "c_env.output":
                key = (finding.code, "", "")
            if key not in seen:
                fresh.append(finding)
            seen.add(key)
        contract.findings.extend(fresh)
        if run.ended.limit == "time":
            contract.checks.append(CheckResult(mode.name, mode.title, COULD_NOT_CHECK, OUT_OF_TIME))
        else:
            contract.checks.append(_row(mode.name, mode.title, findings, detail))
    if not runner.leaks:
        contract.notes.append("leaks were not looked for: the leak sanitizer does not work here")
    contract.measured["seconds"] = round(runner.seconds, 3)
    contract.measured["peak_memory_bytes"] = runner.peak


class _Runner:
    """Runs the driver, one mode a process."""

    def __init__(
        self,
        program: str,
        folder: str,
        work: str,
        header: EnvironmentHeader,
        settings: list[str],
        options: CheckOptions,
        bounds: c_child.Bounds,
    ) -> None:
        self.program = program
        self.work = work
        self.header = header
        self.settings = settings
        self.options = options
        self.bounds = bounds
        self.files = {name for name in os.listdir(folder) if name.endswith(".h")}
        self.seconds = 0.0
        self.peak = 0
        self.leaks = sys.platform.startswith("linux")
        self.stopped = ""
        """Why nothing more is run; empty while there is time."""

    def run(self, mode: Mode, variables: dict[str, str] | None = None) -> _Run:
        """One run to its end."""
        import tempfile

        logs = os.path.join(self.work, "logs")
        os.makedirs(logs, exist_ok=True)
        for name in os.listdir(logs):
            os.unlink(os.path.join(logs, name))
        left = max(1.0, self.bounds.seconds - self.seconds)
        bounds = self.bounds._replace(seconds=left)
        common = f"log_path={os.path.join(logs, 'log')}:symbolize=1"
        memory = self.bounds.memory_mb
        sanitizers = {
            "ASAN_OPTIONS": f"{common}:detect_leaks={int(self.leaks)}:exitcode=99:handle_abort=1:"
            f"detect_stack_use_after_return=0:hard_rss_limit_mb={memory}:max_allocation_size_mb={memory}",
            "UBSAN_OPTIONS": f"{common}:print_stacktrace=0",
        }
        steps = min(max(1, int(self.options.steps * mode.share)), mode.most)
        with tempfile.TemporaryFile(dir=self.work) as file:
            file.truncate(_PROGRESS.size)
            handle = file.fileno()
            ended = c_child.run(
                [self.program, str(handle), "", mode.name, str(self.options.seed), str(steps), *self.settings],
                self.work,
                bounds,
                {**sanitizers, **(variables or {})},
                [handle],
                True,
                # Read, not mapped: the child could cut the file short.
                lambda: os.pread(handle, 8, 0),
            )
            place, words = _place(os.pread(handle, _PROGRESS.size, 0).ljust(_PROGRESS.size, b"\0"))
        self.seconds += ended.seconds
        self.peak = max(self.peak, ended.peak_memory_bytes)
        if ended.limit in ("hang", "time") or self.seconds >= self.bounds.seconds:
            self.stopped = "a call does not return" if ended.limit == "hang" else OUT_OF_TIME
        log = _log(logs)
        if self.leaks and "LeakSanitizer has encountered a fatal error" in log + ended.stderr:
            # It watches the process as a debugger does, which some containers forbid.
            self.leaks = False
            return self.run(mode, variables)
        return self.read(mode, ended, log, place, words)

    def read(self, mode: Mode, ended: c_child.Ended, log: str, place: Place, words: str) -> _Run:
        """What the run said, as facts and findings."""
        facts: dict[str, list[float]] = {}
        seeds: dict[tuple[str, str], str] = {}
        trace: list[list[str]] = []
        findings: list[Finding] = []
        for line in ended.report.splitlines():
            parts = line.split(" ")
            if parts[0] == "found" and len(parts) == 12:
                findings.append(c_findings.of_line(parts, self.header, mode.name))
            elif parts[0] == "fact" and len(parts) == 3:
                facts.setdefault(parts[1], []).append(_number(parts[2]))
            elif parts[0] == "seed" and len(parts) == 4:
                seeds[parts[1], parts[2]] = parts[3]
            elif parts[0] == "trace" and len(parts) == 6:
                trace.append(parts[1:])
        # GCC's runtime for undefined behaviour writes to standard error, whatever it is told.
        mistake = re.search(r"^[^\n]+:\d+:\d+: runtime error: ", ended.stderr, re.MULTILINE)
        if mistake:
            log += ended.stderr[mistake.start() :]
            ended = ended._replace(stderr=ended.stderr[: mistake.start()])
        printed = c_findings.of_output(ended, words)
        end = c_findings.of_end(ended, log, place, words, mode.name, self.files)
        findings += [one for one in (printed if not (end and end.code == "c_env.output") else None, end) if one]
        return _Run(ended, facts, findings, seeds, trace)


def _place(data: bytes) -> tuple[Place, str]:
    """Where the environment was, from the page that the driver shares with us; its text is untrusted."""
    _, call, seed, stream, episode, step, _, _, part, setting = _PROGRESS.unpack(data)
    words = f"seed {seed}, stream {stream}, {text.escaped(part.rstrip(bytes(1)).decode('utf-8', 'replace'), 40)}"
    named = setting.partition(b"\0")[0].decode("utf-8", "replace")
    name = c_findings.CALLS[call] if 0 <= call < len(c_findings.CALLS) else ""
    at = Place(call=name, episode=episode, step=step) if name else Place()
    return at, words + (f", {text.escaped(named, 96)}" if named else "")


def _log(folder: str) -> str:
    """What the sanitizers wrote, at most 64 KiB."""
    whole = ""
    for name in sorted(os.listdir(folder))[:4]:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as stream:
            whole += stream.read(65536 - len(whole))
    return whole


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return float("nan")


def _settings(header: EnvironmentHeader, options: CheckOptions) -> list[str]:
    """The settings that were asked for, as the driver takes them."""
    words = []
    for name, value in options.kwargs.items():
        known = header.settings.get(name)
        if known is None:
            near = text.nearest(name, header.settings)
            message = f"{header.name} has no setting {text.shown(name)}"
            fix = f"did you mean {near}?" if near else ""
            raise Refusal(Finding("c_env.setting", message, want=text.listed(header.settings), fix=fix), exit_status=2)
        good = isinstance(value, (int, float)) and not isinstance(value, bool) and known.least <= value <= known.most
        if not good or (known.type == "int" and value != int(value)):
            want = f"{known.type} from {known.least:g} to {known.most:g}"
            message = f"the setting {name} cannot be {text.shown(value)}"
            raise Refusal(Finding("c_env.setting", message, got=text.shown(value), want=want), exit_status=2)
        words.append(f"{name}={value!r}")
    return words


def _spec(header: EnvironmentHeader) -> Spec:
    heads = header.action_sizes
    kind = "discrete" if header.action_kind == "DISCRETE" else "multi_discrete"
    action = ActionLeaf("", kind, "int32", () if kind == "discrete" else (len(heads),), heads, tuple([0] * len(heads)))
    observation = ObservationLeaf("", header.observation_type, header.observation_shape)
    return Spec("c", header.agents, (observation,), (action,), "same_step")


def _leaves(spec: Spec) -> list[LeafRow]:
    seen, done = spec.observation[0], spec.action[0]
    size = 4 if seen.dtype == "float32" else 1
    for length in seen.shape:
        size *= length
    return [
        LeafRow("", "observation", "", "Box", seen.dtype, seen.shape, size),
        LeafRow("", "action", "", done.kind, done.dtype, done.shape, 4 * len(done.sizes)),
    ]


def _metadata(run: _Run, header: EnvironmentHeader) -> list[Finding]:
    """Where the compiled header differs from what its text says: a plan is made from the text."""
    features = 1
    for size in header.observation_shape:
        features *= size
    wanted: dict[str, list[float]] = {
        "agents": [header.agents],
        "features": [features],
        "observation_bytes": [4 if header.observation_type == "float32" else 1],
        "size": list(header.observation_shape),
        "choices": list(header.action_sizes),
        "random_offset": [0],
    }
    findings: list[Finding] = []
    for name, values in wanted.items():
        if run.facts.get(name) != values:
            got = ", ".join(f"{value:g}" for value in run.facts.get(name, []))
            want = ", ".join(f"{value:g}" for value in values)
            message = f"the compiled header has another {name.replace('_', ' ')} than its text"
            findings.append(found("c_env.metadata", message, Place(call=name), got=got, want=want))
    return findings


def _played(contract: Contract, run: _Run, findings: list[Finding]) -> str:
    """Counts of the long play, for the table."""
    counts = {name: int(run.facts.get(name, [0])[0]) for name in ("steps", "episodes", "terminals", "truncations")}
    contract.measured.update(counts)
    if counts["steps"] and not counts["episodes"] and not findings:
        contract.notes.append(f"no episode ended in {counts['steps']} steps: give it a step limit")
    return ", ".join(f"{count} {name}" for name, count in counts.items()) if counts["steps"] else ""


def _compared(first: _Run, again: _Run) -> list[Finding]:
    """Where two processes with the same seed first differ: addresses, the clock, the environment's variables."""
    for left, right in zip(first.trace, again.trace, strict=False):
        for part, (one, other) in enumerate(zip(left[1:], right[1:], strict=True)):
            if one != other:
                message = "the same seed and actions gave another trace in another process"
                fix = "let nothing depend on addresses, the clock or uninitialised memory"
                got = f"different {c_findings.PARTS[part]}"
                place = Place(step=int(left[0]) if left[0].isdigit() else -1)
                return [found("c_env.process_dependent", message, place, got=got, want="equal traces", fix=fix)]
    return []


def _seeds(run: _Run) -> list[Finding]:
    """Do seed and stream reach the environment?"""
    if len(set(run.seeds.values())) > 1 or not run.seeds:
        if len(run.seeds) > len(set(run.seeds.values())):
            message = "some of the seeds and streams gave equal traces"
            want = f"{len(run.seeds)} different traces"
            got = f"{len(set(run.seeds.values()))} of them"
            return [found("c_env.seed_collision", message, got=got, want=want, severity="warning")]
        return []
    if run.facts.get("draws") == [0]:
        message = "every seed gives the same trace: the environment draws no random number"
        fix = "draw something in reset, unless the task is meant to be the same each time"
        return [found("c_env.seed_unused", message, want="different traces", fix=fix, severity="warning")]
    message = "every seed gives the same trace, though the environment draws random numbers"
    fix = "never seed s->random: the engine has done so"
    return [found("c_env.seed_ignored", message, got="equal traces", want="different traces", fix=fix)]


def _row(name: str, title: str, findings: list[Finding], detail: str = "") -> CheckResult:
    wrong = [finding for finding in findings if finding.severity == "error"]
    codes = ", ".join(sorted({finding.code for finding in findings}))
    return CheckResult(name, title, FOUND if wrong else PASSED, codes or detail)


def _could_not(contract: Contract, *names: str) -> None:
    titles = {mode.name: mode.title for mode in MODES}
    done = {check.name for check in contract.checks}
    for name in names:
        if name not in done:
            title = titles.get(name, "compiles as C11 and C++17")
            contract.checks.append(CheckResult(name, title, COULD_NOT_CHECK, "nothing was run"))

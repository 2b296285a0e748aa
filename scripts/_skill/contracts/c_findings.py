"""What the C driver's short lines and the sanitizers' reports mean: findings with their places."""

from __future__ import annotations

import re
from typing import NamedTuple

from .. import text
from ..findings import Finding
from ..plans.environment_header import EnvironmentHeader
from .c_child import Ended
from .contract import Place, found

CALLS = ("", "reset", "step", "observe", "statistics", "render")
PARTS = ("observations", "rewards", "flags", "statistics")
NOT_ASKED_FOR = {
    "outside": "an action outside of its space",
    "after-end": "a step after the end of the episode",
}
"""What the engine never does; mistakes found so are warnings."""


class Meaning(NamedTuple):
    """One code of the driver."""

    message: str
    want: str
    fix: str = ""
    severity: str = "error"


_RANDOM = "draw with random_uniform(&s->random) and its kin; never seed or copy over s->random"
MEANINGS = {
    "c_env.const": Meaning(
        "what was passed to be read only was written", "State unchanged by observe, statistics, render"
    ),
    "c_env.observation_not_finite": Meaning("an observation is not a finite number", "finite numbers"),
    "c_env.observation_range": Meaning("an observation is outside of ENV_OBSERVATION_RANGE", "a value in the range"),
    "c_env.observation_scale": Meaning(
        "an observation is large, and nothing rescales it",
        "about -1 to 1",
        "divide by the largest value, or declare #define ENV_OBSERVATION_RANGE low, high",
        "warning",
    ),
    "c_env.observation_unwritten": Meaning(
        "observe leaves a value of its row unwritten",
        "every value written",
        "memset the row first, or write each value",
    ),
    "c_env.output_unwritten": Meaning("a result depends on what its memory held before", "every value written"),
    "c_env.reward_not_finite": Meaning("a reward is not a finite number", "finite numbers"),
    "c_env.statistic_not_finite": Meaning("a statistic is not a finite number", "finite numbers"),
    "c_env.canvas": Meaning("the picture is not one: size, count or coordinates", "canvas_begin first, finite numbers"),
    "c_env.canvas_full": Meaning("draw commands were dropped", "at most 1024 commands", "", "warning"),
    "c_env.flag_value": Meaning("a flag is neither 0 nor 1", "0 or 1"),
    "c_env.both_flags": Meaning(
        "an agent is terminal and truncated at once", "at most one", "truncated = !terminal && steps >= max_steps"
    ),
    "c_env.partial_truncation": Meaning(
        "an episode is cut for some agents and goes on for others",
        "truncation of every agent at once",
        "truncate_all(out)",
    ),
    "c_env.terminal_at_limit": Meaning(
        "the step limit ends the episode as terminal; with a larger limit it goes on",
        "truncated: the future has a value",
        "set truncated, not terminal, where only the limit ends it",
    ),
    "c_env.random_changed": Meaning(
        "the State's generator was seeded anew", "the stream that the engine gave it", _RANDOM
    ),
    "c_env.hidden_state": Meaning(
        "the same seed and actions gave another trace when run again",
        "equal traces",
        "keep everything in State; no globals, no rand(), no clock",
    ),
    "c_env.shared_state": Meaning(
        "another environment beside it changed the trace", "environments that share nothing", "keep everything in State"
    ),
    "c_env.reset_incomplete": Meaning(
        "the trace depends on what State held before reset",
        "reset sets everything but random",
        "set each member in reset",
    ),
    "c_env.uninitialised": Meaning("a local variable is used before it is set", "initialised variables"),
    "c_env.state_not_plain": Meaning(
        "State, copied to other memory, goes on differently", "a plain struct", "indices in place of pointers"
    ),
}


def of_line(words: list[str], header: EnvironmentHeader, mode: str) -> Finding:
    """The finding of one `found ...` line of the driver."""
    code = words[1] if words[1] in MEANINGS else "c_env.unknown"
    meaning = MEANINGS.get(code, Meaning("the driver says what this check does not know", ""))
    seed, stream, episode, step, call, agent, index = (_integer(word) for word in words[2:9])
    compared = "not_finite" not in code and code in _COMPARED
    place = Place(
        call=CALLS[call] if 0 <= call < len(CALLS) else "",
        agent=str(agent) if agent >= 0 else "",
        leaf=_leaf(code, index, header),
        indices=_indices(index, header) if code.startswith("c_env.observation") and index >= 0 else (),
        episode=episode,
        step=step,
    )
    message = f"{meaning.message} (seed {seed}, stream {stream}, {text.escaped(words[10], 40)}"
    message += f", {text.escaped(words[11], 96)})" if words[11] != "-" else ")"
    got = f"different {PARTS[index]}" if compared and 0 <= index < len(PARTS) else text.escaped(words[9], 40)
    severity = "warning" if mode in NOT_ASKED_FOR else meaning.severity
    if mode in NOT_ASKED_FOR:
        message = f"{NOT_ASKED_FOR[mode]}: {message}"
    return found(code, message, place, got=got, want=meaning.want, fix=meaning.fix, severity=severity)


_COMPARED = frozenset(
    f"c_env.{name}"
    for name in (
        "hidden_state",
        "shared_state",
        "reset_incomplete",
        "output_unwritten",
        "uninitialised",
        "state_not_plain",
    )
)


def of_end(ended: Ended, log: str, place: Place, words: str, mode: str, folder_files: set[str]) -> Finding | None:
    """The finding of a run that did not end by itself, or None."""
    severity = "warning" if mode in NOT_ASKED_FOR else "error"
    prefix = f"{NOT_ASKED_FOR[mode]}: " if mode in NOT_ASKED_FOR else ""

    def one(code: str, message: str, got: str = "", want: str = "", line: str = "") -> Finding:
        at = place._replace(call=f"{place.call} ({line})" if line and place.call else line or place.call)
        return found(code, f"{prefix}{message} ({words})", at, got=text.escaped(got), want=want, severity=severity)

    if ended.limit == "output":
        return one("c_env.output", "the environment prints without end", want="no output")
    undefined = re.search(r"([\w.-]+):(\d+):\d+: runtime error: ([^\n]*)", log)
    if undefined:
        return one(
            "c_env.undefined", "undefined behaviour", undefined[3], "defined C", f"{undefined[1]}:{undefined[2]}"
        )
    if "LeakSanitizer" in log and "detected memory leaks" in log:
        return one("c_env.leak", "memory of the heap was not given back", _line_of(log, folder_files), "no heap")
    if "hard rss limit exhausted" in log or ended.limit == "memory":
        return one("c_env.memory_limit", "the environment used more memory than it may", want="State only")
    address = re.search(r"AddressSanitizer: ([\w-]+)", log)
    if address:
        line = _line_of(log, folder_files)
        got = "stack overflow" if address[1] == "stack-overflow" else address[1]
        return one("c_env.memory", "memory that is not the environment's was touched", got, "indices in bounds", line)
    if ended.limit == "hang":
        return one("c_env.hang", "a call does not return", f"{ended.seconds:.1f} s", "every call ends")
    if ended.limit == "time":
        finding = one("c_env.slow", "the time was used up before the check was done", f"{ended.seconds:.1f} s")
        return finding._replace(severity="warning", fix="give it more --seconds, or fewer --steps")
    if ended.signal:
        return one("c_env.crash", "the environment crashed", ended.signal, "no crash")
    if ended.exit_status != 0 or not ended.report.rstrip().endswith(f"done {mode}"):
        return one(
            "c_env.exit", "the environment ended the process", f"status {ended.exit_status}", "return to the caller"
        )
    return None


def of_output(ended: Ended, place_words: str) -> Finding | None:
    """The finding of an environment that printed."""
    printed = ended.stdout or ended.stderr
    if not printed:
        return None
    stream = "standard output" if ended.stdout else "standard error"
    message = f"the environment prints to {stream} ({place_words})"
    return found(
        "c_env.output", message, got=text.shown(printed[:200], 120), want="no output", fix="remove the printing"
    )


def _line_of(log: str, files: set[str]) -> str:
    """The first frame that stands in the environment's own files."""
    for match in re.finditer(r"#\d+ 0x[0-9a-f]+ (?:in )?[^\n]*?([\w.-]+):(\d+)", log):
        if match[1] in files:
            return f"{match[1]}:{match[2]}"
    return ""


def _leaf(code: str, index: int, header: EnvironmentHeader) -> str:
    if code == "c_env.statistic_not_finite" and 0 <= index < len(header.statistics):
        return "/" + list(header.statistics)[index]
    return "/" if code.startswith("c_env.observation") else ""


def _indices(index: int, header: EnvironmentHeader) -> tuple[int, ...]:
    """A flat index as indices into the declared shape."""
    found_indices: list[int] = []
    for size in reversed(header.observation_shape):
        found_indices.append(index % size)
        index //= size
    return tuple(reversed(found_indices))


def _integer(word: str) -> int:
    return int(word) if re.fullmatch(r"-?[0-9]{1,19}", word) else -1

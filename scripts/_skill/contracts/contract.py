"""What a check of an environment answers: its spec, the checks that were made, findings with their places, notes.

Every kind of environment ends in a `Contract`, whatever ran it: Python environments through `environment_check`, C
environments through `c_environment`. A check that could not be made is never a pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import text
from ..findings import COULD_NOT, OK, PROBLEM, Finding

SCHEMA = "environment_contract/1"
APIS = ("gymnasium", "pettingzoo-parallel", "pettingzoo-aec", "pufferenv", "c")
AUTORESETS = ("same_step", "next_step", "disabled")
ACTION_KINDS = ("discrete", "multi_discrete", "multi_binary", "box")

PASSED = "passed"
FOUND = "finding"
NOT_APPLICABLE = "not_applicable"
COULD_NOT_CHECK = "could_not"
STATUSES = (PASSED, FOUND, NOT_APPLICABLE, COULD_NOT_CHECK)


class CheckOptions(NamedTuple):
    """What to check, and within which bounds."""

    target: str
    """As the user wrote it: a file and a name, a module and a name, a registered id, a C environment."""
    api: str = "auto"
    """One of `APIS`, or `auto`."""
    steps: int = 500
    """Steps of the long rollout; other checks take a part of it."""
    seed: int = 1
    seconds: int = 60
    """Wall time of the whole check; one call may take half of it."""
    memory_mb: int = 4096
    kwargs: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """Arguments of the environment's constructor, or settings of a C environment."""
    respawn: bool = False
    """Agents may come back; every revival is reported."""
    autoreset: str = ""
    """The mode that the caller relies on (one of `AUTORESETS`), or empty."""
    python: str = ""
    """The interpreter that runs the environment; empty is the one that runs the check."""


class ObservationLeaf(NamedTuple):
    """One array of an observation: `path` is empty for a plain space, `/image` or `/0` in a Dict or Tuple."""

    path: str
    dtype: str
    shape: tuple[int, ...]


class ActionLeaf(NamedTuple):
    """One part of an action. `sizes` and `start` are flat, in C order; both are empty for a box."""

    path: str
    kind: str
    """One of `ACTION_KINDS`."""
    dtype: str
    shape: tuple[int, ...]
    sizes: tuple[int, ...] = ()
    start: tuple[int, ...] = ()


class Spec(NamedTuple):
    """What a plan needs to know; the leaves are those of `environment.observation` and `environment.action`."""

    api: str
    agents: int
    observation: tuple[ObservationLeaf, ...]
    action: tuple[ActionLeaf, ...]
    autoreset: str | None
    """One of `AUTORESETS`; None where it could not be told, which no plan accepts."""

    def as_json(self) -> dict[str, Any]:
        """The spec as it stands in a report."""
        return {
            "api": self.api,
            "agents": self.agents,
            "observation": [{**leaf._asdict(), "shape": list(leaf.shape)} for leaf in self.observation],
            "action": [
                {**leaf._asdict(), "shape": list(leaf.shape), "sizes": list(leaf.sizes), "start": list(leaf.start)}
                for leaf in self.action
            ],
            "autoreset": self.autoreset,
        }


class LeafRow(NamedTuple):
    """One row of the table of leaves: what the space declares and what really came."""

    agent: str
    """Empty where there is one agent, or all are alike."""
    role: str
    """`observation` or `action`."""
    path: str
    space: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    actual: str = ""
    """`float64 (3,) 24 bytes` where the first value that differed came; empty where all were as declared."""
    low: str = ""
    high: str = ""
    """The bounds of a Box, or the least and most that was seen, for people."""


class Place(NamedTuple):
    """Where in an environment's life something was found; what does not apply is empty or -1."""

    call: str = ""
    """`reset`, `step`, `action_space`, a line of the source ..."""
    agent: str = ""
    leaf: str = ""
    """The path of the leaf, `/` for the whole observation of a plain space."""
    indices: tuple[int, ...] = ()
    """Indices into the leaf."""
    environment: int = -1
    """The environment's index where there are several."""
    episode: int = -1
    step: int = -1
    """Counted from 0 at the episode's reset: the first call of `step` is step 1."""

    def words(self) -> str:
        """The place for people."""
        parts = [text.escaped(self.call, 80)] if self.call else []
        parts += [f"environment {self.environment}"] if self.environment >= 0 else []
        parts += [f"episode {self.episode}"] if self.episode >= 0 else []
        parts += [f"step {self.step}"] if self.step >= 0 else []
        parts += [f"agent {text.escaped(self.agent, 60)}"] if self.agent else []
        parts += [f"leaf {text.escaped(self.leaf, 80)}"] if self.leaf else []
        parts += [f"index {list(self.indices)}"] if self.indices else []
        return ", ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """The place as keys beside a finding's own; what does not apply is null."""
        return {
            "call": self.call or None,
            "agent": self.agent or None,
            "leaf": self.leaf or None,
            "index": list(self.indices) or None,
            "environment": self.environment if self.environment >= 0 else None,
            "episode": self.episode if self.episode >= 0 else None,
            "step": self.step if self.step >= 0 else None,
        }


class ContractFinding(Finding):
    """A finding whose `pointer` is the place in words; `place` has its parts. Make one with `found`."""

    place: Place = Place()

    def as_json(self) -> dict[str, Any]:
        """The finding with the parts of its place."""
        return {**self._asdict(), "place": self.place.as_json()}


def found(
    code: str,
    message: str,
    place: Place | None = None,
    *,
    got: str = "",
    want: str = "",
    fix: str = "",
    severity: str = "error",
) -> ContractFinding:
    """A finding at a place. The caller escapes what came from an environment (`text.escaped`)."""
    place = place or Place()
    finding = ContractFinding(code, message, place.words(), got, want, fix, severity)
    finding.place = place
    return finding


class CheckResult(NamedTuple):
    """One row of the table of checks."""

    name: str
    title: str
    status: str
    """One of `STATUSES`."""
    detail: str = ""
    """One line: what was measured, or why the check does not apply or could not be made."""


class Isolation(NamedTuple):
    """One fact about what the child could not do, or could."""

    name: str
    """`network`, `files`, `memory`, `time` ..."""
    held: bool
    words: str


class Contract(NamedTuple):
    """The whole answer."""

    api: str
    form: str
    """What kind within the API, such as `vector` or `simple`; empty for the usual one."""
    spec: Spec | None
    checks: list[CheckResult]
    findings: list[Finding]
    leaves: list[LeafRow]
    notes: list[str]
    """Facts that need no action, one line each."""
    isolation: list[Isolation]
    measured: dict[str, int | float]
    """Steps, episodes, seconds, peak memory."""

    def exit_status(self) -> int:
        """1 where an error was found, else 2 where something could not be checked, else 0."""
        if any(finding.severity == "error" for finding in self.findings):
            return PROBLEM
        return COULD_NOT if any(check.status == COULD_NOT_CHECK for check in self.checks) else OK

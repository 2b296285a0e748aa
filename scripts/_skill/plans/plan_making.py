"""Makes a plan from a few choices: profile defaults, then the environment's shipped settings, then what follows from
sizes and machine, then the choices. Each field keeps the reason for its value.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .. import machine as machines
from .. import strict_json, text
from ..findings import COULD_NOT, Finding, Refusal
from ..machine import Machine
from . import credentials, environment_folder, other_version_lines
from . import profile as profiles
from .contract_report import ContractReport
from .environment_folder import EnvironmentFolder
from .plan import SCHEMA
from .profile import Profile
from .rules.batch import divisors

DEFAULT_PROFILE = "4.0"
EVALUATION_EPISODES = 128
EVALUATION_SEED_OFFSET = 1_000_000
DEFAULT_LIMITS = {"wall_seconds": 300, "memory_mb": 2048, "disk_mb": 256}

_CHOSEN_ELSEWHERE = (
    "schema",
    "run",
    "profile",
    "environment.name",
    "environment.path",
    "environment.api",
    "environment.source",
    "environment.agents",
    "environment.observation",
    "environment.action",
)


class Made(NamedTuple):
    """A plan's document, and why each field has its value."""

    document: dict[str, Any]
    reasons: dict[str, str]
    """Field such as `train.seed` to one line."""


def make(
    environment: str, path: str | None, choices: Sequence[str], run: str | None = None, profile: str = DEFAULT_PROFILE
) -> dict[str, Any]:
    """A plan's document; `choices` are texts `train.learning_rate=1e-3`. Unknown names are refused (exit 2)."""
    return with_reasons(environment, path, choices, run, profile).document


def with_reasons(
    environment: str,
    path: str | None,
    choices: Sequence[str],
    run: str | None = None,
    profile: str = DEFAULT_PROFILE,
    contract: ContractReport | None = None,
    machine: Machine | None = None,
) -> Made:
    """A plan and its reasons; `contract` describes an environment that has no C header, `machine` where it will run."""
    try:
        engine = profiles.load(profile)
        folder = None
        if contract is None or contract.api == "c":
            folder = environment_folder.load(environment, os.path.realpath(path) if path is not None else None)
    except Refusal as refusal:
        # Here the names come from the command line, so a wrong one is wrong use.
        raise Refusal(*refusal.findings, exit_status=COULD_NOT) from None
    making = _Making(engine, environment, folder, machine)
    making.start(run)
    if folder is not None:
        making.c_environment(folder, path is not None)
    elif contract is not None:
        making.described(contract, path)
    for choice in choices:
        making.choose(choice)
    making.derive()
    fields = [*_dotted(making.document)]
    return Made(making.document, {name: making.reasons[name] for name in fields if name in making.reasons})


def run_name(environment: str) -> str:
    """A new name: `cartpole-20261130-130512-1a2b`, in UTC."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in environment.lower()).strip("-") or "run"
    return f"{plain[:48]}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(2).hex()}"


class _Making:
    """One plan under way; the methods are called in the order in which they stand."""

    def __init__(
        self, engine: Profile, environment: str, folder: EnvironmentFolder | None, machine: Machine | None
    ) -> None:
        self.engine = engine
        self.environment = environment
        self.folder = folder
        self.given_machine = machine
        self.document: dict[str, Any] = {}
        self.reasons: dict[str, str] = {}
        self.chosen: set[str] = set()
        self.agents = 1

    @property
    def machine(self) -> Machine:
        """The machine to plan for; measured only where a value depends on it."""
        if self.given_machine is None:
            self.given_machine = machines.measure(programs=False)
        return self.given_machine

    def start(self, run: str | None) -> None:
        """Every section with the profile's defaults."""
        engine = self.engine
        self.document = {
            "schema": SCHEMA,
            "run": run or run_name(self.environment),
            "profile": engine.name,
            "start": {"kind": "fresh"},
            "environment": {"name": self.environment, "api": "c", "settings": {}},
            "policy": dict(engine.policy_defaults),
            "train": dict(engine.train_defaults),
            "evaluation": {"episodes": EVALUATION_EPISODES, "seed": 0},
            "vectorization": dict(engine.vectorization_defaults),
            "device": "cpu",
            **{
                key: dict(value) if isinstance(value, dict) else list(value) if isinstance(value, list) else value
                for key, value in engine.section_defaults.items()
            },
            "loggers": [{"kind": "jsonl"}],
            "network": [],
            "limits": dict(DEFAULT_LIMITS),
        }
        self.reasons["run"] = "your choice" if run else "environment, time and a random part: never used before"
        self.reasons["profile"] = "your choice" if engine.name != DEFAULT_PROFILE else "default: " + engine.title
        self.reasons["start.kind"] = "default: nothing is taken from another run"
        self.reasons["device"] = "default: every machine has it"
        self.reasons["loggers"] = "default: the local log, which is always written"
        self.reasons["network"] = "default: a run reaches no host"
        self.reasons["evaluation.episodes"] = "default: the standard error is below a tenth of the spread"
        self.reasons["limits.wall_seconds"] = self.reasons["limits.memory_mb"] = "default: room for a small run"
        self.reasons["limits.disk_mb"] = "default: room for checkpoints, metrics and replay"
        for section in ("policy", "train", "vectorization", *engine.section_defaults):
            value = self.document[section]
            for name in (f"{section}.{key}" for key in value) if isinstance(value, dict) else (section,):
                self.reasons[name] = f"default of profile {engine.name}"
        if "cuda" in engine.devices and self.machine.visible("cuda"):
            self.document["device"] = "cuda"
            self.reasons["device"] = f"machine: {len(self.machine.visible('cuda'))} cuda devices are visible"

    def c_environment(self, folder: EnvironmentFolder, outside: bool) -> None:
        """What the environment's folder says."""
        self.agents = folder.header.agents
        if outside:
            self.document["environment"] = {
                "name": folder.name, "api": "c", "path": folder.path, "settings": {}
            }  # fmt: skip
        goal = folder.training.get("goal", {})
        if "return" in goal:
            self._set("train.target_return", goal["return"], f"goal in {folder.name}/train.json")
        if isinstance(goal.get("wall_seconds"), int):
            # The goal says how long it should take; the limit stops what went wrong, so it leaves room.
            seconds = max(DEFAULT_LIMITS["wall_seconds"], 5 * goal["wall_seconds"])
            self._set("limits.wall_seconds", seconds, f"five times the goal in {folder.name}/train.json, at least 300")
        for part in ("policy", "train"):
            for name, value in folder.training.get(part, {}).items():
                if name not in self.document[part]:
                    near = text.nearest(name, self.document[part])
                    raise Refusal(
                        Finding(
                            "environment.training",
                            f"train.json of {folder.name}: unknown key {text.shown(name)}",
                            text.pointer((part, name)),
                            fix=f"did you mean {near}?" if near else "",
                        ),
                        exit_status=COULD_NOT,
                    )
                self._set(f"{part}.{name}", value, f"{folder.name}/train.json, measured for this environment")

    def described(self, contract: ContractReport, path: str | None) -> None:
        """What the report of check_env.py says of an environment that has no C header."""
        self.agents = contract.agents
        described: dict[str, Any] = {
            "name": self.environment,
            "api": contract.api,
            "source": os.path.realpath(path) if path is not None else contract.source,
            "agents": contract.agents,
            "observation": contract.observation,
            "action": contract.action,
        }
        start = [low for leaf in contract.action if leaf["kind"] != "box" for low in leaf.get("start", [])]
        if any(start):
            described["action_offset"] = start
        if contract.autoreset is not None:
            # An environment that does not reset itself is reset by what steps it; a plan pins when.
            described["autoreset"] = "next_step" if contract.autoreset == "disabled" else contract.autoreset
        described["settings"] = {}
        self.document["environment"] = described
        for name in described:
            if name not in ("name", "settings"):
                self.reasons[f"environment.{name}"] = "the report of check_env.py"
        if contract.autoreset == "disabled":
            reason = "it does not reset itself: workers do, at the next step, as Gymnasium's do"
            self.reasons["environment.autoreset"] = reason
        if "action_offset" in described:
            self.reasons["environment.action_offset"] = "the action space in the report starts at another number than 0"

    def choose(self, choice: str) -> None:
        """One `NAME=VALUE`."""
        name, equals, literal = choice.partition("=")
        known = self._names()
        if not equals or name not in known:
            raise _no_such_name(choice, known)
        self.chosen.add(name)
        self._set(name, _value(name, literal), "your choice")

    def derive(self) -> None:
        """What follows from other fields, where it was not chosen."""
        train, vectorization = self.document["train"], self.document["vectorization"]
        num_envs, horizon, minibatch, seed = (
            train.get(name) for name in ("num_envs", "horizon", "minibatch_size", "seed")
        )
        sizes = (num_envs, horizon, minibatch, self.agents)
        if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
            # The schema says what is wrong; nothing can follow from it.
            return
        if isinstance(seed, int):
            self._derived("evaluation.seed", seed + EVALUATION_SEED_OFFSET, "train.seed + 1000000: other episodes")
        rounds = num_envs * self.agents * horizon
        if "batch_size" in train:
            self._derived("train.batch_size", rounds, "num_envs x agents x horizon: one round of all agents")
            whole = [size for size in divisors(rounds) if size % horizon == 0]
            near = min(whole, key=lambda size: (abs(size - minibatch), size))
            if near != minibatch:
                self._derived("train.minibatch_size", near, "nearest to the profile's that divides the batch")
        if "envs_per_batch" in vectorization:
            self._derived("vectorization.envs_per_batch", num_envs, "all environments: no surplus")
        if vectorization["backend"] in self.engine.supports.even_workers:
            self._workers(num_envs)
        if vectorization["backend"] != "processes" and "start_method" in vectorization:
            self._derived("vectorization.start_method", None, "no processes are started")
        ranks = self.document.get("distributed", {})
        if ranks.get("world_size", 1) != 1:
            backend = "nccl" if self.document["device"] == "cuda" else "gloo"
            self._derived("distributed.backend", backend, f"several ranks on {self.document['device']}")

    def _workers(self, num_envs: int) -> None:
        if self.document["vectorization"]["backend"] == "serial":
            self._derived("vectorization.num_workers", 1, "the serial backend has one")
            return
        cores = self.machine.cores
        most = max(count for count in divisors(num_envs) if count <= cores)
        self._derived(
            "vectorization.num_workers", most, f"machine: most workers that {num_envs} share on {cores} cores"
        )

    def _derived(self, name: str, value: Any, reason: str) -> None:
        if name not in self.chosen:
            self._set(name, value, reason)

    def _set(self, name: str, value: Any, reason: str) -> None:
        parts = name.split(".")
        target = self.document
        for part in parts[:-1]:
            target = target[part]
        target[parts[-1]] = value
        self.reasons[name] = reason

    def _names(self) -> set[str]:
        """Every name that --set takes."""
        names = {"start.checkpoint", "start.sha256", "start.run"}
        if self.folder is not None:
            names |= {f"environment.settings.{setting}" for setting in self.folder.header.settings}
        else:
            names |= {"environment.settings", "environment.autoreset", "environment.action_offset"}
        for key, value in self.document.items():
            if key != "environment" and key not in _CHOSEN_ELSEWHERE:
                names.update(f"{key}.{inner}" for inner in value) if isinstance(value, dict) else names.add(key)
        return names


def _dotted(document: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The fields of a document in their order, objects and what is in them."""
    for key, value in document.items():
        yield prefix + key
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{key}.")


def _no_such_name(choice: str, known: set[str]) -> Refusal:
    name, equals, literal = choice.partition("=")
    near = text.nearest(name, known)
    shown_name = credentials.HIDDEN if credentials.kind_of(name) else text.shown(name)
    message = f"there is nothing to set called {shown_name}"
    hint = ""
    option = other_version_lines.OPTIONS.get(name.rsplit(".", 1)[-1].replace("-", "_"))
    if name in _CHOSEN_ELSEWHERE:
        message, near = f"{name} is not chosen with --set", None
    elif not equals:
        message = (
            f"--set {credentials.HIDDEN if credentials.kind_of(choice) else text.escaped(choice, 60)} has no value"
        )
    elif option is not None and name not in known:
        message = f"{shown_name} is an option of {option.line}"
        near = option.here if option.here in known else None
        hint = option.remark or (f"the field is {option.here}" if option.here else "")
    secret = credentials.kind_of(literal) or credentials.named_like_one(name)
    value = "VALUE" if secret else text.escaped(literal, 40) or "VALUE"
    fix = f"did you mean --set {near}={value}?" if near else hint
    return Refusal(
        Finding("use.set", message, want="NAME=VALUE with a NAME such as train.learning_rate", fix=fix),
        exit_status=COULD_NOT,
    )


def _value(name: str, literal: str) -> Any:
    """The value that a choice names: JSON, or a bare word for a text such as `cosine`."""
    bare = literal[:1].isalpha() and literal not in ("true", "false", "null", "NaN", "Infinity")
    # A digest may start with a digit; everything below start is text.
    if bare or literal[:1] == "/" or (name.startswith("start.") and literal[:1] != '"'):
        return literal
    try:
        return strict_json.loads(literal.encode("utf-8", "surrogateescape"), f"--set {name}", max_bytes=1 << 16)
    except Refusal as refusal:
        raise Refusal(*(credentials.without(finding) for finding in refusal.findings)) from None

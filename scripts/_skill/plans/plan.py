"""A plan: the one document that says what a run does, read strictly.

Reading checks the form (strict JSON, no credential, schema, what each API and kind of start needs); what lies between
the fields is the matter of `plan_rules`. Credentials are looked for first, so that no later message can show one.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from .. import secret_variables, strict_json, text
from ..findings import Finding, Refusal, could_not
from ..json_schema import Schema
from . import credentials, other_version_lines

SCHEMA = "plan/2"
_C_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
_DESCRIBED = ("source", "agents", "observation", "action", "autoreset")
"""Keys that an environment has where no C header says them."""
_START_KEYS = {"fresh": (), "warm": ("checkpoint", "sha256"), "resume": ("run",)}


class Limits(NamedTuple):
    """Bounds on the child process."""

    wall_seconds: int
    memory_mb: int
    disk_mb: int


class Plan(NamedTuple):
    """A plan whose form is right."""

    data: bytes
    """The exact bytes; digests are taken of these and the child gets these."""
    document: dict[str, Any]
    run: str
    profile: str
    environment: str
    api: str
    environment_path: str | None
    settings: dict[str, Any]
    start: dict[str, Any]
    train: dict[str, Any]
    vectorization: dict[str, Any]
    device: str
    loggers: list[dict[str, Any]]
    network: list[str]
    limits: Limits

    @property
    def sha256(self) -> str:
        """SHA-256 of the plan's bytes."""
        import hashlib

        return hashlib.sha256(self.data).hexdigest()


def parse(data: bytes, source: str) -> Plan:
    """The plan in `data`; a Refusal carries every mistake of form."""
    try:
        document = strict_json.loads(data, source)
    except Refusal as refusal:
        # The text around a mistake is shown, and a credential may stand there.
        raise Refusal(
            *(credentials.without(finding, source) for finding in refusal.findings), exit_status=refusal.exit_status
        ) from None
    secrets = credentials.findings(document, secret_variables.hider(secret_variables.telling(os.environ)))
    if secrets:
        raise Refusal(*secrets)
    if isinstance(document, dict) and document.get("schema") == "plan/1":
        raise Refusal(
            Finding(
                "plan.version",
                "this plan is of an older format",
                "/schema",
                '"plan/1"',
                f'"{SCHEMA}"',
                "make it again with make_plan.py",
            )
        )
    findings = [other_version_lines.explained(finding) for finding in Schema.shipped("plan").findings(document)]
    if not findings:
        findings = [*_environment_form(document["environment"]), *_start_form(document["start"])]
    if findings:
        raise Refusal(*findings)
    environment = document["environment"]
    _paths(environment.get("path"), environment.get("source"), document["start"].get("checkpoint"))
    return Plan(
        data=data,
        document=document,
        run=document["run"],
        profile=document["profile"],
        environment=environment["name"],
        api=environment["api"],
        environment_path=environment.get("path"),
        settings=environment["settings"],
        start=document["start"],
        train=document["train"],
        vectorization=document["vectorization"],
        device=document["device"],
        loggers=document["loggers"],
        network=document["network"],
        limits=Limits(**document["limits"]),
    )


def read(path: str) -> Plan:
    """The plan in a file."""
    return parse(strict_json.read_file(path), path)


def written(document: dict[str, Any]) -> bytes:
    """The bytes of a plan as `make_plan.py` writes them."""
    return strict_json.pretty(document).encode("ascii") + b"\n"


def _paths(*paths: str | None) -> None:
    """Paths that this process can name at all: in an ASCII locale it cannot name others."""
    for path in paths:
        try:
            os.fsencode(path or "")
        except UnicodeEncodeError:
            raise could_not(
                "plan.path",
                "this process cannot name a path of the plan in its locale",
                where=text.escaped(path or ""),
                fix="set LC_ALL=C.UTF-8",
            ) from None


def _environment_form(environment: dict[str, Any]) -> list[Finding]:
    """A C environment is described by its header, every other one by the plan."""
    found: list[Finding] = []
    api = environment["api"]
    if api == "c":
        if not _C_NAME.match(environment["name"]):
            found.append(
                Finding(
                    "schema.pattern",
                    "not the name of a C environment",
                    "/environment/name",
                    text.shown(environment["name"]),
                    "lower-case letters, digits and _",
                    "write the name of the folder that holds <name>.h",
                )
            )
        for name, value in environment["settings"].items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                place = text.pointer(("environment", "settings", name))
                found.append(
                    Finding(
                        "environment.setting_type",
                        "a setting of a C environment is a number",
                        place,
                        text.shown(value),
                        "a number",
                        "write 1 or 0" if isinstance(value, bool) else "write the number without quotes, or remove it",
                    )
                )
        extra = [key for key in (*_DESCRIBED, "action_offset") if key in environment]
        missing: list[str] = []
    else:
        extra = ["path"] if "path" in environment else []
        missing = [key for key in _DESCRIBED if key not in environment]
    for key in missing:
        fix = "let make_plan.py fill it in from the report of check_env.py: --contract FILE"
        if key == "autoreset":
            fix = "write the mode that the environment was checked in: same_step, next_step or disabled"
        found.append(
            Finding(
                "environment.undescribed",
                f"an environment of API {api} needs {text.shown(key)} in the plan",
                f"/environment/{key}",
                "nothing",
                text.listed(_DESCRIBED),
                fix,
            )
        )
    for key in extra:
        want = "what the header says is not repeated in the plan" if api == "c" else "source names the Python file"
        found.append(
            Finding(
                "environment.unneeded",
                f"an environment of API {api} has no {text.shown(key)}",
                f"/environment/{key}",
                text.shown(environment[key]),
                want,
                "remove the key",
            )
        )
    return found


def _start_form(start: dict[str, Any]) -> list[Finding]:
    kind = start["kind"]
    needed = _START_KEYS[kind]
    found = [
        Finding(
            "start.incomplete",
            f"a {kind} start needs {text.shown(key)}",
            f"/start/{key}",
            "nothing",
            text.listed(("kind", *needed)),
            f"add {key}",
        )
        for key in needed
        if key not in start
    ]
    found.extend(
        Finding(
            "start.unneeded",
            f"a {kind} start has no {text.shown(key)}",
            f"/start/{key}",
            text.shown(start[key]),
            text.listed(("kind", *needed)),
            "remove the key, or choose the kind of start that has it: "
            + text.listed(other for other, keys in _START_KEYS.items() if key in keys),
        )
        for key in start
        if key not in ("kind", *needed)
    )
    return found

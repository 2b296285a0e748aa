"""The worker's messages, read as what they are: data of an untrusted process, strict, bounded and checked by schema."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import strict_json, text
from ..findings import Refusal
from ..json_schema import Schema
from . import contract

MAX_LINES = 5000
_TEXT = {"type": "string", "maxLength": 400}
_NUMBER = {"type": "integer", "minimum": -1}
_COUNT = {"type": "integer", "minimum": 0}
_NUMBERS = {"type": "array", "maxItems": 4096, "items": {"type": "integer"}}


def _message(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": sorted(properties),
        "properties": {**properties, "kind": _TEXT},
    }


_OBSERVATION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["path", "dtype", "shape"],
    "properties": {"path": _TEXT, "dtype": _TEXT, "shape": _NUMBERS},
}
_ACTION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["path", "kind", "dtype", "shape", "sizes", "start"],
    "properties": {
        "path": _TEXT,
        "kind": {"enum": list(contract.ACTION_KINDS)},
        "dtype": _TEXT,
        "shape": _NUMBERS,
        "sizes": _NUMBERS,
        "start": _NUMBERS,
    },
}
_NUMBERS_OF_A_RUN = {
    "type": "object",
    "additionalProperties": False,
    "required": ["steps", "episodes"],
    "properties": {"steps": _COUNT, "episodes": _COUNT},
}
_KINDS: dict[str, dict[str, Any]] = {
    "start": _message(api={"enum": list(contract.APIS)}, form=_TEXT, python=_TEXT),
    "finding": _message(
        check=_TEXT,
        code={"type": "string", "pattern": "^[a-z][a-z_]*\\.[a-z][a-z_]*$", "maxLength": 60},
        message=_TEXT,
        call=_TEXT,
        agent=_TEXT,
        leaf=_TEXT,
        indices=_NUMBERS,
        environment=_NUMBER,
        episode=_NUMBER,
        step=_NUMBER,
        got=_TEXT,
        want=_TEXT,
        fix=_TEXT,
        severity={"enum": ["error", "warning"]},
    ),
    "note": _message(text=_TEXT),
    "warning": _message(text=_TEXT, place=_TEXT),
    "output": _message(stream=_TEXT, call=_TEXT, episode=_NUMBER, step=_NUMBER, text=_TEXT),
    "check": _message(name=_TEXT, title=_TEXT, status={"enum": list(contract.STATUSES)}, detail=_TEXT),
    "spec": _message(
        api={"enum": list(contract.APIS)},
        agents={"type": "integer", "minimum": 1},
        observation={"type": "array", "maxItems": 1000, "items": _OBSERVATION},
        action={"type": "array", "maxItems": 1000, "items": _ACTION},
    ),
    "leaf": _message(
        agent=_TEXT,
        role={"enum": ["observation", "action"]},
        path=_TEXT,
        space=_TEXT,
        dtype=_TEXT,
        shape=_NUMBERS,
        bytes=_COUNT,
        low=_TEXT,
        high=_TEXT,
    ),
    "actual": _message(agent=_TEXT, path=_TEXT, actual=_TEXT),
    "range": _message(path=_TEXT, low=_TEXT, high=_TEXT),
    "autoreset": _message(mode={"enum": ["", *contract.AUTORESETS]}, why=_TEXT),
    "revival": _message(agent=_TEXT, episode=_NUMBER, ended=_NUMBER, revived=_NUMBER),
    "unavailable": _message(module=_TEXT, fix=_TEXT, call=_TEXT),
    "no_such_name": _message(name=_TEXT, known={"type": "array", "items": _TEXT}),
    "internal": _message(text=_TEXT, check=_TEXT),
    "old_python": _message(version=_TEXT),
    "end": _message(numbers=_NUMBERS_OF_A_RUN, written=_COUNT),
}


class Messages(NamedTuple):
    """The messages by kind, in order, and what was wrong with the rest."""

    by_kind: dict[str, list[dict[str, Any]]]
    problem: str
    """Why the messages cannot be believed; empty where they are whole."""

    def all(self, kind: str) -> list[dict[str, Any]]:
        """The messages of one kind."""
        return self.by_kind.get(kind, [])


def read(data: bytes) -> Messages:
    """Every message up to the first that is not one."""
    found: dict[str, list[dict[str, Any]]] = {}
    schemas: dict[str, Schema] = {}
    lines = data.split(b"\n")
    if len(lines) > MAX_LINES:
        return Messages(found, f"more than {MAX_LINES} messages")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            message = strict_json.loads(line, f"message {number}")
        except Refusal as refusal:
            return Messages(found, refusal.findings[0].message)
        kind = message.get("kind") if isinstance(message, dict) else None
        if not isinstance(kind, str) or kind not in _KINDS:
            return Messages(found, f"message {number} is of no known kind")
        schema = schemas.setdefault(kind, Schema(_KINDS[kind])) if kind not in schemas else schemas[kind]
        wrong = schema.findings(message)
        if wrong:
            return Messages(found, f"message {number} ({kind}): {wrong[0].message} at {text.escaped(wrong[0].pointer)}")
        if found.get("end"):
            return Messages(found, f"message {number} comes after the end")
        found.setdefault(kind, []).append(message)
    return Messages(found, "")

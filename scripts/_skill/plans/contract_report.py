"""The report of `check_env.py`, as far as a plan needs it: API, agents, leaves, autoreset mode."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from .. import strict_json, text
from ..findings import Finding, Refusal


class ContractReport(NamedTuple):
    """What a plan takes from a report; the plan's schema checks the leaves."""

    api: str
    agents: int
    observation: list[dict[str, Any]]
    action: list[dict[str, Any]]
    autoreset: str | None
    source: str | None
    """Absolute path of the Python file, where the report names one."""


def read(path: str) -> ContractReport:
    """A report whose check found no error; a Refusal names what is wrong with it."""
    document = strict_json.loads(strict_json.read_file(path), path)
    inner = document.get("contract") if isinstance(document, dict) else None
    body = inner if isinstance(inner, dict) and "spec" in inner else document
    spec = body.get("spec") if isinstance(body, dict) else None
    wanted = {"api": str, "agents": int, "observation": list, "action": list}
    if not isinstance(spec, dict) or not all(isinstance(spec.get(key), kind) for key, kind in wanted.items()):
        raise Refusal(
            Finding(
                "contract.form",
                "this is no report of check_env.py with the spec of an environment",
                path,
                want="spec with api, agents, observation and action",
                fix="python3 scripts/check_env.py FILE.py:NAME --json > report.json",
            )
        )
    if document.get("exit_status", 0) != 0 or document.get("status", "ok") != "ok":
        raise Refusal(
            Finding(
                "contract.failed",
                "the environment did not pass its check",
                path,
                text.shown(document.get("summary", document.get("status"))),
                "a report of exit status 0",
                "mend the environment and check it again",
            )
        )
    leaves = {
        name: [_leaf(leaf, keys) for leaf in spec[name] if isinstance(leaf, dict)]
        for name, keys in (
            ("observation", ("path", "dtype", "shape")),
            ("action", ("path", "kind", "dtype", "shape", "sizes", "start")),
        )
    }
    autoreset = spec.get("autoreset")
    target = body.get("target", document.get("target"))
    file = target.rpartition(":")[0] if isinstance(target, str) and ":" in target else target
    source = os.path.realpath(file) if isinstance(file, str) and file.endswith(".py") else None
    return ContractReport(
        spec["api"],
        spec["agents"],
        leaves["observation"],
        leaves["action"],
        autoreset if isinstance(autoreset, str) else None,
        source,
    )


def _leaf(leaf: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: leaf[key] for key in keys if key in leaf}

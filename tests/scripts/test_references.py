"""plan.md and safety.md name everything that exists, and nothing that does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from _skill import strict_json
from _skill.gate import child_command

from .gate_bundle import ROOT

PLAN = (ROOT / "references/plan.md").read_text()
SAFETY = (ROOT / "references/safety.md").read_text()


def fields(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, child in schema["properties"].items():
        if child.get("properties"):
            yield from fields(child, f"{prefix}{name}.")
        else:
            yield prefix + name


def test_plan_md_has_a_row_for_every_field_and_for_no_other() -> None:
    table = PLAN[PLAN.index("## Fields") : PLAN.index("## Numbers that")]
    named = {
        name
        for row in table.splitlines()[4:]
        if row.startswith("| `")
        for name in re.findall(r"`([^`]+)`", row.split("|")[1])
    }
    schema = strict_json.loads((ROOT / "schemas/plan.schema.json").read_bytes(), "schema")
    assert named == set(fields(schema))


def codes() -> set[str]:
    """The codes of every finding about a plan, read from the source."""
    found: set[str] = set()
    for path in (ROOT / "scripts/_skill/plans").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        found |= set(re.findall(r'(?:Finding|could_not)\(\s*"([a-z]+\.[a-z_]+)"', source))
        found |= set(re.findall(r'code="([a-z]+\.[a-z_]+)"', source))
    facts = (ROOT / "scripts/_skill/plans/rules/sections.py").read_text(encoding="utf-8")
    found |= set(re.findall(r'\("([a-z]+\.[a-z_]+)", \(', facts))
    relations = (ROOT / "scripts/_skill/plans/rules/batch.py").read_text(encoding="utf-8")
    return found | {f"batch.{relation}" for relation in [*re.findall(r'return "([a-z]+)"', relations), "slices"]}


def test_plan_md_names_every_rule_and_no_other() -> None:
    # These are answers to a command line or of the schema, not rules of plans.
    elsewhere = {"use.set", "use.field", "contract.form", "contract.failed", "schema.pattern"}
    table = PLAN[PLAN.index("## Rules") :]
    named = {
        name
        for row in table.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`([a-z.0-9_]+)`", row.split("|")[1])
    }
    assert codes() - elsewhere == named


def test_safety_md_names_every_variable_and_the_tier_s_bounds() -> None:
    for name in (*child_command.PASSED_ON, *child_command.DISPLAY_ONLY, *child_command.variables({}, "x")):
        assert f"`{name}`" in SAFETY
    caps = strict_json.loads((ROOT / "launch_policy.json").read_bytes(), "policy")["tiers"][0]["caps"]
    bounds = [caps[name] for name in ("total_timesteps", "wall_seconds", "memory_mb", "disk_mb")]
    assert bounds == [10**9, 3600, 8192, 4096]
    assert "1e9 steps, 1 hour, 8 GiB of memory, 4 GiB of disk" in SAFETY

"""plan.md and safety.md name everything that exists, and nothing that does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from _skill import strict_json
from _skill.gate import child_command, tier

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
    table = PLAN[PLAN.index("## Fields") : PLAN.index("## Numbers")]
    named = {
        name
        for row in table.splitlines()[4:]
        if row.startswith("| `")
        for name in re.findall(r"`([^`]+)`", row.split("|")[1])
    }
    schema = strict_json.loads((ROOT / "schemas/plan.schema.json").read_bytes(), "schema")
    assert named == set(fields(schema))


def test_plan_md_names_every_rule() -> None:
    source = (ROOT / "scripts/_skill/plans/plan_rules.py").read_text()
    codes = set(re.findall(r'"((?:environment|budget|evaluation|device|memory|workers)\.[a-z_]+)"', source))
    relations = set(re.findall(r'return "([a-z]+)"', source)) | {"slices"}
    assert codes | {f"batch.{relation}" for relation in relations} == set(
        re.findall(r"`([a-z]+\.[a-z_]+)`", PLAN[PLAN.index("## Rules") :])
    )


def test_safety_md_names_every_variable_and_the_tier_s_bounds() -> None:
    for name in (*child_command.PASSED_ON, *child_command.DISPLAY_ONLY, *child_command.variables({}, "x")):
        assert f"`{name}`" in SAFETY
    assert (tier.MOST_STEPS, tier.MOST_WALL_SECONDS, tier.MOST_MEMORY_MB, tier.MOST_DISK_MB) == (
        10**9,
        3600,
        8192,
        4096,
    )
    assert "1e9 steps, 1 hour, 8 GiB of memory, 4 GiB of disk" in SAFETY

"""Settings of a C environment exist, are of their type and inside their bounds."""

from __future__ import annotations

from collections.abc import Iterator

from ... import text
from ...findings import Finding
from . import Case


def findings(case: Case) -> Iterator[Finding]:
    """One finding for each setting that its header does not allow."""
    header = case.environment.header
    if header is None:
        return
    for name, value in case.plan.settings.items():
        place = text.pointer(("environment", "settings", name))
        setting = header.settings.get(name)
        if setting is None:
            near = text.nearest(name, header.settings)
            yield Finding(
                "environment.setting",
                f"{case.plan.environment} has no setting {text.shown(name)}",
                place,
                text.shown(value),
                text.listed(header.settings) or "no setting at all",
                f"did you mean {near}?" if near else "remove it",
            )
        elif setting.type == "int" and not isinstance(value, int):
            yield Finding(
                "environment.setting_type",
                f"the setting {name} is an integer",
                place,
                text.shown(value),
                "an integer literal",
                f"write {round(value)}",
            )
        elif not setting.least <= value <= setting.most:
            bound = setting.least if value < setting.least else setting.most
            yield Finding(
                "environment.setting_range",
                f"the setting {name} is out of range",
                place,
                text.shown(value),
                f"{setting.least} to {setting.most}",
                f"the nearest valid value is {bound}",
            )

"""All checks of a bundle in one list; adding a check is adding a function with the same shape to `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import text
from ..findings import Finding, could_not
from . import fields, hidden, links, programs
from .bundle import Bundle

CHECKS: tuple[Callable[[Bundle], list[Finding]], ...] = (fields.check, links.check, hidden.check, programs.check)


def check(bundle: Bundle, allowed: Sequence[str] = ()) -> list[Finding]:
    """Every finding of every check, errors first; what `allowed` names (`CODE:FILE`) is a warning."""
    found = list(bundle.findings)
    for part in CHECKS:
        found += part(bundle)
    waived = {_allowance(word) for word in allowed}
    used: set[tuple[str, str]] = set()
    result = []
    for finding in found:
        key = (finding.code, finding.pointer.rsplit(":", 1)[0] if ":" in finding.pointer else finding.pointer)
        if key in waived and finding.severity == "error":
            used.add(key)
            finding = finding._replace(severity="warning", message=f"{finding.message} (allowed by the caller)")
        result.append(finding)
    for code, path in sorted(waived - used):
        message = "nothing needs this allowance any more"
        result.append(Finding("use.allowance", message, f"{code}:{path}", fix="remove it", severity="warning"))
    unique = dict.fromkeys(result)
    return sorted(unique, key=lambda finding: finding.severity != "error")


def _allowance(word: str) -> tuple[str, str]:
    code, mark, path = word.partition(":")
    if not mark or not path or "." not in code:
        raise could_not(
            "use.wrong",
            f"not an allowance: {text.shown(word)}",
            want="CODE:FILE",
            fix="--allow hidden.override:docs/x.md",
        )
    return code, path

"""The whole check of one target: the source first, then the run, for Python and for C."""

from __future__ import annotations

import os

from ..findings import Finding, Refusal, could_not
from .contract import CheckOptions, Contract, found
from .target import Target


def static_findings(target: Target, required: bool) -> list[Finding]:
    """What the source alone says; `required` refuses (exit 2) where there is no source to read."""
    if target.kind == "c":
        from . import c_source

        return list(c_source.check(os.path.dirname(target.file), target.name))
    if not target.file:
        if required:
            raise could_not(
                "source.none",
                "there is no source file to read",
                where=target.name,
                want="FILE.py:NAME, or a C environment",
            )
        return []
    from . import static

    return static.findings(target.file, target.name)


def check(target: Target, options: CheckOptions) -> Contract:
    """The contract of an environment, with the warnings of its source behind the findings of its run."""
    if target.kind == "c":
        from . import c_environment

        return c_environment.check(options, target.name, target.file)
    from . import environment_check, static

    warnings: list[Finding] = []
    fixed: list[int] = []
    if target.file:
        try:
            warnings = static.findings(target.file, target.name)
            fixed = static.fixed_seeds(warnings)
        except Refusal as refusal:
            # The interpreter may read what the pre-check does not; the run decides.
            warnings = [
                found(f.code, f.message, got=f.got, want=f.want, fix=f.fix, severity="warning")
                for f in refusal.findings
            ]
    contract = environment_check.check(target, options, fixed)
    return contract._replace(findings=contract.findings + warnings)

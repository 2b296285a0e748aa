"""The Python file of an environment defines what the plan names, in a form that worker processes can get."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ... import text
from ...findings import Finding, Refusal
from . import Case


def findings(case: Case) -> Iterator[Finding]:
    """What keeps workers from making the environment; the file is read, never run."""
    source = case.plan.document["environment"].get("source")
    if source is None or not os.path.isfile(source):
        return
    # The syntax tree is loaded only where there is a Python file.
    from .. import python_source

    try:
        found = python_source.read(source)
    except Refusal as refusal:
        yield from (finding._replace(severity="error") for finding in refusal.findings)
        return
    name = case.plan.environment.rpartition(":")[2]
    kind = found.definitions.get(name)
    if kind is None:
        makers = [known for known, what in found.definitions.items() if what in ("class", "function")]
        near = text.nearest(name, makers)
        yield Finding(
            "environment.factory",
            "the file defines no such class or function at its top level",
            "/environment/name",
            text.shown(name),
            text.listed(makers) or "a class or a function",
            f"did you mean {near}?" if near else "write its name as the file defines it",
        )
        return
    section = case.plan.vectorization
    if section["backend"] != "processes" or section.get("start_method") not in ("spawn", "forkserver"):
        return
    if kind in ("lambda", "value"):
        what = "a lambda" if kind == "lambda" else "a value that is made when the file is imported"
        yield Finding(
            "environment.not_picklable",
            f"{text.shown(name)} is {what}: it is not picklable, and {section['start_method']} cannot send it",
            "/environment/name",
            what,
            "a class, or a function defined with def, at the top level of the file",
            f"write def {text.escaped(name, 60)}(...): and return the environment",
        )
    for line, called in found.unguarded[:5]:
        yield Finding(
            "environment.main_guard",
            f"{section['start_method']} imports the file in every worker, and this call would run in each of them",
            f"{source}:{line}",
            f"{text.escaped(called, 60)}() at the top level",
            "definitions only",
            'put it below if __name__ == "__main__":',
            severity="warning",
        )

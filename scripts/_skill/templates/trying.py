"""Tests what a template became: its own test, then the check of its API, each in a bounded process of its own.

Its own test runs as the user's own program does; the check is kept apart by check_env.py.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from typing import Any

from .. import layout, text
from ..doctor.trial import run
from ..findings import COULD_NOT, Finding, Refusal

OWN_TEST_SECONDS = 120.0
CHECK_SECONDS = 300.0


def environment(path: str) -> tuple[list[Finding], list[str]]:
    """Findings and lines about an environment: a Python file, or the folder of a C header."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        name = os.path.basename(path)
        if not os.path.isfile(os.path.join(path, f"{name}.h")):
            raise _unusable(path, f"the folder holds no {name}.h")
        return _checked(path, [])
    content = _source(path)
    found, lines = _own_test(path, [])
    match = re.search(r"^class ([A-Za-z_]\w*)\(", content, re.MULTILINE)
    if found or match is None:
        message = "the file defines no class with a base class, as an environment's class is"
        return found or [Finding("template.no_class", message, text.escaped(path))], lines
    return _checked(f"{path}:{match[1]}", lines)


def program(path: str) -> tuple[list[Finding], list[str]]:
    """Findings and lines about a training program: it compiles, and answers --help without starting anything."""
    path = os.path.abspath(path)
    content = _source(path)
    try:
        ast.parse(content, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [Finding("template.syntax", f"not Python: {error}", text.escaped(path))], []
    folder = re.search(r"^BUNDLE = Path\((['\"])(.*)\1\)", content, re.MULTILINE)
    if folder and not os.path.isdir(os.path.join(folder[2], "scripts")):
        message = "BUNDLE is not the folder of the skill"
        return [Finding("template.bundle", message, text.escaped(path), text.shown(folder[2]), layout.ROOT)], []
    return _own_test(path, ["--help"])


def _own_test(path: str, words: list[str]) -> tuple[list[Finding], list[str]]:
    # The bundle's own pufferlib is found without being installed.
    known = os.environ.get("PYTHONPATH", "")
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [layout.NATIVE_PROFILE, known]))}
    variables["PYTHONDONTWRITEBYTECODE"] = "1"
    outcome = run([sys.executable, path, *words], OWN_TEST_SECONDS, variables)
    last = outcome.output.splitlines()[-1] if outcome.output else ""
    shown = text.escaped(last, 300)
    if outcome.exit_status == 0:
        return [], [f"own test  {shown}" if not words else "own test  answers --help"]
    place = text.escaped(path)
    if outcome.exit_status is None:
        return [Finding("template.test_late", f"its own test: {outcome.why}", place, shown)], []
    missing = re.search(r"No module named '([\w.]+)'|python3 -m pip install (\S+)", outcome.output)
    if missing:
        package = (missing[1] or missing[2]).split(".")[0]
        fix = f"python3 -m pip install {package}"
        raise Refusal(Finding("template.package", f"it needs {package}", place, fix=fix), exit_status=COULD_NOT)
    return [Finding("template.test_failed", "its own test fails", place, shown, "exit status 0")], []


def _checked(target: str, lines: list[str]) -> tuple[list[Finding], list[str]]:
    """What check_env.py says of it."""
    script = os.path.join(layout.SCRIPTS, "check_env.py")
    if not os.path.isfile(script):
        raise Refusal(Finding("template.no_check", "check_env.py is not there", script), exit_status=COULD_NOT)
    outcome = run([sys.executable, script, target, "--json"], CHECK_SECONDS, errors=False)
    try:
        report: dict[str, Any] = json.loads(outcome.output)
        status = int(report["exit_status"])
        findings = [
            Finding(**{key: str(value) for key, value in item.items() if key in Finding._fields})
            for item in report["findings"]
        ]
    except (ValueError, KeyError, TypeError):
        shown = text.escaped(outcome.output[-300:], 300) or outcome.why
        message = "check_env.py gave no report"
        raise Refusal(
            Finding("template.no_check", message, text.escaped(target), shown), exit_status=COULD_NOT
        ) from None
    if status == COULD_NOT:
        raise Refusal(*findings, exit_status=COULD_NOT)
    return findings, [*lines, f"check_env {text.escaped(str(report['summary']), 300)}"]


def _source(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            data = stream.read(1 << 20)
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(path, str(error)) from None


def _unusable(path: str, why: str) -> Refusal:
    want = "a file or folder that the write command made"
    return Refusal(
        Finding("template.unusable", "cannot be tested", text.escaped(path), why, want), exit_status=COULD_NOT
    )

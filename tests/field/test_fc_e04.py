"""FC-E04: deep nesting and endless digits."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import ROOT, Tool
from .plan_files import PLAN_4, changed, write

CASES = {
    "brackets": (b"[" * 100_000, "json.depth"),
    "objects": (b'{"a":' * 100_000, "json.depth"),
    "mixed": (b'[{"a":' * 50_000, "json.depth"),
    "closed": (b"[" * 100_000 + b"]" * 100_000, "json.depth"),
    "depth 65": (b"[" * 65 + b"]" * 65, "json.depth"),
    "in a field": (b'{"train":' + b"[" * 1000 + b"]" * 1000 + b"}", "json.depth"),
    "digits": (b'{"seed":' + b"9" * 4301 + b"}", "json.integer_range"),
    "million digits": (b'{"seed":' + b"1" * 1_000_000 + b"}", "json.integer_range"),
    "negative digits": (b'{"seed":-' + b"9" * 4301 + b"}", "json.integer_range"),
    "digits with an exponent": (b"[1e" + b"9" * 4301 + b"]", "json.not_finite"),
    "digits before a point": (b"[" + b"9" * 5000 + b".5]", "json.not_finite"),
    "string": (b'["' + b"a" * (2 << 20) + b'"]', "json.size"),
    "spaces": (b" " * (2 << 20), "json.size"),
    "open string": (b'["' + b"a" * 1_000_000, "json.syntax"),
    "escapes": (b'["' + b"\\" * 999_999, "json.syntax"),
    "commas": (b"[" + b"," * 1_000_000, "json.syntax"),
    "keys": (b"{" + b'"a":1,' * 150_000, "json.duplicate_key"),
    "empty": (b"", "json.syntax"),
    "one quote": (b'"', "json.syntax"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_clean_finding_in_no_time(tool: Tool, tmp_path: Path, name: str) -> None:
    content, code = CASES[name]
    (tmp_path / "plan.json").write_bytes(content)
    began = time.monotonic()
    answer = tool("validate_plan", "plan.json", timeout=20)
    assert time.monotonic() - began < 10
    assert answer.exit_status == 1 and answer.codes == [code], answer.text[:2000]
    assert len(answer.text) < 3000


def test_a_file_of_50_megabytes_is_not_read_whole(tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    with path.open("wb") as stream:
        stream.truncate(50_000_000)
    answer = tool("validate_plan", path)
    assert answer.exit_status == 1 and answer.codes == ["json.size"]


def test_memory_stays_small(tmp_path: Path) -> None:
    """512 MiB of address space are enough for any file of one mebibyte."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))

    for content in (b"[" + b"{}," * 340_000, b"[" + b"1," * 500_000, b'["' + b"\\u0041" * 170_000):
        (tmp_path / "plan.json").write_bytes(content)
        result = subprocess.run(
            [sys.executable, str(ROOT / "scripts" / "validate_plan.py"), "plan.json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            preexec_fn=limit,
        )
        assert result.returncode == 1 and "Traceback" not in result.stderr and "MemoryError" not in result.stderr


def test_the_deepest_document_that_is_allowed_is_read(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(b"[" * 64 + b"]" * 64)
    assert tool("validate_plan", "plan.json").codes == ["schema.type"]


def test_the_limits_do_not_move_with_the_interpreter_s(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(CASES["digits"][0])
    answer = tool("validate_plan", "plan.json", variables={"PYTHONINTMAXSTRDIGITS": "0"})
    assert answer.codes == ["json.integer_range"]
    (tmp_path / "plan.json").write_bytes(CASES["brackets"][0])
    assert tool("validate_plan", "plan.json").codes == ["json.depth"]


def test_no_source_raises_the_recursion_limit() -> None:
    for path in (ROOT / "scripts").rglob("*.py"):
        assert "setrecursionlimit" not in path.read_text(encoding="utf-8"), path


def test_many_unknown_keys_are_counted_not_printed(tool: Tool, tmp_path: Path) -> None:
    document = changed(PLAN_4, {})
    document["train"].update({f"option_{number}": 1 for number in range(5000)})
    answer = tool("validate_plan", write(tmp_path, document), timeout=60)
    assert answer.exit_status == 1
    assert len(answer.report["findings"]) <= 50 and answer.report["findings_left_out"] > 900
    assert len(answer.text) < 100_000


def test_a_long_key_or_text_is_cut(tool: Tool, tmp_path: Path) -> None:
    document = changed(PLAN_4, {"run": "a" * 100_000})
    document["x" * 100_000] = 1
    answer = tool("validate_plan", write(tmp_path, document))
    assert answer.exit_status == 1 and len(answer.text) < 5000


def test_the_command_line_has_the_same_limits(tool: Tool) -> None:
    assert tool("make_plan", "cartpole", "--set", "policy.hidden=" + "[" * 1000).codes == ["json.depth"]
    assert tool("make_plan", "cartpole", "--set", "train.seed=" + "9" * 4301).codes == ["json.integer_range"]


def test_a_plan_within_the_limits_is_fine(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(PLAN_4) + "\n" * 1000)
    assert tool("validate_plan", "plan.json").exit_status == 0

"""Every fenced code block of the documents does what it shows.

A document's blocks run in order in one private copy of the repository, with an empty home, as for a reader who goes
from top to bottom: `bash` and `python` blocks run, `c` blocks compile as C11 and C++17, `json` blocks parse, and `text`
blocks are output for people. A comment on the line before a block says more about it:

    <!-- file: my_env/my_env.h -->     the block is first saved under this name in the copy
    <!-- exits 1: reason -->           a bash block that ends with this status
    <!-- not run: reason -->           a block that cannot run here, each listed as skipped with its reason
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [path for name in ("README.md", "SKILL.md") if (path := ROOT / name).exists()]
DOCUMENTS += sorted((ROOT / "references").glob("*.md"))
FENCE = re.compile(r"(?P<indent> *)```(?P<language>[\w-]*)\s*")
COMMENT = re.compile(r"\s*<!-- (?P<kind>not run|exits \d+|file): (?P<text>.*?) -->\s*")
SECONDS = 300


@dataclass(frozen=True)
class Block:
    """One fenced block: where it stands, its language, its text and what the comment before it says."""

    place: str
    language: str
    text: str
    not_run: str | None
    exits: int
    file: str | None


def blocks(document: Path) -> list[Block]:
    """The blocks of a document in order; an unclosed fence or an unknown remark is an error."""
    found: list[Block] = []
    lines = document.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        fence = FENCE.fullmatch(lines[number])
        if fence is None:
            assert "```" not in lines[number], f"{document.name}:{number + 1}: a fence that is not alone on its line"
            number += 1
            continue
        remarks: dict[str, str] = {}
        above = number - 1
        while above >= 0 and (remark := COMMENT.fullmatch(lines[above])):
            remarks[remark["kind"].split()[0]] = remark["kind"] + ": " + remark["text"]
            above -= 1
        start = number + 1
        number = start
        while number < len(lines) and lines[number].strip() != "```":
            number += 1
        assert number < len(lines), f"{document.name}:{start}: a block without an end"
        text = "\n".join(line.removeprefix(fence["indent"]) for line in lines[start:number]) + "\n"
        found.append(
            Block(
                place=f"{document.relative_to(ROOT)}:{start}",
                language=fence["language"],
                text=text,
                not_run=remarks["not"].partition(": ")[2] if "not" in remarks else None,
                exits=int(remarks["exits"].split(":")[0].split()[1]) if "exits" in remarks else 0,
                file=remarks["file"].partition(": ")[2] if "file" in remarks else None,
            )
        )
        number += 1
    return found


ALL = {document: blocks(document) for document in DOCUMENTS}
NOT_RUN = [block for found in ALL.values() for block in found if block.not_run is not None]


def python3() -> str:
    """The interpreter under the tests' environment: what a reader has, without the tests' packages."""
    return str(getattr(sys, "_base_executable", sys.executable))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The repository's files, tracked and new, in a folder of their own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout, so nothing says which files belong to the repository")
    target = tmp_path / "pufferlib-skill"
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


@pytest.fixture
def environment(tmp_path: Path, clean_environment: dict[str, str]) -> dict[str, str]:
    """A fresh home, the tests' engine cache, and ``python3`` being the interpreter that the tests run on."""
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "python3").symlink_to(python3())
    return clean_environment | {"PATH": f"{commands}{os.pathsep}{clean_environment['PATH']}"}


def execute(command: list[str], block: Block, cwd: Path, env: dict[str, str], expected: int = 0) -> None:
    """Run one command of a block and fail with the block's place and what was printed."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as late:
        pytest.fail(f"{block.place}: no end after {SECONDS} s\n{block.text}\n{late.stdout!r}")
    if done.returncode != expected:
        pytest.fail(
            f"{block.place}: status {done.returncode}, expected {expected}\n{block.text}\n{done.stdout[-4000:]}"
        )


def compile_c(block: Block, copy: Path, env: dict[str, str]) -> None:
    """The block is valid as C11 and as C++17; an environment is compiled as the header that it is."""
    folder = copy / "block"
    folder.mkdir(exist_ok=True)
    (folder / "block.h").write_text(block.text, encoding="utf-8")
    include = copy / "native_profile" / "pufferlib" / "core" / "include"
    for language, standard, compiler in (("c", "c11", "CC"), ("c++", "c++17", "CXX")):
        source = folder / f"block.{'c' if language == 'c' else 'cpp'}"
        source.write_text('#include "block.h"\n', encoding="utf-8")
        program = env.get(compiler, "cc" if language == "c" else "c++")
        flags = [f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{include}"]
        execute([program, *flags, "-x", language, str(source)], block, copy, env)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_blocks_of_a_document_work_from_top_to_bottom(
    document: Path, copy: Path, environment: dict[str, str]
) -> None:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    for block in ALL[document]:
        if block.file is not None:
            target = (copy / block.file).resolve()
            assert target.is_relative_to(copy.resolve()), f"{block.place}: {block.file} is outside the copy"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        if block.not_run is not None or block.language == "text":
            continue
        if block.language == "bash":
            shell = ["bash", "--noprofile", "--norc", "-euo", "pipefail", "-c", block.text]
            execute(shell, block, copy, environment, block.exits)
        elif block.language == "python":
            execute(["python3", "-c", block.text], block, copy, environment | {"PYTHONPATH": "native_profile"})
        elif block.language == "c":
            compile_c(block, copy, environment)
        elif block.language == "json":
            json.loads(block.text)
        else:
            pytest.fail(f"{block.place}: no test knows what to do with {block.language!r}; use text for output")


def test_the_two_front_documents_are_there() -> None:
    assert {"README.md", "SKILL.md"} <= {document.name for document in DOCUMENTS}


@pytest.mark.parametrize("block", NOT_RUN, ids=lambda block: block.place)
def test_a_block_that_is_not_run_says_why(block: Block) -> None:
    assert block.not_run and len(block.not_run.split()) >= 3, f"{block.place}: give a reason"
    pytest.skip(f"{block.place} is not run: {block.not_run}")


def test_few_blocks_are_not_run() -> None:
    assert len(NOT_RUN) <= 6, [block.place for block in NOT_RUN]


def test_the_reader_of_blocks_sees_fences_remarks_and_indents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    document = tmp_path / "x.md"
    document.write_text(
        "1. do\n\n   <!-- exits 1: it refuses -->\n   ```bash\n   false\n   ```\n\n"
        "<!-- file: a/b.h -->\n<!-- not run: needs a display -->\n```c\nint a;\n```\n",
        encoding="utf-8",
    )
    first, second = blocks(document)
    assert (first.language, first.text, first.exits, first.not_run) == ("bash", "false\n", 1, None)
    assert (second.file, second.not_run, second.place) == ("a/b.h", "needs a display", "x.md:10")
    document.write_text("```bash\nfalse\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="without an end"):
        blocks(document)

"""The text check of C environments: it finds what it names, where it stands, and is quiet about the rest."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from _skill import layout
from _skill.contracts import c_source
from _skill.findings import Finding, Refusal
from _skill.plans import environment_folder

from .faults import CLEAN, HONEST, TEXT, Fault, header

OCEAN = Path(layout.ENVIRONMENTS)


def findings(folder: Path, written: str) -> list[Finding]:
    (folder / "line.h").write_text(written, encoding="utf-8")
    return c_source.check(str(folder), "line")


@pytest.mark.parametrize("fault", TEXT, ids=lambda fault: fault.about)
def test_what_a_pure_header_has_no_use_for_is_named_with_its_line(tmp_path: Path, fault: Fault) -> None:
    written = header(fault.changes)
    found = findings(tmp_path, written)
    assert fault.code in {finding.code for finding in found}, found
    assert {finding.severity for finding in found if finding.code == fault.code} == {
        "error" if fault.status else "warning"
    }
    mark = next(iter(fault.changes))
    line = HONEST[: HONEST.index(f"//{mark}" if mark.isupper() else mark)].count("\n") + 1
    lines = {int(finding.pointer.rpartition(":")[2]) for finding in found if finding.code == fault.code}
    assert min(lines) in range(line, line + 4)


@pytest.mark.parametrize(("about", "changes"), CLEAN, ids=lambda value: value if isinstance(value, str) else "")
def test_an_honest_header_is_clean(tmp_path: Path, about: str, changes: dict[str, str]) -> None:
    assert findings(tmp_path, header(changes)) == []


@pytest.mark.parametrize("name", environment_folder.built_in_names())
def test_every_shipped_header_is_clean(name: str) -> None:
    assert c_source.check(str(OCEAN / name), name) == []


def test_files_beside_the_header_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "level.h").write_text('#include "deep.h"\nstatic const int level[] = {1};\n')
    (tmp_path / "deep.h").write_text("#pragma once\nint rand(void);\n")
    (found,) = findings(tmp_path, header({"GLOBAL": '#include "level.h"'}))
    assert (found.code, found.pointer) == ("c_source.random", "deep.h:2")


def test_files_that_include_each_other_end(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"f{number}.h").write_text(f'#include "f{(number + 1) % 30}.h"\n#include "line.h"\n')
    assert {one.code for one in findings(tmp_path, header({"GLOBAL": '#include "f0.h"'}))} == {"c_source.include"}


def test_a_file_that_stands_in_for_the_contract_is_refused(tmp_path: Path) -> None:
    (tmp_path / "puffer").mkdir()
    (tmp_path / "puffer" / "environment.h").write_text("")
    assert [finding.code for finding in findings(tmp_path, HONEST)] == ["c_source.include"]


def test_a_link_and_text_that_is_not_utf8_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "line.h").symlink_to(OCEAN / "squared" / "squared.h")
    with pytest.raises(Refusal) as caught:
        c_source.check(str(tmp_path), "line")
    assert caught.value.exit_status == 2
    (tmp_path / "line.h").unlink()
    (tmp_path / "line.h").write_bytes(b"\xff\xfe")
    with pytest.raises(Refusal) as caught:
        c_source.check(str(tmp_path), "line")
    assert caught.value.findings[0].code == "c_source.encoding"


BOMBS = (
    "a(",
    "){",
    "static ",
    "time(",
    'R"(',
    '"',
    "'a",
    "/*",
    "\\\n",
    "#include\n",
    "__attribute__((",
    ";",
    "a ",
    "const a;",
    "{",
    "}",
    "typedef struct ",
    "typedef struct {*} State;",
    "int a = (",
    "[[",
    "\n",
    "\r",
    "\0",
    "#define ",
    "'",
    "(",
    "* ",
)


@pytest.mark.parametrize("unit", BOMBS, ids=repr)
def test_a_quarter_of_a_megabyte_of_anything_is_read_at_once(tmp_path: Path, unit: str) -> None:
    started = time.process_time()
    found = findings(tmp_path, unit * (250_000 // len(unit)))
    assert time.process_time() - started < 2
    assert len(found) <= c_source.MAX_FINDINGS
    assert sum(len(part) for finding in found for part in finding) < 100_000

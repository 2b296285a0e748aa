"""FC-E05: BOM and other encodings."""

from __future__ import annotations

import codecs
import json
import os
from pathlib import Path

import pytest

from .conftest import Tool
from .plan_files import PLAN_4, changed

TEXT = json.dumps(PLAN_4)

CASES: dict[str, tuple[bytes, str]] = {
    "BOM": (codecs.BOM_UTF8 + b"{}", "json.bom"),
    "BOM before a plan": (codecs.BOM_UTF8 + TEXT.encode(), "json.bom"),
    "two BOMs": (codecs.BOM_UTF8 * 2 + b"{}", "json.bom"),
    "BOM alone": (codecs.BOM_UTF8, "json.bom"),
    "BOM after a space": (b" " + codecs.BOM_UTF8 + b"{}", "json.syntax"),
    "UTF-16 LE with BOM": (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "json.encoding"),
    "UTF-16 BE with BOM": (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "json.encoding"),
    "UTF-16 LE": (TEXT.encode("utf-16-le"), "json.encoding"),
    "UTF-16 BE": (TEXT.encode("utf-16-be"), "json.encoding"),
    "UTF-32": (TEXT.encode("utf-32"), "json.encoding"),
    "UTF-32 LE": (TEXT.encode("utf-32-le"), "json.encoding"),
    "UTF-32 BE": (TEXT.encode("utf-32-be"), "json.encoding"),
    "BOM in the middle": (TEXT.replace(": ", ":\ufeff", 1).encode(), "json.syntax"),
    "UTF-7": ('{"a":"+AOk-"}'.encode("ascii"), "schema"),
    "Latin-1": ('{"a":"é"}'.encode("latin-1"), "json.encoding"),
    "CP1252": ('{"a":"\u201c"}'.encode("cp1252"), "json.encoding"),
    "overlong": (b'{"a":"\xc0\xaf"}', "json.encoding"),
    "overlong NUL": (b'{"a":"\xc0\x80"}', "json.encoding"),
    "encoded surrogate": (b'{"a":"\xed\xa0\x80"}', "json.encoding"),
    "beyond Unicode": (b'{"a":"\xf4\x90\x80\x80"}', "json.encoding"),
    "cut character": (b'{"a":"\xe2\x82', "json.encoding"),
    "half of a pair": (b'{"a":"\\ud800"}', "json.surrogate"),
    "other half": (b'{"a":"\\udc00"}', "json.surrogate"),
    "halves swapped": (b'{"a":"\\udc00\\ud800"}', "json.surrogate"),
    "half in a key": (b'{"\\ud800":1}', "json.surrogate"),
    "two documents": (b"{} {}", "json.trailing"),
    "two lines": (TEXT.encode() + b"\n" + TEXT.encode(), "json.trailing"),
    "trailing text": (b"{}x", "json.trailing"),
    "NUL after": (b"{}\0", "json.trailing"),
    "NUL inside": (b'{"a":"\0"}', "json.syntax"),
    "tab inside": (b'{"a":"\t"}', "json.syntax"),
    "comma at the end": (b'{"a":1,}', "json.syntax"),
    "comma in a list": (b"[1,]", "json.syntax"),
    "comment": (b'{"a":1} // note', "json.trailing"),
    "comment inside": (b'{/* note */"a":1}', "json.syntax"),
    "hash comment": (b"# note\n{}", "json.syntax"),
    "single quotes": (b"{'a':1}", "json.syntax"),
    "bare key": (b"{a:1}", "json.syntax"),
    "Python words": (b'{"a":True}', "json.syntax"),
    "form feed": (b"\x0c{}", "json.syntax"),
    "no-break space": (b"\xc2\xa0{}", "json.syntax"),
    "escape of another language": (b'{"a":"\\x41"}', "json.syntax"),
}


@pytest.mark.parametrize("name", CASES)
def test_one_rule_utf_8_and_one_document(tool: Tool, tmp_path: Path, name: str) -> None:
    content, code = CASES[name]
    (tmp_path / "plan.json").write_bytes(content)
    answer = tool("validate_plan", "plan.json")
    assert answer.exit_status == 1
    assert answer.codes[0].startswith(code), answer.text
    if code.startswith("json."):
        assert len(answer.codes) == 1


def test_a_bom_is_explained(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(CASES["BOM"][0])
    finding = tool("validate_plan", "plan.json").finding("json.bom")
    assert "byte order mark" in finding["message"] and "without BOM" in finding["fix"]


@pytest.mark.parametrize("variables", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}, {"PYTHONUTF8": "1"}])
def test_the_locale_decides_nothing(tool: Tool, tmp_path: Path, variables: dict[str, str]) -> None:
    folder = tmp_path / "caf\u00e9"
    folder.mkdir()
    document = changed(PLAN_4, {"environment.path": f"{folder}/cartpole"})
    path = tmp_path / "plan.json"
    path.write_bytes(json.dumps(document, ensure_ascii=False).encode("utf-8"))
    answer = tool("validate_plan", path, variables=variables)
    # Where the process cannot name the folder at all that is said, and is no verdict on the plan.
    ascii_only = variables.get("PYTHONUTF8") == "0"
    assert answer.codes == ["plan.path" if ascii_only else "environment.unknown"]
    assert answer.exit_status == (2 if ascii_only else 1)
    path.write_bytes(json.dumps(document, ensure_ascii=False).encode("latin-1"))
    assert tool("validate_plan", path, variables=variables).codes == ["json.encoding"]


def test_every_entry_point_has_the_rule(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(TEXT)
    for name in ("BOM", "UTF-16 LE with BOM", "Latin-1", "two documents"):
        content, code = CASES[name]
        (tmp_path / "other.json").write_bytes(content)
        assert tool("validate_plan", "plan.json", "--machine", "other.json").codes == [code]
        assert tool("make_plan", "cartpole", "--contract", "other.json").codes == [code]
        assert tool("make_plan", "cartpole", "--machine", "other.json").codes == [code]


def test_line_ends_of_other_systems_are_white_space(tool: Tool, tmp_path: Path) -> None:
    for end in ("\r\n", "\r", "\n"):
        (tmp_path / "plan.json").write_bytes(json.dumps(PLAN_4, indent=1).replace("\n", end).encode())
        assert tool("validate_plan", "plan.json").exit_status == 0


def test_what_is_no_plain_file_is_not_read(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text(TEXT)
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("link.json", "folder.json", "pipe.json", "gone.json", "a\nb"):
        answer = tool("validate_plan", name, timeout=10)
        assert answer.exit_status == 2 and answer.codes == ["file.unreadable"]

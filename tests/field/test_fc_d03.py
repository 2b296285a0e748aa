"""FC-D03 · Block-list beaten by one level of indirection.

Nothing that is not on the short allow-list may be imported, called, made or filled, by whatever opcode.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .checkpoint_files import pickled, text, torch_file
from .conftest import Tool

INDIRECT = [
    b"cimportlib\nimport_module\n(" + text("os") + b"tR",
    b"cpkgutil\nresolve_name\n(" + text("os:getcwd") + b"tR",
    b"cbuiltins\ngetattr\n(cos\n__dict__\n" + text("get") + b"tR",
    b"coperator\nattrgetter\n(" + text("getcwd") + b"tR",
    b"coperator\nmethodcaller\n(" + text("getcwd") + b"tR",
    b"cfunctools\npartial\n(cos\ngetcwd\ntR)R",
    b"cfunctools\nreduce\n(NNtR",
    b"ctypes\nFunctionType\n",
    b"cbuiltins\n__import__\n(" + text("os") + b"tR",
    b"c__builtin__\napply\n(cos\ngetcwd\n)tR",
    b"cbuiltins\nmap\n(cos\ngetcwd\n]tR",
    b"crunpy\nrun_module\n(" + text("this") + b"tR",
    b"cpydoc\nlocate\n(" + text("os.getcwd") + b"tR",
    b"cnumpy.testing._private.utils\nrunstring\n",
    b"ctorch.serialization\nload\n(" + text("x.pt") + b"tR",
    b"ctorch\nload\n",
    b"ctorch.hub\nload\n",
    b"ctorch._utils\n_import_dotted_name\n(" + text("os.getcwd") + b"tR",
    b"ctorch.storage\n_load_from_bytes\n(" + text("") + b"tR",
    b"ccopyreg\n_reconstructor\n(cos\nPathLike\ncbuiltins\nobject\nNtR",
    b"ccopyreg\n__newobj__\n(cos\nPathLike\ntR",
    b"cpickle\nloads\n(" + text("") + b"tR",
    b"ccollections\nOrderedDict.fromkeys\n(NtR",
    b"ctorch\nfloat32.__class__\n)R",
]
OPCODES = {
    "REDUCE": b"cos\ngetcwd\n)R",
    "INST": b"(ios\ngetcwd\n",
    "OBJ": b"(cos\ngetcwd\no",
    "NEWOBJ": b"cos\nPathLike\n)\x81",
    "NEWOBJ_EX": b"cos\nPathLike\n)}\x92",
    "BUILD": b"cos\ngetcwd\n}b",
    "BUILD of an object": b"cmy\nThing\n)\x81}" + text("a") + b"Nsb",
    "GLOBAL alone": b"cos\ngetcwd\n0N",
    "SETITEM": b"cos\nenviron\n" + text("a") + text("b") + b"s",
    "APPEND": b"csys\npath\n" + text("a") + b"a",
    "ADDITEMS": b"cmy\nset\n(K\x01\x90",
    "EXT1": b"\x82\x01",
    "EXT4": b"\x84\x01\x00\x00\x00",
    "PERSID": b"Pcos\n",
    "STACK_GLOBAL": text("os") + text("getcwd") + b"\x93)R",
    "STACK_GLOBAL through the memo": text("os") + b"q\x01" + text("getcwd") + b"q\x0200h\x01h\x02\x93)R",
    "STACK_GLOBAL of a computed name": b"c_codecs\nencode\n("
    + text("os")
    + text("latin1")
    + b"tR"
    + text("getcwd")
    + b"\x93",
    "name that looks like another": "cсollections\nOrderedDict\n)R".encode(),  # the first letter is Cyrillic
    "module with a space": b"ccollections \nOrderedDict\n)R",
    "name with a carriage return": b"ccollections\r\nOrderedDict\r\n)R",
    "call of what a call gave": b"ccollections\nOrderedDict\n)R)R",
    "attribute that replaces a method": b"ccollections\nOrderedDict\n)R}" + text("__setstate__") + b"Nsb",
}


@pytest.mark.parametrize("index", range(len(INDIRECT)))
def test_every_way_to_turn_text_into_a_callable_is_unsafe(index: int, tool: Tool, tmp_path: Path) -> None:
    body, name = INDIRECT[index], ("x.pkl", "x.pt")[index % 2]
    (tmp_path / name).write_bytes(torch_file(body) if name == "x.pt" else pickled(body))
    answer = tool("inspect_checkpoint", name)
    assert (answer.exit_status, answer.report["checkpoint"]["verdict"]) == (1, "unsafe"), answer.codes


@pytest.mark.parametrize("opcode", sorted(OPCODES))
def test_no_opcode_gets_past_the_allow_list(opcode: str, tool: Tool, tmp_path: Path) -> None:
    body = OPCODES[opcode]
    header = b"\x80\x04" if b"\x93" in body or b"\x92" in body or b"\x90" in body else b"\x80\x02"
    (tmp_path / "x.pkl").write_bytes(header + body + b".")
    answer = tool("inspect_checkpoint", "x.pkl")
    assert (answer.exit_status, answer.report["checkpoint"]["verdict"]) == (1, "unsafe"), answer.codes


def test_the_report_lists_what_a_load_would_do(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.pkl").write_bytes(pickled(INDIRECT[0]))
    answer = tool("inspect_checkpoint", "x.pkl")
    uses = {(use["module"], use["name"], use["use"], use["status"]) for use in answer.report["checkpoint"]["globals"]}
    assert uses == {
        ("importlib", "import_module", "referenced", "not allowed"),
        ("importlib", "import_module", "called", "not allowed"),
    }
    assert answer.report["checkpoint"]["globals"][0]["offset"] == 2

"""Tricks with the opcodes themselves: a reader that looks for names sees none, or stops before it does."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from . import opcodes as op
from . import torch_pickles, zips
from .cases import ONLY_REFUSED, Case

UNSAFE = frozenset({"unsafe"})
ARGUMENTS = op.MARK + op.TUPLE
CALL = op.call("os", "getcwd", ())
DICT = op.global_("collections", "OrderedDict")


def _named(module: bytes, name: bytes) -> bytes:
    return module + name + op.STACK_GLOBAL + op.EMPTY_TUPLE + op.REDUCE


def hidden_names() -> Iterator[tuple[str, bytes]]:
    """Ways to a name that a search for `GLOBAL` does not see: bodies for protocol 4."""
    module, name = op.text("os"), op.text("getcwd")
    decoy = op.text("collections") + op.text("OrderedDict")
    yield "stack global", _named(module, name)
    yield "stack global of 8-byte texts", _named(op.text8("os"), op.text8("getcwd"))
    yield "stack global of old strings", _named(op.string("os"), op.string("getcwd"))
    yield "stack global of short old strings", _named(op.short_string("os"), op.short_string("getcwd"))
    yield "stack global of lines", _named(op.line_text("os"), op.line_text("getcwd"))
    yield "stack global of escaped lines", _named(b"V\\u006f\\u0073\n", b"V\\u0067etcwd\n")
    yield "stack global of escaped strings", _named(b"S'\\x6f\\x73'\n", b'S"get\\143wd"\n')
    yield "stack global of long texts", _named(op.long_text("os"), op.long_text("getcwd"))
    memo = module + op.put(0) + op.POP + name + op.put(1) + op.POP
    yield "names from the memo", memo + _named(op.get(0), op.get(1))
    yield (
        "names from the memo by lines",
        module + op.line_put(7) + op.POP + name + op.line_put(8) + op.POP + _named(op.line_get(7), op.line_get(8)),
    )
    yield (
        "names from the long memo",
        module
        + op.long_put(70000)
        + op.POP
        + name
        + op.long_put(70001)
        + op.POP
        + _named(op.long_get(70000), op.long_get(70001)),
    )
    yield "names memoized", module + op.MEMOIZE + name + op.MEMOIZE + op.POP + op.POP + _named(op.get(0), op.get(1))
    yield "memo with leading zeros", module + b"p0007\n" + op.POP + name + b"p8\n" + op.POP + _named(b"g7\n", b"g08\n")
    yield (
        "memo written twice",
        op.text("collections") + op.put(0) + op.POP + module + op.put(0) + op.POP + _named(op.get(0), name),
    )
    yield (
        "memo written by put then memoize",
        module + op.put(0) + name + op.MEMOIZE + op.POP + op.POP + _named(op.get(0), op.get(1)),
    )
    yield "decoy between", decoy + op.POP + op.POP + _named(module, name)
    yield "decoy under a mark", op.MARK + decoy + op.POP_MARK + _named(module, name)
    yield (
        "decoy as last texts",
        module
        + name
        + op.STACK_GLOBAL
        + op.text("collections")
        + op.text("OrderedDict")
        + op.POP
        + op.POP
        + op.EMPTY_TUPLE
        + op.REDUCE,
    )
    yield (
        "names from one text and a pop",
        module + name + op.text("x") + op.POP + op.STACK_GLOBAL + op.EMPTY_TUPLE + op.REDUCE,
    )
    yield "module by DUP", op.text("os") + op.DUP + op.POP + name + op.STACK_GLOBAL + op.EMPTY_TUPLE + op.REDUCE
    yield "same text twice by DUP", op.text("os") + op.DUP + op.STACK_GLOBAL + op.EMPTY_TUPLE + op.REDUCE
    yield "names that are not texts", op.int_(1) + op.int_(2) + op.STACK_GLOBAL
    yield "a name of bytes", op.bytes_(b"os") + name + op.STACK_GLOBAL + op.EMPTY_TUPLE + op.REDUCE
    yield "a name that is a tuple", op.EMPTY_TUPLE + name + op.STACK_GLOBAL
    yield "a name that is a dict's", op.EMPTY_DICT + op.text("k") + module + op.SETITEM + name + op.STACK_GLOBAL
    yield "a name that was computed", _encode("os") + _encode("getcwd") + op.STACK_GLOBAL + op.EMPTY_TUPLE + op.REDUCE
    yield "a name in a very long text", _named(op.long_text("o" * 70000), name)
    yield "dotted name", _named(op.text("collections"), op.text("abc.sys.modules"))
    yield "dotted module", _named(op.text("os.path"), op.text("os.getcwd"))
    yield "names with a newline", _named(op.text("os\n"), op.text("getcwd"))
    yield "names with a space", _named(op.text("os getcwd"), op.text("x"))
    yield "unpaired surrogate in a name", _named(op.text("o\ud800s"), op.text("getcwd"))
    yield "extension 1", b"\x82\x01" + op.EMPTY_TUPLE + op.REDUCE
    yield "extension 2", b"\x83\x01\x00" + op.EMPTY_TUPLE + op.REDUCE
    yield "extension 4", b"\x84\x01\x00\x00\x00" + op.EMPTY_TUPLE + op.REDUCE
    yield "extension 0", b"\x82\x00"


def _encode(word: str) -> bytes:
    return op.call("_codecs", "encode", (word, "latin1"))


def ways_to_call() -> Iterator[tuple[str, bytes]]:
    """Everything that calls, beside REDUCE: bodies for protocol 4."""
    getcwd = op.global_("os", "getcwd")
    yield "reduce", getcwd + op.EMPTY_TUPLE + op.REDUCE
    yield "inst", op.MARK + op.inst("os", "getcwd")
    yield "inst with an argument", op.MARK + op.text("x") + op.inst("os", "getcwd")
    yield "obj", op.MARK + getcwd + op.OBJ
    yield "obj with an argument", op.MARK + getcwd + op.text("x") + op.OBJ
    yield "newobj", getcwd + op.EMPTY_TUPLE + op.NEWOBJ
    yield "newobj_ex", getcwd + op.EMPTY_TUPLE + op.EMPTY_DICT + op.NEWOBJ_EX
    yield "newobj_ex with names", getcwd + op.EMPTY_TUPLE + op.argument({"a": 1}) + op.NEWOBJ_EX
    yield "newobj of OrderedDict with arguments", DICT + op.argument(("x",)) + op.NEWOBJ
    yield "obj of an allowed class", op.MARK + DICT + op.OBJ
    yield "inst of an allowed class", op.MARK + op.inst("collections", "OrderedDict")
    yield "build calls setstate", getcwd + op.EMPTY_TUPLE + op.REDUCE + op.EMPTY_DICT + op.BUILD
    yield "build on a class", DICT + op.argument({"fromkeys": 1}) + op.BUILD
    yield (
        "build on a module's function",
        op.global_("torch._utils", "_rebuild_tensor_v2") + op.argument({"x": 1}) + op.BUILD,
    )
    yield "build replaces setstate", DICT + op.EMPTY_TUPLE + op.REDUCE + op.argument({"__setstate__": 1}) + op.BUILD
    yield "build replaces class", DICT + op.EMPTY_TUPLE + op.REDUCE + op.argument({"__class__": 1}) + op.BUILD
    yield "build replaces a method", DICT + op.EMPTY_TUPLE + op.REDUCE + op.argument({"items": 1}) + op.BUILD
    yield (
        "build with slots",
        DICT + op.EMPTY_TUPLE + op.REDUCE + op.NONE + op.argument({"__dict__": 1}) + op.TUPLE2 + op.BUILD,
    )
    yield "build on a plain dict", op.EMPTY_DICT + op.argument({"x": 1}) + op.BUILD
    yield "build on a list", op.EMPTY_LIST + op.argument({"x": 1}) + op.BUILD
    yield "build on a text", op.text("x") + op.argument({"x": 1}) + op.BUILD
    yield "call of a result", op.call("_codecs", "encode", ("x", "latin1")) + op.EMPTY_TUPLE + op.REDUCE
    yield "call of a dict", DICT + op.EMPTY_TUPLE + op.REDUCE + op.EMPTY_TUPLE + op.REDUCE
    yield "call of a text", op.text("x") + op.EMPTY_TUPLE + op.REDUCE
    yield "arguments that are a list", DICT + op.EMPTY_LIST + op.REDUCE
    yield "arguments that are a dict", DICT + op.EMPTY_DICT + op.REDUCE
    yield "OrderedDict of a text", DICT + op.argument(("ab",)) + op.REDUCE
    yield "OrderedDict filled from a callable", DICT + op.TUPLE1.join([getcwd, op.REDUCE])
    yield "append calls", getcwd + op.EMPTY_TUPLE + op.REDUCE + op.text("x") + op.APPEND
    yield "appends to an object", DICT + op.MARK + op.text("x") + op.APPENDS
    yield "append to a dict", op.EMPTY_DICT + op.text("x") + op.APPEND
    yield "setitem on an object", DICT + op.text("a") + op.text("b") + op.SETITEM
    yield "setitem on a list", op.EMPTY_LIST + op.int_(0) + op.text("b") + op.SETITEM
    yield "additems on an object", DICT + op.MARK + op.text("x") + b"\x90"
    yield "key that is an object", op.EMPTY_DICT + DICT + op.text("b") + op.SETITEM
    yield "key that is a called object", op.EMPTY_DICT + CALL + op.text("b") + op.SETITEM
    yield "set of a called object", op.EMPTY_SET + op.MARK + CALL + b"\x90"
    yield "frozenset of a called object", op.MARK + CALL + b"\x91"
    yield "persistent id", op.text("x") + op.BINPERSID
    yield "persistent id line", b"Px\n"
    yield "persistent id of a called object", CALL + op.BINPERSID
    yield "persistent module", op.argument(("module", "x", "y", "z")) + op.BINPERSID
    yield "next buffer", b"\x97"
    yield "thrown away", CALL + op.POP + op.NONE
    yield "thrown away with a mark", op.MARK + CALL + op.POP_MARK + op.NONE
    yield "in the memo only", CALL + op.put(9) + op.POP + op.NONE
    yield "in a deep tuple", CALL + op.TUPLE1 * 50
    yield "referenced, never called", getcwd
    yield "referenced and thrown away", getcwd + op.POP + op.NONE
    yield "as an argument of an allowed one", DICT + getcwd + op.TUPLE1 + op.REDUCE
    yield "as a value of an allowed dict", DICT + op.EMPTY_TUPLE + op.REDUCE + op.text("k") + getcwd + op.SETITEM
    yield (
        "as hooks of a tensor",
        torch_pickles.tensor("0", "float32", (1,)).replace(DICT + op.EMPTY_TUPLE + op.REDUCE, CALL),
    )
    yield (
        "hooks that hold something",
        torch_pickles.tensor("0", "float32", (1,)).replace(
            DICT + op.EMPTY_TUPLE + op.REDUCE, DICT + op.EMPTY_TUPLE + op.REDUCE + op.text("k") + getcwd + op.SETITEM
        ),
    )
    hooks = DICT + op.EMPTY_TUPLE + op.REDUCE
    yield (
        "hooks that are filled later",
        hooks
        + op.put(200)
        + op.POP
        + torch_pickles.tensor("0", "float32", (1,)).replace(hooks, op.get(200))
        + op.POP
        + op.get(200)
        + op.text("k")
        + op.text("v")
        + op.SETITEM,
    )


def broken_tails() -> Iterator[tuple[str, bytes]]:
    """The payload stands before something that no reader gets past; whole files."""
    start = op.proto(2) + CALL
    yield "field case", b"cos\ngetcwd\n(tR0\x80\x04\xff\xff"
    yield "no STOP", start
    yield "unknown opcode", start + b"\xff."
    yield "every unknown opcode", start + bytes(b for b in range(256) if b >= 0x99) + op.STOP
    yield "cut opcode", start + b"X\x10\x00"
    yield "text that is too long", start + b"X\xff\xff\xff\x7fab."
    yield "text of 2^63", start + b"\x8d" + b"\xff" * 7 + b"\x7f."
    yield "bytes of 2^64-1", op.proto(4) + CALL + b"\x8e" + b"\xff" * 8 + b"."
    yield "negative string", start + b"T\xff\xff\xff\xffab."
    yield "negative long", start + b"\x8b\xff\xff\xff\xff."
    yield "huge long", start + b"\x8b\x00\x00\x00\x40" + b"\x01" * 100 + b"."
    yield "stack empty", start + op.POP + op.POP + op.STOP
    yield "no mark", start + op.TUPLE + op.STOP
    yield "memo that was never written", start + op.get(5) + op.STOP
    yield "memo of a huge number", start + b"g" + b"9" * 5000 + b"\n."
    yield "negative memo", start + b"g-1\n."
    yield "two values at STOP", start + op.NONE + op.STOP
    yield "mark at STOP", start + op.MARK + op.STOP
    yield "frame longer than the file", op.proto(4) + op.frame(CALL, 1 << 40) + op.STOP
    yield "frame of 2^63", op.proto(4) + op.frame(CALL, 1 << 63) + op.STOP
    yield "frame too short", op.proto(4) + op.frame(CALL, 3) + op.STOP
    yield "frame in a frame", op.proto(4) + op.frame(op.frame(CALL)) + op.STOP
    yield "frame that hides STOP", op.proto(4) + op.frame(op.NONE + op.STOP + CALL + op.STOP)
    yield "frame after STOP", op.proto(4) + op.frame(op.NONE + op.STOP) + op.frame(CALL + op.STOP)
    yield "text that is not UTF-8", start + b"X\x02\x00\x00\x00\xff\xfe."
    yield "string without quotes", start + b"Sabc\n."
    yield "string with a bad escape", start + b"S'\\xq'\n."
    yield "int that is none", start + b"Iabc\n."
    yield "int in hexadecimal", start + b"I0x10\n."
    yield "float that is none", start + b"Fabc\n."
    yield "odd items", start + op.POP + op.EMPTY_DICT + op.MARK + op.text("a") + op.SETITEMS + op.STOP
    yield "line without an end", start + b"V" + b"a" * 100
    yield "name without an end", b"cos\ngetcwd"
    yield "bytes after STOP", op.whole(op.NONE) + CALL + op.STOP
    yield "second pickle", op.whole(op.NONE) + op.whole(CALL)
    yield "twentieth pickle", op.whole(op.NONE) * 19 + op.whole(CALL)
    yield "second pickle after zeros", op.whole(op.NONE) + bytes(100) + op.whole(CALL)
    yield "spaces in front", b"   " + op.whole(CALL)
    yield "newlines in front", b"\n\n" + op.whole(CALL)
    yield "a mark and a pop in front", op.MARK + op.POP_MARK + op.whole(CALL, 0)


def lies() -> Iterator[tuple[str, bytes]]:
    """Protocol bytes and counts that are not true; whole files."""
    stack = op.text("os") + op.text("getcwd") + op.STACK_GLOBAL + op.EMPTY_TUPLE + op.REDUCE
    yield "protocol 2 with opcodes of 4", op.whole(stack, 2)
    yield "protocol 0 with opcodes of 4", stack + op.STOP
    yield "protocol 6", op.whole(CALL, 6)
    yield "protocol 255", op.whole(CALL, 255)
    yield "protocol 0 said", op.proto(0) + CALL + op.STOP
    yield "protocol twice", op.proto(2) + op.proto(4) + stack + op.STOP
    yield "protocol in the middle", op.NONE + op.POP + op.proto(4) + stack + op.STOP
    yield "protocol 5 byte array", op.whole(b"\x96" + struct.pack("<Q", 4) + b"abcd" + op.POP + CALL, 5)
    yield "line ends of another system", b"cos\r\ngetcwd\r\n(tR."
    yield "carriage return in a name", op.whole(op.global_("os\r", "getcwd") + op.EMPTY_TUPLE + op.REDUCE)
    yield "look-alike module", op.whole(op.global_("\u043es", "getcwd") + op.EMPTY_TUPLE + op.REDUCE)
    yield "full-width module", op.whole(op.global_("\uff4fs", "getcwd") + op.EMPTY_TUPLE + op.REDUCE)
    yield "name that is not UTF-8", op.whole(b"c\xff\xfe\ngetcwd\n)R")
    yield "name with NUL", op.whole(op.global_("os\0x", "getcwd") + op.EMPTY_TUPLE + op.REDUCE)
    yield "very long name", op.whole(op.global_("o" * 5000, "getcwd") + op.EMPTY_TUPLE + op.REDUCE)
    yield "python 2 name of an allowed one", op.whole(op.call("__builtin__", "reduce", ()))
    yield "python 2 name that is renamed", op.whole(op.call("copy_reg", "_reconstructor", ()))
    yield "python 2 module that is renamed", op.whole(op.call("UserDict", "UserDict", ()))
    yield "python 2 urllib", op.whole(op.call("urllib", "urlopen", ("file:///dev/null",)))


def bombs() -> Iterator[tuple[str, bytes]]:
    """Small files that ask for much work or memory; whole files."""
    yield "deep tuples", op.whole(op.NONE + op.TUPLE1 * 200_000)
    yield "deep lists", op.whole(op.EMPTY_LIST * 200_000 + op.APPEND * 199_999)
    yield "open marks", op.whole(op.MARK * 500_000)
    yield "doubling", op.whole(op.NONE + (op.DUP + op.TUPLE2) * 100)
    yield "doubling lists", op.whole(op.EMPTY_LIST + (op.DUP + op.TUPLE2) * 64)
    yield "a list that holds itself", op.whole(op.EMPTY_LIST + op.put(0) + op.get(0) + op.APPEND + CALL + op.POP)
    yield (
        "a dict that holds itself",
        op.whole(op.EMPTY_DICT + op.put(0) + op.text("k") + op.get(0) + op.SETITEM + CALL + op.POP),
    )
    itself = op.EMPTY_LIST + op.put(0) + op.MARK + op.get(0) * 2500 + op.APPENDS
    yield "a list that holds itself many times", op.whole(itself)
    yield (
        "a dict that holds itself many times",
        op.whole(
            op.EMPTY_DICT
            + op.put(0)
            + op.MARK
            + b"".join(op.long_text(str(i)) + op.get(0) for i in range(5000))
            + op.SETITEMS
        ),
    )
    yield (
        "two lists that hold one another many times",
        op.whole(
            op.EMPTY_LIST
            + op.put(0)
            + op.EMPTY_LIST
            + op.put(1)
            + op.MARK
            + op.get(0) * 1500
            + op.APPENDS
            + op.MARK
            + op.get(1) * 1500
            + op.APPENDS
        ),
    )
    yield "a million opcodes", op.whole((op.NONE + op.POP) * 500_000 + op.NONE)
    yield "a million opcodes before the call", op.whole((op.NONE + op.POP) * 500_000 + CALL)
    yield "memo of two thousand million", op.whole(op.NONE + op.long_put(0x7FFFFFFF) + CALL)
    yield "memo of four thousand million", op.whole(op.NONE + op.long_put(0xFFFFFFFF) + CALL)
    yield "long of four million digits", op.whole(b"L" + b"9" * 4_000_000 + b"L\n" + op.POP + CALL)
    yield "int of a million digits", op.whole(b"I" + b"9" * 1_000_000 + b"\n" + op.POP + CALL)
    yield "long4 of a megabyte", op.whole(b"\x8b" + struct.pack("<i", 1_000_000) + b"\x7f" * 1_000_000 + op.POP + CALL)
    yield "float of a million digits", op.whole(b"F" + b"9" * 1_000_000 + b"\n" + op.POP + CALL)
    yield "many texts", op.whole((op.long_text("a" * 60_000) + op.POP) * 200 + CALL)
    yield "many globals", op.whole(b"".join(op.global_(f"m{i}", f"n{i}") + op.POP for i in range(20_000)) + op.NONE)
    yield "one long line", op.whole(b"V" + b"a" * 3_000_000 + b"\n" + op.POP + CALL)
    yield (
        "key of a long tuple",
        op.whole(op.EMPTY_DICT + op.MARK + op.NONE * 100_000 + op.TUPLE + op.NONE + op.SETITEM + CALL),
    )
    nested = op.NONE
    for _ in range(60):
        nested = op.MARK + nested + op.TUPLE
    yield (
        "keys that are deep tuples",
        op.whole(op.EMPTY_DICT + op.NONE + op.TUPLE1 * 100_000 + op.NONE + op.SETITEM + CALL + op.POP + nested),
    )


def nested_loads() -> Iterator[tuple[str, bytes]]:
    """Bytes inside that a second load would unpickle; bodies for protocol 4."""
    inner = op.whole(CALL)
    yield "torch storage bytes", op.call("torch.storage", "_load_from_bytes", (inner,))
    yield "torch storage bytes of a harmless pickle", op.call("torch.storage", "_load_from_bytes", (op.whole(op.NONE),))
    yield "pickle loads", op.call("pickle", "loads", (inner,))
    yield (
        "scalar of another type",
        (
            op.global_("numpy.core.multiarray", "scalar")
            + op.global_("os", "getcwd")
            + op.argument(b"1")
            + op.TUPLE2
            + op.REDUCE
        ),
    )
    yield (
        "array of objects",
        (
            op.global_("numpy.core.multiarray", "_reconstruct")
            + op.MARK
            + op.global_("numpy", "ndarray")
            + op.argument((0,))
            + op.argument(b"b")
            + op.TUPLE
            + op.REDUCE
            + op.MARK
            + op.int_(1)
            + op.argument((1,))
            + op.global_("numpy", "dtype")
            + op.argument(("O8", False, True))
            + op.REDUCE
            + b"\x89"
            + op.EMPTY_LIST
            + CALL
            + op.APPEND
            + op.TUPLE
            + op.BUILD
        ),
    )
    yield (
        "reconstruct of another class",
        (
            op.global_("numpy.core.multiarray", "_reconstruct")
            + op.MARK
            + op.global_("os", "getcwd")
            + op.argument((0,))
            + op.argument(b"b")
            + op.TUPLE
            + op.REDUCE
        ),
    )
    yield (
        "dtype with a called state",
        op.global_("numpy", "dtype") + op.argument(("f8", False, True)) + op.REDUCE + CALL + op.BUILD,
    )
    yield (
        "rebuild from another type",
        (
            op.global_("torch._tensor", "_rebuild_from_type_v2")
            + op.MARK
            + op.global_("os", "getcwd")
            + op.global_("torch", "Tensor")
            + op.EMPTY_TUPLE
            + op.EMPTY_DICT
            + op.TUPLE
            + op.REDUCE
        ),
    )
    yield (
        "rebuild to another type",
        (
            op.global_("torch._tensor", "_rebuild_from_type_v2")
            + op.MARK
            + op.global_("torch._utils", "_rebuild_tensor_v2")
            + op.global_("os", "getcwd")
            + op.EMPTY_TUPLE
            + op.EMPTY_DICT
            + op.TUPLE
            + op.REDUCE
        ),
    )
    yield (
        "parameter of a called object",
        op.global_("torch._utils", "_rebuild_parameter")
        + op.MARK
        + CALL
        + b"\x89"
        + DICT
        + op.EMPTY_TUPLE
        + op.REDUCE
        + op.TUPLE
        + op.REDUCE,
    )
    yield (
        "tensor of a called storage",
        (
            op.global_("torch._utils", "_rebuild_tensor_v2")
            + op.MARK
            + CALL
            + op.int_(0)
            + op.argument((1,))
            + op.argument((1,))
            + b"\x89"
            + op.NONE
            + op.TUPLE
            + op.REDUCE
        ),
    )
    yield (
        "tensor with sizes that are called",
        torch_pickles.tensor("0", "float32", ()).replace(op.EMPTY_TUPLE + op.EMPTY_TUPLE, CALL + op.EMPTY_TUPLE, 1),
    )
    yield "encode with another codec", op.call("_codecs", "encode", ("x", "base64"))
    yield "encode with a computed codec", op.global_("_codecs", "encode") + op.text("x") + CALL + op.TUPLE2 + op.REDUCE
    yield (
        "set of a called object",
        op.global_("builtins", "set") + op.EMPTY_LIST + CALL + op.APPEND + op.TUPLE1 + op.REDUCE,
    )
    yield "bytearray of a huge number", op.call("builtins", "bytearray", (2_000_000_000,))
    yield "counter of a huge text", op.call("collections", "Counter", ("x" * 1000,))
    yield "device of a called name", op.global_("torch", "device") + CALL + op.TUPLE1 + op.REDUCE
    yield "size of a called object", op.global_("torch", "Size") + CALL + op.TUPLE1 + op.REDUCE


def cases() -> Iterator[Case]:
    """All of them."""
    for kind, bodies in (
        ("name hidden from a search", hidden_names()),
        ("call without REDUCE", ways_to_call()),
        ("load inside a load", nested_loads()),
    ):
        for index, (name, body) in enumerate(bodies):
            label = f"{kind}: {name}"
            if index % 3 == 2:
                storages = {"0": torch_pickles.data("float32", 1)} if b"FloatStorage" in body else {}
                content = zips.torch_archive(op.whole(torch_pickles.dict_of({"x": body}), 4), storages)
                yield Case(label, kind, "x.pt", content, ONLY_REFUSED)
            else:
                protocol = 5 if body == b"\x97" else 4
                yield Case(label, kind, "x.pkl", op.whole(body, protocol), ONLY_REFUSED)
    for name, data in broken_tails():
        yield Case(f"broken tail: {name}", "payload before a broken tail", "x.pkl", data, ONLY_REFUSED)
        if name in ("no STOP", "unknown opcode", "second pickle", "bytes after STOP", "frame too short"):
            yield Case(
                f"broken tail in torch: {name}",
                "payload before a broken tail",
                "x.pt",
                zips.torch_archive(data),
                ONLY_REFUSED,
            )
    for name, data in lies():
        yield Case(f"lie: {name}", "protocol or name that lies", "x.pkl", data, ONLY_REFUSED)
    for name, data in bombs():
        yield Case(f"bomb: {name}", "pickle bomb", "x.pkl", data)

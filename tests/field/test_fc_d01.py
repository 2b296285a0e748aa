"""FC-D01 · torch 2.6 refuses a good checkpoint.

Values beside the weights that only an unprotected loader reads make a file "not weights only": it is refused with their
names and with what to save instead, and never called hostile.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .checkpoint_files import mapping, pickled, tensor, text, written_by_torch, zipped
from .conftest import Tool

DTYPE = (
    b"cnumpy\ndtype\n(" + text("f8") + b"\x89\x88tR(K\x03" + text("<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
)
BYTES = b"c_codecs\nencode\n(" + text("abcdefgh") + text("latin1") + b"tR"
FORBIDDEN = ("weights_only=false", "add_safe_globals", "disable", "turn off", "trust")


def scalar(core: str) -> bytes:
    return b"c" + core.encode() + b".multiarray\nscalar\n(" + DTYPE + BYTES + b"tR"


def file_of(extra: bytes, path: Path) -> Path:
    body = pickled(mapping({"w": tensor((2, 3), (3, 1)), "best": extra}))
    path.write_bytes(zipped({"m/data.pkl": body, "m/data/0": bytes(24)}))
    return path


@pytest.mark.parametrize("core", ["numpy.core", "numpy._core"])
def test_a_numpy_scalar_beside_the_weights_is_named_and_not_called_hostile(
    core: str, tool: Tool, tmp_path: Path
) -> None:
    answer = tool("inspect_checkpoint", file_of(scalar(core), tmp_path / "x.pt"))
    assert answer.exit_status == 1
    assert answer.report["checkpoint"]["verdict"] == "not_weights_only"
    assert set(answer.codes) == {"pickle.extra_global"}
    extra = {
        f"{use['module']}.{use['name']}" for use in answer.report["checkpoint"]["globals"] if use["status"] != "allowed"
    }
    assert extra == {f"{core}.multiarray.scalar", "numpy.dtype"}
    assert "float(" in answer.finding("pickle.extra_global")["fix"]
    assert "safetensors" in answer.finding("pickle.extra_global")["fix"]


@pytest.mark.parametrize(
    "value",
    [
        lambda: np.float32(1), lambda: np.arange(3), lambda: np.bool_(True), lambda: np.dtype("i8"),
        lambda: Path("a/b"), lambda: datetime(2026, 1, 1), lambda: frozenset({1}),
    ],
)  # fmt: skip
def test_other_harmless_values_are_told_apart_from_hostile_ones(
    value: Callable[[], Any], tool: Tool, tmp_path: Path
) -> None:
    body = pickle.dumps(value(), 2)[2:-1]
    answer = tool("inspect_checkpoint", file_of(body.replace(b"q\x00", b""), tmp_path / "x.pt"))
    assert (answer.exit_status, answer.report["checkpoint"]["verdict"]) == (1, "not_weights_only"), answer.codes


@pytest.mark.parametrize("extra", [scalar("numpy.core"), b"cos\ngetcwd\n(tR", b"cmy.training\nConfig\n)\x81"])
def test_no_answer_ever_suggests_to_switch_the_protection_off(extra: bytes, tool: Tool, tmp_path: Path) -> None:
    answer = tool("inspect_checkpoint", file_of(extra, tmp_path / "x.pt"))
    assert answer.exit_status == 1
    assert not [word for word in FORBIDDEN if word in answer.text.lower()]


def test_what_torch_itself_wrote_with_a_numpy_scalar(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(written_by_torch("numpy_scalar.pt"))
    assert tool("inspect_checkpoint", "x.pt").report["checkpoint"]["verdict"] == "not_weights_only"


@pytest.mark.parametrize("misuse", [b"cnumpy\ndtype\n(cos\ngetcwd\ntR", b"cnumpy.core.multiarray\nscalar\n(NNtR"])
def test_a_harmless_name_does_not_excuse_a_strange_use(misuse: bytes, tool: Tool, tmp_path: Path) -> None:
    answer = tool("inspect_checkpoint", file_of(misuse, tmp_path / "x.pt"))
    assert answer.report["checkpoint"]["verdict"] == "unsafe"

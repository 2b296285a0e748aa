"""FC-D09 · Wrapper prefixes in parameter names.

`module.` and `_orig_mod.` come off the start only, again and again, and are reported; a mixed set, a collision and
nothing in common are errors. There is no lax loading.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .checkpoint_files import entry, mapping, safetensors, tensor, torch_file
from .conftest import Tool


def weights(path: Path, *names: str) -> Path:
    header = {name: entry("U8", [1], index, index + 1) for index, name in enumerate(names)}
    path.write_bytes(safetensors(header, bytes(len(names))))
    return path


@pytest.mark.parametrize(
    ("names", "bare"),
    [
        (["_orig_mod.module.w"], "w"),
        (["module._orig_mod.w"], "w"),
        (["module.module._orig_mod.module.w"], "w"),
        (["module.net.module.w"], "net.module.w"),
    ],
)
def test_prefixes_in_any_order_are_reported(names: list[str], bare: str, tool: Tool, tmp_path: Path) -> None:
    answer = tool("inspect_checkpoint", weights(tmp_path / "x.safetensors", *names))
    assert answer.exit_status == 0
    assert answer.finding("names.prefix")["want"] == f'"{bare}"'
    assert answer.finding("names.prefix")["severity"] == "warning"


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["module.w", "b"], "names.mixed"),
        (["_orig_mod.w", "module.b", "c"], "names.mixed"),
        (["w", "module.w"], "names.collision"),
        (["_orig_mod.module.w", "module._orig_mod.w"], "names.collision"),
    ],
)
def test_mixed_and_colliding_names_are_errors(names: list[str], code: str, tool: Tool, tmp_path: Path) -> None:
    answer = tool("inspect_checkpoint", weights(tmp_path / "x.safetensors", *names))
    assert (answer.exit_status, answer.report["checkpoint"]["verdict"]) == (1, "inconsistent")
    assert answer.finding(code)["severity"] == "error"


def test_names_with_the_word_inside_keep_it(tool: Tool, tmp_path: Path) -> None:
    answer = tool("inspect_checkpoint", weights(tmp_path / "x.safetensors", "net.module.w", "b", "modules.c"))
    assert (answer.exit_status, answer.codes) == (0, [])


@pytest.mark.parametrize("prefix", ["", "module.", "_orig_mod.module."])
def test_the_same_model_compares_equal_whatever_wrapped_it(prefix: str, tool: Tool, tmp_path: Path) -> None:
    one = weights(tmp_path / "a.safetensors", f"{prefix}w", f"{prefix}b")
    other = weights(tmp_path / "b.safetensors", "w", "b")
    assert tool("inspect_checkpoint", one, "--against", other).exit_status == 0


def test_nothing_in_common_is_an_error_and_so_is_a_part(tool: Tool, tmp_path: Path) -> None:
    one = weights(tmp_path / "a.safetensors", "encoder.w")
    assert tool("inspect_checkpoint", one, "--against", weights(tmp_path / "b.safetensors", "w")).codes == [
        "compare.nothing"
    ]
    half = weights(tmp_path / "c.safetensors", "encoder.w", "decoder.w")
    answer = tool("inspect_checkpoint", one, "--against", half)
    assert (answer.exit_status, answer.codes) == (1, ["compare.missing"])


def test_there_is_no_lax_comparison(tool: Tool, tmp_path: Path) -> None:
    one = weights(tmp_path / "a.safetensors", "w")
    for flag in ("--lax", "--no-strict", "--ignore-missing", "--strict=false"):
        assert tool("inspect_checkpoint", one, flag).exit_status == 2


def test_conversion_takes_the_prefix_off(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(torch_file(mapping({"module._orig_mod.w": tensor((2, 3), (3, 1))})))
    answer = tool("inspect_checkpoint", "x.pt", "--convert", "out.safetensors")
    assert answer.report["converted"]["renamed"] == 1
    listed = tool("inspect_checkpoint", "out.safetensors", "--tensors").report["checkpoint"]["tensors"]
    assert [item["name"] for item in listed] == ["w"]

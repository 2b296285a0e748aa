"""FC-D12 · Two names, one storage.

Groups of tensors in one storage are listed, conversion asks which to keep, and a view beyond its storage is an error.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from .checkpoint_files import mapping, tensor, torch_file, written_by_torch
from .conftest import Tool


def write(path: Path, **tensors: bytes) -> Path:
    path.write_bytes(torch_file(mapping(tensors)))
    return path


@pytest.fixture
def tied(tmp_path: Path) -> Path:
    return write(tmp_path / "x.pt", a=tensor((2, 3), (3, 1)), b=tensor((2,), (3,), 1))


def test_the_group_is_listed_with_storage_offset_and_shape(tied: Path, tool: Tool) -> None:
    answer = tool("inspect_checkpoint", tied)
    assert answer.exit_status == 0
    (group,) = answer.report["checkpoint"]["shared"]
    assert (group["storage"], group["overlap"]) == ("0", True)
    assert [(item["name"], item["offset"], item["shape"], item["stride"]) for item in group["tensors"]] == [
        ("a", 0, [2, 3], [3, 1]),
        ("b", 1, [2], [3]),
    ]


def test_conversion_asks_which_to_keep(tied: Path, tool: Tool, tmp_path: Path) -> None:
    answer = tool("inspect_checkpoint", tied, "--convert", "out.safetensors")
    assert answer.exit_status == 1
    assert "--keep a" in answer.finding("convert.shared")["fix"]
    assert not (tmp_path / "out.safetensors").exists()


@pytest.mark.parametrize(("keep", "written"), [(["a"], {"a"}), (["b"], {"b"}), (["a", "b"], {"a", "b"})])
def test_the_choice_is_what_is_written(
    keep: list[str], written: set[str], tied: Path, tool: Tool, tmp_path: Path
) -> None:
    flags = [word for name in keep for word in ("--keep", name)]
    answer = tool("inspect_checkpoint", tied, "--convert", "out.safetensors", *flags)
    assert answer.exit_status == 0
    assert set(answer.report["converted"]["left_out"]) == {"a", "b"} - written
    arrays = load_file(tmp_path / "out.safetensors")
    assert set(arrays) == written
    if "b" in written:
        assert arrays["b"].tolist() == [1.0, 4.0]
    if "a" in written:
        assert arrays["a"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_a_misspelt_choice_is_named(tied: Path, tool: Tool) -> None:
    answer = tool("inspect_checkpoint", tied, "--convert", "out.safetensors", "--keep", "aa")
    assert (answer.exit_status, answer.codes[-1]) == (2, "convert.keep")
    assert "did you mean a?" in answer.finding("convert.keep")["fix"]


def test_views_that_share_no_byte_need_no_choice(tool: Tool, tmp_path: Path) -> None:
    path = write(tmp_path / "x.pt", a=tensor((3,), (1,)), b=tensor((3,), (1,), 3))
    answer = tool("inspect_checkpoint", path, "--convert", "out.safetensors")
    assert answer.exit_status == 0
    assert answer.report["checkpoint"]["shared"][0]["overlap"] is False
    assert load_file(tmp_path / "out.safetensors")["b"].tolist() == [3.0, 4.0, 5.0]


@pytest.mark.parametrize(
    ("shape", "stride", "offset", "fits"),
    [
        ((2, 3), (3, 1), 0, True),
        ((2, 3), (3, 1), 1, False),
        ((2,), (5,), 0, True),
        ((2,), (6,), 0, False),
        ((3, 2), (1, 3), 0, True),
        ((3, 2), (1, 4), 0, False),
        ((6,), (1,), 0, True),
        ((7,), (1,), 0, False),
        ((), (), 5, True),
        ((), (), 6, False),
        ((0,), (1,), 6, True),
        ((0, 9), (9, 1), 0, True),
        ((9,), (0,), 5, True),
    ],
)
def test_a_view_must_end_inside_its_storage(
    shape: tuple[int, ...], stride: tuple[int, ...], offset: int, fits: bool, tool: Tool, tmp_path: Path
) -> None:
    answer = tool("inspect_checkpoint", write(tmp_path / "x.pt", w=tensor(shape, stride, offset)))
    assert answer.exit_status == (0 if fits else 1)
    if not fits:
        assert answer.finding("tensor.outside")["want"].startswith("at most 6 elements")


def test_a_storage_shorter_than_the_pickle_says_is_an_error(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(torch_file(mapping({"w": tensor((2,), (1,))}), {"0": struct.pack("<2f", 1, 2)}))
    assert tool("inspect_checkpoint", "x.pt").codes == ["torch.storage_size"]


def test_ties_that_torch_wrote_are_found(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(written_by_torch("tied.pt"))
    (group,) = tool("inspect_checkpoint", "x.pt").report["checkpoint"]["shared"]
    assert [item["name"] for item in group["tensors"]] == ["a", "b"]

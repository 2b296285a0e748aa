"""Wrapper prefixes are taken off at the start only, and names that stay ambiguous are errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _skill.checkpoints import comparison, inspection, state_names
from _skill.checkpoints.content import Content

from .judging import judge
from .writing import entry, safetensors


def file_of(names: list[str], path: Path) -> Path:
    header = {name: entry("U8", [1], index, index + 1) for index, name in enumerate(names)}
    path.write_bytes(safetensors(header, bytes(len(names))))
    return path


@pytest.mark.parametrize(
    ("names", "status", "codes"),
    [
        (["_orig_mod.module.w"], 0, ("names.prefix",)),
        (["module._orig_mod.w", "module._orig_mod.b"], 0, ("names.prefix",)),
        (["module.module.w"], 0, ("names.prefix",)),
        (["net.module.w", "net._orig_mod.b"], 0, ()),
        (["module_list.w", "modules.w", "modulew"], 0, ()),
        (["module."], 0, ()),
        (["module.w", "b"], 1, ("names.mixed",)),
        (["module.w", "_orig_mod.b", "c"], 1, ("names.mixed",)),
        (["module.w", "w"], 1, ("names.collision", "names.mixed")),
        (["module.w", "_orig_mod.w"], 1, ("names.collision", "names.prefix")),
        (["n_averaged", "module.w"], 0, ("names.prefix",)),
    ],
)
def test_prefixes_are_reported_and_mixtures_refused(names, status, codes, tmp_path: Path) -> None:
    found = judge(file_of(names, tmp_path / "x.safetensors"))
    assert (found.status, found.codes) == (status, codes)


@given(st.lists(st.sampled_from(["module.", "_orig_mod."])), st.sampled_from(["w", "a.module.w", "net.w"]))
def test_any_order_and_number_of_prefixes_comes_off(prefixes: list[str], name: str) -> None:
    assert state_names.stripped("".join(prefixes) + name) == name


def compared(left: list[str], right: list[str], tmp_path: Path) -> Content:
    one, other = file_of(left, tmp_path / "l.safetensors"), file_of(right, tmp_path / "r.safetensors")
    with inspection.opened(str(one)) as a, inspection.opened(str(other)) as b:
        comparison.compare(a.content, b.content, str(other))
        return a.content


def test_names_are_compared_after_prefixes(tmp_path: Path) -> None:
    assert compared(["module.w"], ["w"], tmp_path).verdict == "safe"
    codes = [finding.code for finding in compared(["a", "b"], ["b", "c"], tmp_path).findings]
    assert codes == ["compare.missing", "compare.extra"]


def test_nothing_in_common_is_always_an_error(tmp_path: Path) -> None:
    content = compared(["net.w"], ["w"], tmp_path)
    assert content.verdict == "inconsistent"
    assert [finding.code for finding in content.findings] == ["compare.nothing"]

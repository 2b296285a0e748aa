"""Packages are pinned by digest, come from wherever the user's own configuration says, and never enter uv.lock."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PIN = re.compile(r"[a-z0-9][a-z0-9._-]*==[0-9][0-9a-z.+]*(?: ; [^\\]+)?")
DIGEST = re.compile(r"--hash=sha256:[0-9a-f]{64}")
PINNED = ["check.txt", "schema_suite.txt", "test.txt", "torch-cpu.txt", "torch.txt"]
OURS = {"pufferlib-skill", "pufferlib-native"}


def name_of(requirement: str) -> str:
    """The package's name, as an index compares it."""
    found = re.match(r"[A-Za-z0-9._-]+?(?=[\s;<>=!~\[]|$)", requirement)
    assert found, requirement
    return re.sub(r"[-_.]+", "-", found.group()).lower()


def pins(repository: Path, file: str) -> dict[str, list[str]]:
    """Every pinned requirement of a file with its digests; anything else in there fails."""
    result: dict[str, list[str]] = {}
    text = (repository / "requirements" / file).read_text(encoding="utf-8")
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("#"):
            continue
        requirement, *digests = re.split(r"\s+(?=--hash)", line.strip())
        assert PIN.fullmatch(requirement.strip()), f"{file}: not a plain pin: {requirement!r}"
        assert digests, f"{file}: {requirement} has no digest"
        assert all(DIGEST.fullmatch(digest.strip()) for digest in digests), f"{file}: {requirement}"
        result[requirement.strip()] = digests
    return result


def wanted(repository: Path, file: str) -> set[str]:
    """What a hand-written .in file asks for."""
    lines = (repository / "requirements" / file).read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    return tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def lock(repository: Path) -> dict[str, Any]:
    return tomllib.loads((repository / "uv.lock").read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", PINNED)
def test_every_requirement_has_one_version_and_its_digests_and_nothing_names_an_index(
    repository: Path, file: str
) -> None:
    assert pins(repository, file)
    source = repository / "requirements" / file.replace("-cpu.txt", ".txt").replace(".txt", ".in")
    pinned = {name_of(requirement) for requirement in pins(repository, file)}
    assert {name_of(line) for line in wanted(repository, source.name)} <= pinned


def test_no_other_requirements_file_escapes_these_tests(repository: Path) -> None:
    assert sorted(path.name for path in (repository / "requirements").glob("*.txt")) == PINNED


def test_the_test_group_and_its_pins_name_the_same_packages(repository: Path, project: dict[str, Any]) -> None:
    assert set(project["dependency-groups"]["test"]) == wanted(repository, "test.in")


def test_the_installed_packages_are_the_pinned_ones(repository: Path) -> None:
    from importlib.metadata import version

    for requirement in ("pytest", "jsonschema", "safetensors"):
        pinned = [pin for pin in pins(repository, "test.txt") if name_of(pin) == requirement]
        assert [pin.partition("==")[2] for pin in pinned] == [version(requirement)]


def test_torch_for_a_cpu_is_the_default_build_s_pins_without_its_cuda_packages(repository: Path) -> None:
    default, cpu = pins(repository, "torch.txt"), pins(repository, "torch-cpu.txt")
    shared = {pin for pin in cpu if name_of(pin) != "torch"}
    assert {pin: default.get(pin) for pin in shared} == {pin: cpu[pin] for pin in shared}
    left_out = {name_of(pin) for pin in default} - {name_of(pin) for pin in cpu}
    assert left_out and all(name.startswith(("nvidia-", "cuda-")) or name == "triton" for name in left_out)


def test_the_skill_itself_depends_on_nothing(project: dict[str, Any]) -> None:
    assert project["project"]["dependencies"] == []
    assert set(project["project"]["optional-dependencies"]) == {"torch", "pufferlib"}
    assert project["project"]["optional-dependencies"]["pufferlib"] == ["pufferlib==3.0.0"]


def test_the_lock_holds_only_our_own_packages(repository: Path, project: dict[str, Any], lock: dict[str, Any]) -> None:
    assert {package["name"] for package in lock["package"]} == OURS
    for package in lock["package"]:
        assert set(package["source"]) <= {"virtual", "editable"}, package
        assert not {"sdist", "wheels", "dependencies"} & set(package), package
    text = (repository / "uv.lock").read_text(encoding="utf-8")
    assert "://" not in text and "registry" not in text


def test_every_third_party_package_that_the_project_names_is_kept_out_of_the_lock(
    project: dict[str, Any], lock: dict[str, Any]
) -> None:
    groups = [*project["project"]["optional-dependencies"].values(), *project["dependency-groups"].values()]
    named = {name_of(requirement) for group in groups for requirement in group}
    assert named == set(project["tool"]["uv"]["exclude-dependencies"]) == set(lock["manifest"]["excludes"])


def test_the_lock_is_current(repository: Path, lock: dict[str, Any], project: dict[str, Any]) -> None:
    native = tomllib.loads((repository / "native_profile" / "pyproject.toml").read_text(encoding="utf-8"))
    versions = {package["name"]: package["version"] for package in lock["package"]}
    assert versions == {part["project"]["name"]: part["project"]["version"] for part in (project, native)}
    requires = {part["project"]["requires-python"] for part in (project, native)}
    assert requires == {lock["requires-python"]}


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed; the tests above compare without it")
def test_uv_agrees_that_the_lock_is_current(repository: Path) -> None:
    checked = subprocess.run(
        [str(shutil.which("uv")), "lock", "--check", "--offline", "--no-python-downloads"],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert checked.returncode == 0, checked.stderr

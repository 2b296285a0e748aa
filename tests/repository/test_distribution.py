"""`pip install ./native_profile` brings everything that the engine is built from, and compiles nothing."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture(scope="module")
def source(repository: Path, files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The engine's own files elsewhere, since setuptools leaves build folders beside what it builds."""
    target = tmp_path_factory.mktemp("source")
    for file in files:
        if file.parts[0] == "native_profile":
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(repository / file, target / file)
    return target / "native_profile"


@pytest.fixture
def site(source: Path, tmp_path: Path, run: Run) -> Path:
    """A folder with the engine installed, from the pinned build tools and no index."""
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    done = run([*pip, "--no-build-isolation", "--target", target, source], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return target


def test_an_installation_is_complete_and_answers(source: Path, site: Path, tmp_path: Path, run: Run) -> None:
    def below(folder: Path) -> set[str]:
        return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts}

    assert below(site / "pufferlib") == below(source / "pufferlib")
    assert not list(site.rglob("*.so")), "something was compiled during the installation"
    assert (site / "bin" / "puffer").exists()

    code = "import pufferlib, sys; print(pufferlib.__file__)"
    imported = run([sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(site)})
    assert imported.stdout.strip() == str(site / "pufferlib" / "__init__.py"), imported.stderr

    listed = run([sys.executable, "-m", "pufferlib", "envs", "--json"], cwd=tmp_path, env={"PYTHONPATH": str(site)})
    assert listed.returncode == 0, listed.stderr
    assert "cartpole" in json.dumps(json.loads(listed.stdout))


def test_a_bare_python_sees_the_extras_of_the_skill(repository: Path, tmp_path: Path, run: Run) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy2(repository / name, tmp_path / name)
    (tmp_path / "scripts").mkdir()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--dry-run"]
    plain = run([*pip, "--no-build-isolation", "--report", "-", tmp_path], cwd=tmp_path)
    assert plain.returncode == 0, plain.stderr
    (only,) = json.loads(plain.stdout)["install"]
    assert only["metadata"]["name"] == "pufferlib-skill"
    assert only["metadata"]["provides_extra"] == ["torch", "pufferlib"]
    # Without an index the extra cannot be had, but pip has understood what it asks for.
    extra = run([*pip, "--no-build-isolation", f"{tmp_path}[pufferlib]"], cwd=tmp_path)
    assert extra.returncode != 0 and "pufferlib==3.0.0" in extra.stderr

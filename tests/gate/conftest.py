"""Gives each test a private copy of the gate with a stand-in for the engine, and keys to sign with."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from ..scripts.gate_bundle import Bundle, build_bundle


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return build_bundle(tmp_path / "bundle")


class Keys(NamedTuple):
    """Keys of three people, and the file that allows the first two of them."""

    folder: Path
    allowed: Path

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def line(self, name: str, principal: str | None = None, options: str = "") -> str:
        kind, key, *_ = (self.folder / f"{name}.pub").read_text().split()
        return f"{principal or name + '@example.org'} {options} {kind} {key}\n".replace("  ", " ")


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    """`ada`, `bob` and `eve`; only the first two are allowed signers."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen here")
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ada", "bob", "eve"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    made = Keys(folder, folder / "allowed_signers")
    made.allowed.write_text(made.line("ada") + made.line("bob"))
    made.allowed.chmod(0o644)
    return made

"""Optional packages: found by their metadata, imported only on request and in a child, with the loader's own words."""

from __future__ import annotations

import importlib.machinery
import os
import re
import sys

from .. import text
from .row import COULD_NOT, LOW, MISSING, OK, Request, Row
from .trial import run

IMPORT_SECONDS = 60.0
MODULES = {"pufferlib-native": "pufferlib", "nvidia-nccl-cu12": "", "nccl": "", "ziglang": "ziglang"}
"""Packages that are imported under another name; empty for those that hold no module."""
INSTALL = {
    "torch": "python3 -m pip install --require-hashes -r requirements/torch.txt",
    "triton": "python3 -m pip install --require-hashes -r requirements/torch.txt",
    "pufferlib-native": "python3 -m pip install ./native_profile",
    "pufferlib": "python3 -m pip install pufferlib==3.0.0   (in an environment of its own)",
    "nvidia-nccl-cu12": "python3 -m pip install --require-hashes -r requirements/torch.txt",
}
"""How to get a package; others are `python3 -m pip install NAME`."""
SHOWN = ("numpy", "gymnasium", "pettingzoo", "torch", "triton", "safetensors", "tensorboard", "wandb", "trackio")

_TRIAL = "import importlib, sys; importlib.import_module(sys.argv[1])"
_MAX_EXTENSIONS = 64


def check(request: Request) -> list[Row]:
    """One line for each package, and one for each extension module that does not fit this interpreter."""
    installed = request.machine.packages
    rows = []
    for name in dict.fromkeys([*SHOWN, *installed]):
        if name not in installed:
            rows.append(Row(f"package {name}", MISSING, "not installed", install(name)))
            continue
        found = installed[name] + (f", {torch_build()}" if name == "torch" else "")
        row = Row(f"package {name}", OK, found)
        module = MODULES.get(name, name.replace("-", "_"))
        if request.try_imports and module:
            row = imported(row, module, install(name))
        rows.append(row)
    return rows + extensions()


def install(name: str) -> str:
    """The command that installs a package."""
    return INSTALL.get(name, f"python3 -m pip install {name}")


def imported(row: Row, module: str, fix: str) -> Row:
    """The line of a package after importing it in a child: the last words of its error where it fails."""
    outcome = run([sys.executable, "-c", _TRIAL, module], IMPORT_SECONDS)
    if outcome.exit_status == 0:
        return row._replace(found=f"{row.found}, imports")
    if outcome.exit_status is None:
        return row._replace(state=COULD_NOT, found=f"{row.found}, import: {outcome.why}")
    if outcome.exit_status < 0:
        return row._replace(state=MISSING, found=f"{row.found}, import ended by signal {-outcome.exit_status}", fix=fix)
    # A loader's message may have several lines; the last line of a traceback that names an error begins it.
    lines = outcome.output.splitlines()
    starts = [at for at, line in enumerate(lines) if re.match(r"[\w.]*(?:Error|Exception|Exit)\b", line)]
    words = " ".join(lines[starts[-1] :] if starts else lines[-1:])
    fix = f"{fix.replace('pip install', 'pip install --force-reinstall --no-deps')}   (or rebuild it for this Python)"
    return row._replace(state=MISSING, found=f"{row.found}, import fails: {text.escaped(words, 400)}", fix=fix)


def torch_build() -> str:
    """Whether torch was built for CUDA, from the text of its version file: nothing is imported."""
    for folder in sys.path:
        path = os.path.join(folder, "torch", "version.py")
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                content = stream.read(4096)
        except OSError:
            continue
        match = re.search(r"^cuda\b[^=\n]*=\s*(?:'([^']*)'|\"([^\"]*)\"|None)", content, re.MULTILINE)
        version = (match[1] or match[2]) if match else None
        hip = re.search(r"^hip\b[^=\n]*=\s*'([^']+)'", content, re.MULTILINE)
        if hip:
            return f"built for ROCm {hip[1][:20]}"
        return f"built for CUDA {text.escaped(version, 20)}" if version else "built for the CPU only"
    return "its build is not known"


def extensions() -> list[Row]:
    """Extension modules of the packages that profiles use and that are built for another Python or processor."""
    rows = []
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    for folder in sys.path:
        for package in ("pufferlib", "torch", "numpy"):
            place = os.path.join(folder or ".", package)
            try:
                names = sorted(os.listdir(place))[:2000]
            except OSError:
                continue
            built = [
                name
                for name in names
                if name.endswith((".so", ".pyd")) and (".cpython-" in name or name.startswith("_"))
            ]
            fitting = {name.split(".")[0] for name in built if _suffix(name) in suffixes}
            for name in built[:_MAX_EXTENSIONS]:
                reason = _misfit(os.path.join(place, name), name, suffixes)
                # Several Pythons may share a folder: one that fits is enough.
                if reason and (name.split(".")[0] not in fitting or _suffix(name) in suffixes):
                    fix = "build it again for this Python: " + install(package).replace(
                        "install", "install --force-reinstall", 1
                    )
                    rows.append(Row(f"extension {package}/{name}", MISSING, reason, fix))
    return rows


def _suffix(name: str) -> str:
    """`.cpython-311-x86_64-linux-gnu.so` of an extension module's file name."""
    return name[len(name.split(".")[0]) :]


def _misfit(path: str, name: str, suffixes: tuple[str, ...]) -> str:
    if _suffix(name) not in suffixes:
        built = name.split(".", 1)[1].rsplit(".", 1)[0]
        return f"built for {text.escaped(built, 60)}, this is {sys.implementation.cache_tag} ({os.uname().machine})"
    if not name.endswith(".so"):
        return ""
    try:
        with open(path, "rb") as stream:
            head = stream.read(20)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if head[:4] != b"\x7fELF":
        return "" if sys.platform == "darwin" else "not a library of this system"
    machines = {62: "x86_64", 183: "aarch64", 3: "i686", 243: "riscv64", 21: "ppc64le", 22: "s390x"}
    kind = machines.get(int.from_bytes(head[18:20], "little"), "another processor")
    return "" if kind == os.uname().machine else f"built for {kind}, this is {os.uname().machine}"


def low_torch(request: Request) -> Row | None:
    """A line of its own where torch cannot use the accelerator that is there."""
    if request.machine.visible("cuda") and "torch" in request.machine.packages:
        build = torch_build()
        if "CPU only" in build:
            return Row("torch cuda", LOW, f"there is a CUDA device, and torch is {build}", INSTALL["torch"])
    return None

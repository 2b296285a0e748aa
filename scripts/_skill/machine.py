"""What a process may use of a machine: cores, memory, shared memory, disk, accelerators, compiler, packages.

Limits are read where they bind: the affinity and the control group, not the host's counts. Of credentials only the
names of variables are looked at. A measured machine can be kept in a file (`machine/1`), so that a plan can
be checked for a machine that is not this one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

SHARED_MEMORY = "/dev/shm"
PACKAGES = (
    "gymnasium",
    "nccl",
    "neptune",
    "numpy",
    "nvidia-nccl-cu12",
    "pettingzoo",
    "pufferlib",
    "pufferlib-native",
    "safetensors",
    "tensorboard",
    "torch",
    "trackio",
    "triton",
    "wandb",
    "ziglang",
)
"""The optional packages that some profile or logger uses."""
CREDENTIAL_VARIABLES = (
    "AWS_SECRET_ACCESS_KEY",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "NEPTUNE_API_TOKEN",
    "WANDB_API_KEY",
    "WANDB_IDENTITY_TOKEN_FILE",
)
"""Variables that hold, or lead to, a credential of a logger or hub."""
_COMPILERS = ("c++", "g++", "clang++")
_PROGRAM_SECONDS = 10


class Device(NamedTuple):
    """One accelerator."""

    kind: str
    name: str
    memory_bytes: int | None


class Machine(NamedTuple):
    """What a process may use; the fields are those of `machine/1`."""

    system: str
    architecture: str
    python: str
    cores: int
    memory_bytes: int | None
    shared_memory_free_bytes: int | None
    disk_free_bytes: int | None
    devices: tuple[Device, ...]
    compiler: str | None
    packages: dict[str, str]
    variables: tuple[str, ...]

    def visible(self, kind: str) -> list[Device]:
        """The accelerators of a kind."""
        return [device for device in self.devices if device.kind == kind]

    def as_json(self) -> dict[str, Any]:
        """The machine as a `machine/1` document."""
        document: dict[str, Any] = {"schema": "machine/1", **self._asdict()}
        document["devices"] = [device._asdict() for device in self.devices]
        document["variables"] = list(self.variables)
        return document


def measure(folder: str = ".", programs: bool = True) -> Machine:
    """This machine, for runs in `folder`.

    Without `programs` nothing is started: the compiler has no version and accelerators have neither name nor memory.
    """
    compiler = find_compiler(os.environ)
    return Machine(
        system=os.uname().sysname if hasattr(os, "uname") else sys.platform,
        architecture=os.uname().machine if hasattr(os, "uname") else "unknown",
        python=".".join(str(part) for part in sys.version_info[:3]),
        cores=usable_cores(),
        memory_bytes=usable_memory(),
        shared_memory_free_bytes=_free_bytes(SHARED_MEMORY),
        disk_free_bytes=_free_bytes(folder),
        devices=tuple(_devices(programs)),
        compiler=_with_version(compiler) if programs and compiler else compiler and os.path.basename(compiler),
        packages=_packages(),
        variables=tuple(name for name in CREDENTIAL_VARIABLES if os.environ.get(name, "").strip()),
    )


def read(path: str) -> Machine:
    """The machine in a `machine/1` file, or in the report of `doctor.py --json`, which holds one under `machine`."""
    from . import strict_json
    from .findings import Refusal
    from .json_schema import Schema

    document = strict_json.loads(strict_json.read_file(path), path)
    if isinstance(document, dict) and "schema" not in document and isinstance(document.get("machine"), dict):
        document = document["machine"]
    findings = Schema.shipped("machine").findings(document)
    if findings:
        raise Refusal(*(finding._replace(pointer=f"{path}#{finding.pointer}") for finding in findings))
    fields = {name: value for name, value in document.items() if name != "schema"}
    fields["devices"] = tuple(Device(**device) for device in fields["devices"])
    fields["variables"] = tuple(fields["variables"])
    return Machine(**fields)


def usable_cores() -> int:
    """Cores that this process may keep busy: its affinity, cut by the cgroup's quota (rounded up)."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    quotas = [_words(os.path.join(folder, "cpu.max")) for folder in _cgroup_folders()]
    for folder in _old_cgroup_folders("cpu"):
        quotas.append([*_words(f"{folder}/cpu.cfs_quota_us"), *_words(f"{folder}/cpu.cfs_period_us")])
    for words in quotas:
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]) > 0:
            cores = min(cores, max(1, -(-int(words[0]) // int(words[1]))))
    return cores


def usable_memory() -> int | None:
    """Bytes of memory that this process may use at most; None where the system does not say."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")] if hasattr(os, "sysconf") else []
    files = [os.path.join(folder, "memory.max") for folder in _cgroup_folders()]
    # Without a limit the older file holds a number near 2^63, which the machine's memory is below.
    files += [f"{folder}/memory.limit_in_bytes" for folder in _old_cgroup_folders("memory")]
    for words in map(_words, files):
        if len(words) == 1 and words[0].isdigit():
            limits.append(int(words[0]))
    return min(limits) if limits else None


def find_compiler(variables: Mapping[str, str]) -> str | None:
    """The path of the C++ compiler that the engine would find: `CXX`, the usual names, the `ziglang` wheel."""
    named = variables.get("CXX", "").split()
    for name in named[:1] or _COMPILERS:
        for folder in [""] if os.path.isabs(name) else variables.get("PATH", "").split(os.pathsep):
            path = os.path.join(folder, name)
            if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    if named:
        return None
    zigs = (os.path.join(folder, "ziglang", "zig") for folder in sys.path if folder)
    return next((path for path in zigs if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def _packages() -> dict[str, str]:
    """Installed packages by the names of their metadata folders: nothing is imported, each folder is listed once."""
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            names = os.listdir(folder) if folder else []
        except OSError:
            continue
        for name in names:
            stem, extension = os.path.splitext(name)
            package, _, version = stem.partition("-")
            package = package.lower().replace("_", "-")
            if extension in (".dist-info", ".egg-info") and package in PACKAGES:
                # An egg's folder goes on after the version: torch-2.4.0-py3.11.
                found.setdefault(package, version.partition("-py")[0][:100] or "unknown")
    return dict(sorted(found.items()))


def _devices(programs: bool) -> list[Device]:
    """The accelerators that `CUDA_VISIBLE_DEVICES` leaves."""
    try:
        numbers = sorted(int(name[6:]) for name in os.listdir("/dev") if name[:6] == "nvidia" and name[6:].isdigit())
    except OSError:
        numbers = []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = len(numbers)
    chosen = list(range(count))
    if visible is not None:
        chosen = []
        for position, word in enumerate(part.strip() for part in visible.split(",")):
            # As the driver reads it: the list ends at the first entry that names no device. Names other than
            # numbers are unique identifiers; they cannot be told here, so each counts as one device.
            if word.startswith(("GPU-", "MIG-")) and position < max(count, 1):
                chosen.append(position)
            elif word.isdigit() and int(word) < count:
                chosen.append(int(word))
            else:
                break
    if not count or not chosen:
        return []
    known = _nvidia_smi() if programs else []
    unknown = Device("cuda", "unknown", None)
    return [known[number] if number < len(known) else unknown for number in chosen]


def _nvidia_smi() -> list[Device]:
    words = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    devices = []
    for line in _output(words).splitlines()[:256]:
        name, _, memory = line.rpartition(",")
        memory = memory.strip()
        devices.append(Device("cuda", name.strip()[:200] or "unknown", int(memory) << 20 if memory.isdigit() else None))
    return devices


def _with_version(path: str) -> str:
    """`g++ 12.2.0`, or only the name where the program does not say."""
    name = os.path.basename(path)
    arguments = ["version"] if name == "zig" else ["-dumpfullversion", "-dumpversion"]
    version = _output([path, *arguments]).strip()
    plain = version[:40] if version and "\n" not in version and version.isprintable() else ""
    return f"{name} {plain}".rstrip()


def _output(words: list[str]) -> str:
    """What a program prints, at most 64 KiB of it; nothing where it fails or takes too long."""
    import subprocess

    try:
        result = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROGRAM_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout[: 1 << 16].decode("utf-8", "replace") if result.returncode == 0 else ""


def _free_bytes(folder: str) -> int | None:
    try:
        status = os.statvfs(folder)
    except OSError:
        return None
    return min(status.f_bavail * status.f_frsize, (1 << 53) - 1)


def _cgroup_folders() -> list[str]:
    """This process's cgroup (version 2) and those above it; the tightest limit of all counts."""
    words = [line.split("::", 1)[1] for line in _text("/proc/self/cgroup").splitlines() if line.startswith("0::")]
    return _upwards("/sys/fs/cgroup", words[0]) if words else []


def _old_cgroup_folders(controller: str) -> list[str]:
    """The same of version 1, where every controller has a tree of its own."""
    for line in _text("/proc/self/cgroup").splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and controller in parts[1].split(","):
            return _upwards(f"/sys/fs/cgroup/{parts[1]}", parts[2])
    return []


def _upwards(root: str, path: str) -> list[str]:
    """The folder `path` below `root` and those above it, down to the root; nothing outside."""
    place = os.path.normpath(f"{root}/{path.lstrip('/')}")
    folders = []
    while place == root or place.startswith(f"{root}/"):
        folders.append(place)
        place = os.path.dirname(place)
    return folders


def _words(path: str) -> list[str]:
    return _text(path).split()


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            return stream.read(4096)
    except OSError:
        return ""

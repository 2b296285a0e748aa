"""C environments: found by their folders, described by the metadata in their headers.

``ocean/<name>/<name>.h`` is an environment; so is ``<name>.h`` in a folder given by ``--env-path``. Nothing is
registered.
"""

from __future__ import annotations

import ctypes
import functools
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .build import OCEAN, Library
from .errors import MISUSE, PufferError, unknown

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True)
class SettingInfo:
    """A setting of an environment: ``kind`` is int or float; bounds are inclusive."""

    name: str
    kind: str
    default: float
    low: float
    high: float
    help: str


@dataclass(frozen=True)
class StatisticInfo:
    """A number that an environment reports when an episode ends."""

    name: str
    help: str


class Environment:
    """A compiled environment and what it says of itself."""

    def __init__(self, header: Path) -> None:
        from .engine import load_environment

        self.header = header
        self.descriptor, self.library = load_environment(header)
        d = self.descriptor
        self.name, self.title, self.task, self.author = (t.decode() for t in (d.name, d.title, d.task, d.author))
        if self.name != header.stem:
            raise PufferError(
                f"{header} calls itself {self.name!r}; ENV_NAME must be the header's name, {header.stem!r}", MISUSE
            )
        self.agents = int(d.agents)
        self.observation_dtype = ("float32", "uint8")[d.observation_type]
        self.observation_shape = tuple(d.observation_shape[: d.observation_rank])
        self.features = int(d.features)
        self.action_sizes = tuple(d.action_sizes[: d.heads])
        self.state_bytes = int(d.state_size)
        self.settings = [_setting(d.settings[i]) for i in range(d.num_settings)]
        self.statistics = [StatisticInfo(s.name.decode(), s.help.decode()) for s in d.statistics[: d.num_statistics]]

    def settings_bytes(self, chosen: dict[str, Any]) -> ctypes.Array[ctypes.c_char]:
        """The C Settings struct with defaults and what was chosen. Raises PufferError for a name, type or bound."""
        known = {s.name: s for s in self.settings}
        for name in chosen:
            if name not in known:
                raise unknown(f"setting of {self.name}", str(name), known)
        memory = ctypes.create_string_buffer(max(1, int(self.descriptor.settings_size)))
        for index, info in enumerate(self.settings):
            value = chosen.get(info.name, info.default)
            where = f"environment.settings.{info.name}"
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise PufferError(f"{where} is {value!r}, expected a number", MISUSE)
            if info.kind == "int" and value != int(value):
                raise PufferError(f"{where} is {value!r}, expected a whole number; nearest: {round(value)}", MISUSE)
            if not info.low <= value <= info.high:
                near = min(max(value, info.low), info.high)
                raise PufferError(
                    f"{where} is {value:g}, expected {info.low:g} to {info.high:g}; nearest: {near:g}", MISUSE
                )
            offset = self.descriptor.settings[index].offset
            number = ctypes.c_float(value) if info.kind == "float" else ctypes.c_int32(int(value))
            ctypes.memmove(ctypes.addressof(memory) + offset, ctypes.byref(number), 4)
        return memory

    def describe(self) -> dict[str, Any]:
        """Everything about the environment as JSON can hold it."""
        discrete = len(self.action_sizes) == 1
        return {
            "name": self.name,
            "title": self.title,
            "task": self.task,
            "author": self.author,
            "agents": self.agents,
            "observation": {"dtype": self.observation_dtype, "shape": list(self.observation_shape)},
            "action": {"type": "discrete" if discrete else "multi_discrete", "sizes": list(self.action_sizes)},
            "settings": [vars(s) for s in self.settings],
            "statistics": [vars(s) for s in self.statistics],
            "state_bytes": self.state_bytes,
        }

    @property
    def built(self) -> Library:
        """The compiled library."""
        return self.library


def _setting(record: Any) -> SettingInfo:
    kind = "float" if record.is_float else "int"
    default, low, high = record.standard, record.low, record.high
    if kind == "int":
        default, low, high = int(default), int(low), int(high)
    return SettingInfo(record.name.decode(), kind, default, low, high, record.help.decode())


def names() -> list[str]:
    """The names of the built-in environments."""
    return sorted(p.name for p in OCEAN.iterdir() if (p / f"{p.name}.h").is_file())


def find_header(name: str, env_path: str | Path | None = None) -> Path:
    """The header of a built-in environment, or of one in the folder ``env_path``."""
    if not _NAME.fullmatch(name):
        raise PufferError(f"{name!r} is not an environment's name: lower-case letters, digits and _ expected", MISUSE)
    if env_path is None:
        if name not in names():
            raise unknown("environment", name, names())
        return OCEAN / name / f"{name}.h"
    folder = Path(env_path)
    for header in (folder / f"{name}.h", folder / name / f"{name}.h"):
        if header.is_file():
            return header.resolve()
    held = sorted(p.stem for p in [*folder.glob("*.h"), *folder.glob("*/*.h")]) if folder.is_dir() else []
    if held:
        raise unknown(f"environment below {folder}", name, held)
    raise PufferError(f"{folder} holds no {name}.h; --env-path names the folder with an environment's header", MISUSE)


@functools.cache
def load(header: Path) -> Environment:
    """The environment in a header, compiled if need be."""
    return Environment(header)


def shipped_settings(header: Path) -> dict[str, Any]:
    """What the environment's folder recommends for training: ``train.json``, or nothing."""
    path = header.parent / "train.json"
    try:
        with path.open("rb") as stream:
            content = json.loads(stream.read(65536))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise PufferError(f"{path} cannot be read: {error}", MISUSE) from error
    if not isinstance(content, dict):
        raise PufferError(f"{path} holds no JSON object", MISUSE)
    return content

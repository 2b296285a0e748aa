"""Compiles every environment header into the small driver of this folder, once a session and several at a time.

Environments are found, not listed: a folder `<name>/` of `ocean/` that holds `<name>.h` is one. A compiler is required;
nvcc is used where there is one.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "native_profile" / "pufferlib"
OCEAN = PACKAGE / "ocean"
INCLUDE = PACKAGE / "core" / "include"
ENVIRONMENTS = sorted(path.parent.name for path in OCEAN.glob("*/*.h") if path.stem == path.parent.name)

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
# No fused multiply-add anywhere. GCC forms vfmaddsub from neighbouring sums and differences even when contraction is
# off (seen with 12.2), so x86-64 is also denied the instructions.
EXACT = ["-ffp-contract=off", *(["-mno-fma", "-mno-avx512f"] if platform.machine() in ("x86_64", "AMD64") else [])]
FAST = ["-O3", "-march=native", *EXACT]
SANITIZE = "-fsanitize=address,undefined,float-cast-overflow,float-divide-by-zero"
# kind: (language, flags). Every kind must give the same numbers, bit for bit.
PROGRAMS = {
    "c": ("c", ["-std=c11", *FAST]),
    "c++": ("c++", ["-std=c++17", *FAST]),
    "sanitized": ("c", ["-std=c11", "-O0", "-g", *EXACT, SANITIZE, "-fno-sanitize-recover=all"]),
}
LIBRARY = ("c", ["-std=c11", "-O2", *EXACT, "-shared", "-fPIC"])
NVCC = ["-std=c++17", "-fmad=false", "--Werror", "all-warnings", "-ptx"]


def compiler(language: str) -> str:
    """The C or C++ compiler: $CC or $CXX, else the system's."""
    variable, names = ("CC", ["cc", "gcc", "clang"]) if language == "c" else ("CXX", ["c++", "g++", "clang++"])
    found = os.environ.get(variable) or next((name for name in names if shutil.which(name)), None)
    assert found, f"these tests need a compiler: set {variable}, or install gcc and g++ (Debian: build-essential)"
    return found


class Driver:
    """One environment's compiled driver; `kind` is a key of PROGRAMS."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, *arguments: object) -> Any:
        """Runs it and returns what it printed, as JSON. A sanitizer's report fails the test with its text."""
        environment = {"PATH": os.defpath, "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
        done = subprocess.run(
            [str(self.path), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
            check=False,
        )
        ended = f"{self.path.name} {arguments} ended with {done.returncode}"
        assert done.returncode == 0, f"{ended}:\n{done.stderr[-3000:]}"
        return json.loads(done.stdout)


class Builds:
    """Starts every compilation at once and hands out each result when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pool = ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0)))
        self.jobs: dict[tuple[str, str], Future[Path]] = {}
        for kind in [*PROGRAMS, "library"]:
            for name in ENVIRONMENTS:
                self.jobs[name, kind] = self.pool.submit(self._compile, name, kind)

        if shutil.which("nvcc"):
            for name in ENVIRONMENTS:
                self.jobs[name, "cuda"] = self.pool.submit(self._compile, name, "cuda")

    def _compile(self, name: str, kind: str) -> Path:
        target = self.folder / f"{name}-{kind}"
        header = [f"-I{INCLUDE}", f'-DENV_HEADER="{OCEAN / name / name}.h"']
        if kind == "cuda":
            command = ["nvcc", *NVCC, *header, str(HERE / "kernel.cu"), "-o", str(target)]
        else:
            language, flags = LIBRARY if kind == "library" else PROGRAMS[kind]
            source = ["-x", language, str(HERE / "driver.c"), "-o", str(target), "-lm"]
            command = [compiler(language), *flags, *WARNINGS, *header, *source]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f"{name} does not compile as {kind}:\n{done.stderr[-3000:]}"
        return target

    def program(self, name: str, kind: str = "c") -> Driver:
        return Driver(self.jobs[name, kind].result())

    def device_code(self, name: str) -> str | None:
        """The header as a GPU's assembly (PTX), or None where there is no nvcc."""
        job = self.jobs.get((name, "cuda"))
        return job.result().read_text(encoding="utf-8") if job else None

    def library(self, name: str) -> ctypes.CDLL:
        return ctypes.CDLL(str(self.jobs[name, "library"].result()))


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builds]:
    made = Builds(tmp_path_factory.mktemp("environments"))
    yield made
    made.pool.shutdown(cancel_futures=True)


@pytest.fixture(params=ENVIRONMENTS)
def environment(request: pytest.FixtureRequest) -> str:
    """The name of each environment in turn."""
    return str(request.param)


@pytest.fixture
def header(environment: str) -> Path:
    return OCEAN / environment / f"{environment}.h"


@pytest.fixture
def driver(builds: Builds, environment: str) -> Driver:
    return builds.program(environment)


@pytest.fixture(scope="session")
def describe(builds: Builds):
    """describe(name): what the compiled header says about itself."""
    known: dict[str, dict[str, Any]] = {}

    def ask(name: str) -> dict[str, Any]:
        if name not in known:
            known[name] = builds.program(name)("describe")
        return known[name]

    return ask


class Play:
    """One environment in this process, its State open to the test: `state` and `settings` are ctypes structures.

    observation: (agents, features). reward, terminal, truncated: (agents,), of the last step.
    """

    def __init__(self, library: ctypes.CDLL, facts: dict[str, Any], state_fields: list[tuple[str, Any]]) -> None:
        import numpy

        types = {"int": ctypes.c_int32, "float": ctypes.c_float}
        fields = [(setting["name"], types[setting["type"]]) for setting in facts["settings"]]
        names = [statistic["name"] for statistic in facts["statistics"]]
        state = type("State", (ctypes.Structure,), {"_fields_": [("random", ctypes.c_uint64 * 2), *state_fields]})
        settings = type("Settings", (ctypes.Structure,), {"_fields_": fields})
        statistics = type("Statistics", (ctypes.Structure,), {"_fields_": [(name, ctypes.c_float) for name in names]})
        agents = facts["agents"]
        step = type(
            "Step",
            (ctypes.Structure,),
            {
                "_fields_": [
                    ("reward", ctypes.c_float * agents),
                    ("terminal", ctypes.c_uint8 * agents),
                    ("truncated", ctypes.c_uint8 * agents),
                ]
            },
        )
        library.driver_state_size.restype = library.driver_settings_size.restype = ctypes.c_size_t
        assert ctypes.sizeof(state) == library.driver_state_size(), "the State is not laid out as this test believes"
        assert ctypes.sizeof(settings) == library.driver_settings_size()
        self._library = library
        self.facts = facts
        self.state, self.settings, self._statistics, self._step = state(), settings(), statistics(), step()
        self._action = numpy.zeros((agents, facts["heads"]), dtype=numpy.int32)
        dtype = numpy.float32 if facts["observation_bytes"] == 4 else numpy.uint8
        self._rows = numpy.zeros((agents, facts["features"]), dtype=dtype)
        library.driver_standard_settings(ctypes.byref(self.settings))
        self.reset(seed=1)

    def reset(self, seed: int | None = None, stream: int = 0) -> Any:
        """Starts an episode, after seeding if a seed is given; returns the observation."""
        if seed is not None:
            self._library.driver_seed(ctypes.byref(self.state), ctypes.c_uint64(seed), ctypes.c_uint64(stream))
        self._library.driver_reset(ctypes.byref(self.state), ctypes.byref(self.settings))
        return self.observation

    @property
    def observation(self) -> Any:
        self._library.driver_observe(
            ctypes.byref(self.state), ctypes.byref(self.settings), ctypes.c_void_p(self._rows.ctypes.data)
        )
        return self._rows.copy()

    def step(self, action: Any) -> Play:
        """Steps once; `action` broadcasts to (agents, heads)."""
        self._action[...] = action
        self._library.driver_step(
            ctypes.byref(self.state),
            ctypes.byref(self.settings),
            ctypes.c_void_p(self._action.ctypes.data),
            ctypes.byref(self._step),
        )
        return self

    @property
    def reward(self) -> list[float]:
        return list(self._step.reward)

    @property
    def terminal(self) -> list[int]:
        return list(self._step.terminal)

    @property
    def truncated(self) -> list[int]:
        return list(self._step.truncated)

    @property
    def ended(self) -> bool:
        return all(t or u for t, u in zip(self.terminal, self.truncated, strict=True))

    @property
    def statistics(self) -> dict[str, float]:
        self._library.driver_statistics(
            ctypes.byref(self.state), ctypes.byref(self.settings), ctypes.byref(self._statistics)
        )
        return {name: getattr(self._statistics, name) for name, _ in self._statistics._fields_}


@pytest.fixture
def play(builds: Builds, describe):
    """play(name, fields): that environment opened, with the State's members after `random`."""

    def opened(name: str, state_fields: list[tuple[str, Any]]) -> Play:
        return Play(builds.library(name), describe(name), state_fields)

    return opened

"""The whole engine under the sanitizers: no wrong address, no undefined behaviour, no leak, no race."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from pufferlib.build import CORE, OCEAN
from pufferlib.compiler import find_compiler

from .conftest import ROOT
from .small_environments import write_environment

KINDS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
}
FLAGS = ["-std=c++17", "-O1", "-g1", "-fno-omit-frame-pointer", "-ffp-contract=off"]
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}


@pytest.fixture(scope="module")
def engine_objects(tmp_path_factory):
    """``engine_objects(kind)``: every unit of the engine and the driver, compiled once, several at a time."""
    made = {}

    def compile_all(kind):
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind)
            units = [u for u in CORE.glob("*.cpp") if u.name != "environment_library.cpp"]
            units.append(ROOT / "tests" / "native" / "driver.cpp")
            objects = [folder / f"{unit.stem}.o" for unit in units]
            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                list(pool.map(lambda pair: compile_one(kind, *pair), zip(units, objects, strict=True)))
            made[kind] = objects
        return made[kind]

    return compile_all


def compile_one(kind, source, target, *more):
    includes = [f"-I{CORE}", f"-I{CORE / 'include'}", "-march=native"]
    command = [*find_compiler().command, *FLAGS, *KINDS[kind], *includes, *more, "-c", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture(params=["cartpole", "target", "squared", "bare"])
def header(request, tmp_path):
    """States side by side; several agents and heads; bytes observed; neither settings nor statistics."""
    if request.param == "bare":
        return write_environment(tmp_path, "bare", settings="", agents=3, step="if (s->steps >= 5) truncate_all(out);")
    return OCEAN / request.param / f"{request.param}.h"


@pytest.mark.sanitize
@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_is_clean(engine_objects, header, kind, tmp_path):
    objects = engine_objects(kind)
    library = tmp_path / "environment.o"
    compile_one(kind, CORE / "environment_library.cpp", library, f'-DENV_HEADER="{header}"')
    program = tmp_path / "driver"
    link = [*find_compiler().command, *KINDS[kind], "-pthread", *map(str, objects), str(library), "-o", str(program)]
    subprocess.run(link, check=True, capture_output=True, timeout=120)
    done = subprocess.run(
        [str(program)], env={"PATH": os.defpath, **OPTIONS}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0 and not done.stdout and not done.stderr, (done.stdout + done.stderr)[:6000]

"""Building: what is said when it cannot be done, and that only what was built is ever loaded."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap

import pytest

from pufferlib import build, compiler
from pufferlib.errors import PufferError

from .conftest import PROFILE
from .small_environments import write_environment


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache folder of the test's own."""
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def header(tmp_path):
    return write_environment(tmp_path / "tiny", "tiny")


def test_no_compiler_tells_the_three_ways_to_get_one(puffer, tmp_path):
    done = puffer("train", "cartpole", "--run-dir", tmp_path / "run", env={"PATH": str(tmp_path), "CXX": ""})
    assert done.returncode == 2 and "Traceback" not in done.stderr
    for way in ("apt-get install g++", "xcode-select --install", "pip install ziglang", "CXX=/path/to/c++"):
        assert way in done.stderr
    assert not (tmp_path / "run").exists()
    told = puffer("doctor", "--json", env={"PATH": str(tmp_path), "CXX": ""})
    found = {f["what"]: f for f in json.loads(told.stdout)["findings"]}
    assert told.returncode == 1 and not found["compiler"]["ok"] and "ziglang" in found["compiler"]["fix"]


@pytest.mark.parametrize(
    ("cxx", "found"),
    [
        ("no-such-compiler", "CXX names 'no-such-compiler', which is not a program on the path"),
        ("false", "does not compile (status 1)"),
        ("true", "made no"),
    ],
)
def test_a_broken_compiler_is_named(puffer, tmp_path, header, cxx, found):
    done = puffer(
        "build", "tiny", "--env-path", header.parent, env={"CXX": cxx, "PUFFER_CACHE": str(tmp_path / "cache")}
    )
    assert done.returncode == 2 and found in done.stderr and "Traceback" not in done.stderr
    assert not any((tmp_path / "cache").iterdir() if (tmp_path / "cache").exists() else [])


def test_a_compiler_that_cannot_be_run_is_named(puffer, tmp_path, header):
    broken = tmp_path / "broken-c++"
    broken.write_bytes(b"\x7fELF nothing")
    broken.chmod(0o755)
    done = puffer(
        "envs", "tiny", "--env-path", header.parent, env={"CXX": str(broken), "PUFFER_CACHE": str(tmp_path / "c")}
    )
    assert done.returncode == 2 and str(broken) in done.stderr and "cannot be run" in done.stderr


def test_a_library_is_built_once(cache, header):
    first = build.build_environment(header)
    again = build.build_environment(header)
    assert first.seconds > 0 and again.seconds == 0.0
    assert (first.path, first.sha256) == (again.path, again.sha256)
    assert first.path.parent.parent == cache
    assert {p.name for p in first.path.parent.iterdir()} == {"library.so", "record.json"}
    assert [p.name for p in cache.iterdir()] == [first.path.parent.name]


@pytest.mark.parametrize("damage", ["library", "cut", "record", "no record", "no library"])
def test_a_library_that_was_tampered_with_is_built_again(cache, header, damage):
    first = build.build_environment(header)
    record = first.path.with_name("record.json")
    whole = first.path.read_bytes()
    if damage == "library":
        first.path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif damage == "cut":
        first.path.write_bytes(whole[:100])
    elif damage == "record":
        record.write_text("{}")
    elif damage == "no record":
        record.unlink()
    else:
        first.path.unlink()
    again = build.build_environment(header)
    assert again.seconds > 0 and again.path == first.path
    assert again.path.read_bytes() == whole
    assert json.loads(record.read_text())["sha256"] == again.sha256 == first.sha256


def test_a_cache_that_cannot_be_written_is_named(puffer, tmp_path, header):
    (tmp_path / "file").write_text("")
    done = puffer("envs", "tiny", "--env-path", header.parent, env={"PUFFER_CACHE": str(tmp_path / "file" / "cache")})
    assert done.returncode == 2 and "PUFFER_CACHE=/some/folder" in done.stderr and str(tmp_path / "file") in done.stderr


def test_builds_at_once_end_well(tmp_path, header, puffer_environment):
    environment = puffer_environment | {"PUFFER_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "pufferlib", "envs", "tiny", "--env-path", str(header.parent), "--json"]
    running = [
        subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(3)
    ]
    ended = [(*process.communicate(timeout=300), process.returncode) for process in running]
    assert [status for _, _, status in ended] == [0, 0, 0], ended
    assert len({out for out, _, _ in ended}) == 1
    assert len(list((tmp_path / "cache").iterdir())) == 1, "nothing is left of the builds that came second"


def test_an_error_in_a_users_environment_is_shown_as_the_compiler_tells_it(puffer, tmp_path):
    write_environment(tmp_path, "broken", step="out->rewards[0] = 1.0f;")
    done = puffer(
        "train",
        "broken",
        "--env-path",
        tmp_path,
        "--run-dir",
        tmp_path / "run",
        env={"PUFFER_CACHE": str(tmp_path / "c")},
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "broken.h:" in done.stderr and "error:" in done.stderr and "rewards" in done.stderr
    assert not (tmp_path / "run").exists() and not list((tmp_path / "c").iterdir())


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            ("typedef struct {\n    Random random;", "typedef struct {\n    int32_t first; Random random;"),
            "State begins with",
        ),
        (('#define ENV_NAME "wrong"', '#define ENV_NAME "other"'), "ENV_NAME must be the header's name"),
    ],
)
def test_a_header_against_the_contract_is_refused(puffer, tmp_path, change, found):
    path = write_environment(tmp_path, "wrong")
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    done = puffer("envs", "wrong", "--env-path", tmp_path)
    assert done.returncode == 2 and found in done.stderr


def test_the_key_follows_sources_flags_compiler_and_processor(cache, header, monkeypatch):
    made = [build.build_environment(header)]

    def built_anew():
        library = build.build_environment(header)
        assert library.path not in [m.path for m in made], "the same folder for other contents"
        made.append(library)

    header.write_text(header.read_text() + "/* a comment */\n")
    built_anew()
    assert made[0].sources_sha256 != made[1].sources_sha256
    (header.parent / "more.h").write_text("/* a header beside it */\n")
    built_anew()
    monkeypatch.setattr(build, "_ENVIRONMENT_FLAGS", (*build._ENVIRONMENT_FLAGS, "-DEXTRA=1"))
    built_anew()
    monkeypatch.setattr(build, "processor_identity", lambda: "another processor")
    built_anew()
    monkeypatch.setenv("CXX", f"{compiler.find_compiler().command[0]} -DANOTHER")
    built_anew()


def test_where_the_sources_stand_does_not_matter(cache, header, tmp_path):
    """A private copy of the package, as the gate makes one, finds what was built before."""
    copy = tmp_path / "copy"
    shutil.copytree(PROFILE / "pufferlib", copy / "pufferlib", ignore=shutil.ignore_patterns("__pycache__"))
    first = build.build_environment(header)
    code = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(copy)!r})
        from pathlib import Path
        from pufferlib import build
        assert Path(build.__file__).is_relative_to({str(copy)!r})
        print(build.build_environment(Path({str(header)!r})).path)
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == str(first.path)


def test_the_engine_is_one_library_of_all_its_sources():
    units = {p.name for p in build.engine_sources()}
    assert {
        "engine.cpp",
        "trainer.cpp",
        "workers.cpp",
        "mlp.cpp",
        "environment_library.cpp",
        "lanes.h",
        "environment.h",
    } <= units
    assert build.build_engine().sources_sha256 == build.digest_of_files(build.engine_sources())


def test_a_compiler_run_that_takes_too_long_is_stopped(cache, header, monkeypatch, tmp_path):
    slow = tmp_path / "slow-c++"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("CXX", str(slow))
    monkeypatch.setattr(build, "_SECONDS", 0.3)
    with pytest.raises(PufferError, match=r"took over 0 s and was stopped"):
        build.build_environment(header)
    assert not list(cache.iterdir())

"""What every environment keeps, whatever it simulates (native_profile/pufferlib/core/include/puffer/environment.h).

Any folder added to `ocean/` is held to these without being named here.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from _skill.plans import environment_header

STEPS = 20_000
LONG = 100_000
PICTURES = 250


def trace(driver, *, seed=1, stream=0, player="random", steps=STEPS, pictures=PICTURES, settings=()):
    return driver("run", seed, stream, player, steps, pictures, *settings)


def test_environments_are_found():
    """The four that ship are discovered; a fifth needs no line here."""
    ocean = Path(__file__).resolve().parents[2] / "native_profile" / "pufferlib" / "ocean"
    assert {"breakout", "cartpole", "squared", "target"} <= {path.stem for path in ocean.glob("*/*.h")}


def test_same_seed_same_trace(driver):
    """Seed and stream decide everything: rows, rewards, flags, statistics and pictures, bit for bit."""
    assert trace(driver, seed=7, stream=3) == trace(driver, seed=7, stream=3)


def test_other_seed_other_trace(driver):
    """The run's seed reaches the environment, and so does the environment's own number: no two share their luck."""
    digests = [trace(driver, seed=seed, stream=stream)["digest"] for seed, stream in [(7, 3), (8, 3), (7, 4), (3, 7)]]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("kind", ["c++", "sanitized"])
def test_same_trace_in_every_build(builds, environment, kind):
    """C11 and C++17, optimized for this machine and not optimized at all, compute the same bits."""
    assert trace(builds.program(environment, kind)) == trace(builds.program(environment, "c"))


def test_header_is_device_code(builds, environment):
    """nvcc takes every function of the header as code for a GPU, without a warning and without a fused multiply-add."""
    assembly = builds.device_code(environment)
    if assembly is None:
        pytest.skip("there is no nvcc on this machine")
    assert ".entry" in assembly
    assert "fma." not in assembly


@pytest.mark.parametrize("player", ["random", "0", "1", "99", "alternate"])
def test_long_play_is_clean(builds, environment, player):
    """Random and stubborn players (always the same choice, the highest, long runs of either) meet no memory error, no
    undefined behaviour and no non-finite number: 100 thousand steps at random, 20 thousand otherwise."""
    steps = LONG if player == "random" else STEPS
    played = trace(builds.program(environment, "sanitized"), player=player, steps=steps, pictures=997)
    assert played["nonfinite"] == 0
    assert played["episodes"] > 0


def test_flags(driver, describe, environment):
    """A flag is 0 or 1; no agent is ever both terminal and truncated, even where the rules and the step limit end an
    episode at the same step; truncation flags every agent at once."""
    limited = "max_steps" in {setting["name"] for setting in describe(environment)["settings"]}
    limits = [[], *([f"max_steps={limit}"] for limit in (1, 7, 20, 60, 90, 120) if limited)]
    for player in ["random", "0", "99"]:
        for settings in limits:
            played = trace(driver, player=player, steps=LONG // len(limits), pictures=0, settings=settings)
            assert played["terminals"] + played["truncations"] > 0
            counts = ("flags_not_0_or_1", "both_flags", "partial_truncations")
            assert [played[count] for count in counts] == [0, 0, 0], settings


def test_step_limit_truncates_every_agent(driver, describe, environment):
    """With `max_steps` 1 every step ends every agent's episode, by truncation unless the rules ended it."""
    if "max_steps" not in {setting["name"] for setting in describe(environment)["settings"]}:
        pytest.skip("this environment has no step limit")
    played = trace(driver, steps=1000, pictures=0, settings=["max_steps=1"])
    assert played["episodes"] == 1000
    assert played["terminals"] + played["truncations"] == 1000 * describe(environment)["agents"]
    assert played["truncations"] > 0
    assert played["both_flags"] == 0


def test_state_is_a_checkpoint(builds, environment):
    """A State copied away and put back into other memory goes on bit for bit, at any moment, pictures included."""
    for kind in ["c", "sanitized"]:
        driver = builds.program(environment, kind)
        for moment in [0, 1, 37, 500, 2000]:
            futures = driver("copy", 11, 5, "random", moment, 3000)
            assert futures["first"] == futures["again"], f"{kind}: the future differs after step {moment}"


def test_state_is_plain(describe, header, environment):
    """The State begins with its generator, is small enough for a tile of 64 to stay in cache, and its text declares no
    pointer, so a copy of its bytes is a copy of it."""
    facts = describe(environment)
    assert facts["random_offset"] == 0
    assert facts["state_size"] <= 65536
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", header.read_text(encoding="utf-8"), flags=re.DOTALL)
    structs = re.findall(r"typedef struct[^{]*\{([^}]*)\}", text)
    assert structs
    assert not [body for body in structs if "*" in body]


def test_header_is_pure(header):
    """Nothing of the C library that reads, writes, allocates, draws numbers or asks the time, and no variable that
    outlives a call."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", header.read_text(encoding="utf-8"), flags=re.DOTALL)
    includes = re.findall(r'#\s*include\s*[<"]([^>"]+)', text)
    assert includes == ["puffer/environment.h"]
    called = set(re.findall(r"\b([a-z_]\w*)\s*\(", text))
    assert not called & set("malloc calloc free rand srand time clock printf fopen getenv exit".split())
    outside = text
    while (shorter := re.sub(r"\{[^{}]*\}", ";", outside)) != outside:
        outside = shorter
    assert not re.search(r"^\s*(?:static|extern)\b(?![^;]*\()", outside, re.MULTILINE)


def test_observations_are_as_declared(driver, describe, environment):
    """Values fill the declared shape; uint8 stays within a byte and float32 within a range that a network can use."""
    facts = describe(environment)
    assert facts["features"] == math.prod(facts["shape"])
    assert facts["observation_bytes"] in (1, 4)
    played = trace(driver, steps=LONG, pictures=0)
    assert played["nonfinite"] == 0
    limit = 255 if facts["observation_bytes"] == 1 else 20
    assert -limit <= played["lowest"] < played["highest"] <= limit


def test_settings_at_their_bounds_are_clean(builds, describe, environment):
    """Any setting at either bound, and all at one bound together, still gives finite numbers and defined behaviour."""
    driver = builds.program(environment, "sanitized")
    settings = describe(environment)["settings"]
    cases = [[f"{setting['name']}={setting[bound]:.9g}"] for setting in settings for bound in ("low", "high")]
    cases += [[f"{setting['name']}={setting[bound]:.9g}" for setting in settings] for bound in ("low", "high")]
    for case in cases:
        played = trace(driver, steps=2000, pictures=97, settings=case)
        counts = ("nonfinite", "both_flags", "partial_truncations", "commands_dropped", "commands_bad")
        assert [played[count] for count in counts] == [0, 0, 0, 0, 0], case


def test_pictures(driver):
    """Rendering draws something, within the canvas and its number of commands, and what it draws moves."""
    played = trace(driver, steps=5000, pictures=5)
    assert played["pictures"] == 1000
    assert 1 <= played["commands_least"] <= played["commands_most"] <= 300
    assert (played["commands_dropped"], played["commands_bad"], played["commands_outside"]) == (0, 0, 0)
    assert played["pictures_changed"] > 500


def test_text_and_compiler_agree(describe, header, environment):
    """What the gate reads from the header's text without compiling is what the compiler makes of it."""
    facts = describe(environment)
    read = environment_header.read(header.read_bytes(), header.name)
    assert (read.name, read.title, read.task, read.author) == tuple(
        facts[key] for key in ("name", "title", "task", "author")
    )
    assert read.name == environment
    assert read.agents == facts["agents"]
    assert list(read.observation_shape) == facts["shape"]
    assert read.observation_bytes == facts["features"] * facts["observation_bytes"]
    assert list(read.action_sizes) == facts["action"]
    assert len(read.action_sizes) == facts["heads"]
    assert read.statistics == {statistic["name"]: statistic["help"] for statistic in facts["statistics"]}
    assert list(read.settings) == [setting["name"] for setting in facts["settings"]]
    for setting in facts["settings"]:
        own = read.settings[setting["name"]]
        assert (own.type, own.description) == (setting["type"], setting["help"])
        compiled = [setting[key] for key in ("default", "low", "high")]
        assert [own.default, own.least, own.most] == pytest.approx(compiled, rel=1e-8)


def test_training_settings_are_shipped(header):
    """The folder holds first training settings: a policy, a budget and the return that counts as solved."""
    shipped = json.loads((header.parent / "train.json").read_text(encoding="utf-8"))
    assert set(shipped) == {"policy", "train", "goal"}
    assert shipped["train"]["total_timesteps"] > 0
    assert {"return", "wall_seconds"} <= set(shipped["goal"])

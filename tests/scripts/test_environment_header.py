"""Environment metadata is read from the header's text, without a compiler, and nothing is guessed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _skill.findings import Refusal
from _skill.plans import environment_header
from _skill.plans.environment_header import Setting

from .gate_bundle import ROOT

HEADER = """
/* #define ENV_NAME "comment" */
#ifndef GUARD
#define GUARD
#define ENV_NAME "cartpole" // the name
#define ENV_TITLE "Cart//Pole /* not a comment */"
#define ENV_TASK "Keep a pole upright " \\
                 "by \\"pushing\\" its cart."
#define ENV_AUTHOR "somebody"
#  define ENV_AGENTS 2
#define ENV_OBSERVATION U8(11, 12)
#define ENV_ACTION MULTI_DISCRETE(9, 5)
#define ENV_SETTINGS(SETTING) \\
    SETTING(float, gravity, 9.8f, -0.1, 1e2, "acceleration of gravity, m/s^2") /* ) */ \\
    SETTING(int, max_steps, 500, 1, 1000000, "steps until an episode is truncated")
#define ENV_STATISTICS(STATISTIC) STATISTIC(balanced, "fraction (of episodes)")
#define ENV_LANES
#endif
"""


def read(text: str) -> environment_header.EnvironmentHeader:
    return environment_header.read(text.encode(), "x.h")


def test_reads_every_fact() -> None:
    header = read(HEADER)
    assert header.name == "cartpole"
    assert header.title == "Cart//Pole /* not a comment */"
    assert header.task == 'Keep a pole upright by "pushing" its cart.'
    assert (header.agents, header.observation_type, header.observation_shape) == (2, "uint8", (11, 12))
    assert (header.action_kind, header.action_sizes, header.observation_bytes) == ("MULTI_DISCRETE", (9, 5), 132)
    assert header.settings == {
        "gravity": Setting("float", "gravity", 9.8, -0.1, 100.0, "acceleration of gravity, m/s^2"),
        "max_steps": Setting("int", "max_steps", 500, 1, 1000000, "steps until an episode is truncated"),
    }
    assert header.statistics == {"balanced": "fraction (of episodes)"}


def test_settings_and_statistics_may_be_empty_or_left_out() -> None:
    start = HEADER[: HEADER.index("#define ENV_SETTINGS")]
    assert read(start).settings == {}
    empty = read(start + "#define ENV_SETTINGS(SETTING)\n#define ENV_STATISTICS(STATISTIC)\n")
    assert (empty.settings, empty.statistics) == ({}, {})


@pytest.mark.parametrize(
    ("before", "after", "macro"),
    [
        ("#  define ENV_AGENTS 2\n", "", "ENV_AGENTS"),
        ("ENV_AGENTS 2", "ENV_AGENTS COUNT", "ENV_AGENTS"),
        ("ENV_AGENTS 2", "ENV_AGENTS 1+1", "ENV_AGENTS"),
        ("ENV_AGENTS 2", "ENV_AGENTS 0", "ENV_AGENTS"),
        ("ENV_AGENTS 2", "ENV_AGENTS 2\n#define ENV_AGENTS 3", "ENV_AGENTS"),
        ("U8(11, 12)", "U16(11)", "ENV_OBSERVATION"),
        ("U8(11, 12)", "U8(11, -12)", "ENV_OBSERVATION"),
        ("U8(11, 12)", "U8()", "ENV_OBSERVATION"),
        ("U8(11, 12)", "U8(11", "ENV_OBSERVATION"),
        ("MULTI_DISCRETE(9, 5)", "DISCRETE(SIZE)", "ENV_ACTION"),
        ('ENV_NAME "cartpole"', 'ENV_NAME "Cart Pole"', "ENV_NAME"),
        ('ENV_AUTHOR "somebody"', "ENV_AUTHOR somebody", "ENV_AUTHOR"),
        ("9.8f", "G", "ENV_SETTINGS"),
        ("9.8f", "999", "ENV_SETTINGS"),
        ("SETTING(int", "SETTING(long", "ENV_SETTINGS"),
        ("max_steps", "gravity", "ENV_SETTINGS"),
        ("ENV_SETTINGS(SETTING)", "ENV_SETTINGS", "ENV_SETTINGS"),
        ("500, 1,", "500 1,", "ENV_SETTINGS"),
        ("500, 1,", "500,, 1,", "ENV_SETTINGS"),
    ],
)
def test_what_is_not_a_plain_literal_is_refused_with_the_macro_named(before: str, after: str, macro: str) -> None:
    assert before in HEADER
    with pytest.raises(Refusal) as caught:
        read(HEADER.replace(before, after))
    assert caught.value.findings[0].pointer == f"x.h#{macro}"


@given(st.data())
def test_any_damage_gives_metadata_or_a_refusal(data: st.DataObject) -> None:
    text = HEADER.encode()
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 20)))
        text = (
            text[:start]
            + data.draw(st.sampled_from([b"", b"(", b")", b'"', b",", b"\\\n", b"\xff", b"/*", b"1"]))
            + text[end:]
        )
    try:
        environment_header.read(text, "x.h")
    except Refusal:
        return


@pytest.mark.parametrize(
    "path", sorted((ROOT / "native_profile/pufferlib/ocean").glob("*/*.h")), ids=lambda path: path.stem
)
def test_reads_every_shipped_environment(path) -> None:
    if path.stem == path.parent.name:
        assert environment_header.read(path.read_bytes(), path.name).name == path.stem


@pytest.mark.parametrize("piece", ['"a\\', "/*", '\\"', '"', '#define ENV_NAME "', "//", " ", "\n#define "])
def test_no_text_takes_long_to_read(piece: str) -> None:
    started = time.process_time()
    with pytest.raises(Refusal):
        environment_header.read((piece * (1 << 18))[: 1 << 20].encode(), "x.h")
    assert time.process_time() - started < 2

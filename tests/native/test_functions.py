"""The engine's own exp, log and tanh keep the error bounds that lanes.h states."""

from __future__ import annotations

import re

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pufferlib.build import CORE
from pufferlib.engine import load_engine

from .conftest import pointer

OPS = {"exp": 0, "log": 1, "tanh": 2}


def stated(name: str) -> list[float]:
    """The numbers after "below" in the comment above lane_<name>."""
    text = (CORE / "lanes.h").read_text(encoding="utf-8")
    comment = re.search(rf"((?://[^\n]*\n)+)LANE_FN vf lane_{name}\(", text)
    assert comment, f"lanes.h says nothing about lane_{name}"
    bounds = [float(n) for n in re.findall(r"below ([0-9.e-]+[0-9])", comment[1])]
    assert bounds and all(0 < b <= 1e-6 for b in bounds), f"lanes.h states no bound for lane_{name}: {comment[1]}"
    return bounds


def computed(name: str, x: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """(exact, computed) in float64 for float32 x."""
    library, _ = load_engine()
    x = numpy.asarray(x, numpy.float32)
    full = numpy.ones((len(x) + 15) // 16 * 16, numpy.float32)
    full[: len(x)] = x
    out = numpy.empty_like(full)
    library.puffer_test_function(OPS[name], pointer(full), pointer(out), len(full))
    with numpy.errstate(over="ignore"):
        exact = {"exp": numpy.exp, "log": numpy.log, "tanh": numpy.tanh}[name](x.astype(numpy.float64))
    return exact, out[: len(x)].astype(numpy.float64)


def assert_exp(x: numpy.ndarray) -> None:
    exact, got = computed("exp", x)
    assert numpy.max(numpy.abs(got / exact - 1)) < stated("exp")[0]


def assert_log(x: numpy.ndarray) -> None:
    exact, got = computed("log", x)
    near, elsewhere = stated("log")
    error = numpy.abs(got - exact)
    assert numpy.all((error < near) | (error < elsewhere * numpy.abs(exact)))


def assert_tanh(x: numpy.ndarray) -> None:
    exact, got = computed("tanh", x)
    assert numpy.max(numpy.abs(got - exact)) < stated("tanh")[0]


def test_exp_on_a_dense_grid():
    assert_exp(numpy.linspace(-87, 87, 1_000_000))


def test_log_on_a_dense_grid():
    assert_log(numpy.exp(numpy.linspace(-87, 88, 1_000_000)))
    assert_log(numpy.linspace(0.5, 2, 1_000_000))


def test_tanh_on_a_dense_grid():
    assert_tanh(numpy.linspace(-12, 12, 1_000_000))
    assert_tanh(numpy.concatenate([-numpy.logspace(-30, 6, 20_000), numpy.logspace(-30, 6, 20_000)]))


@given(st.lists(st.floats(-87, 87, width=32), min_size=1, max_size=48))
def test_exp_on_any_number(values):
    assert_exp(numpy.array(values))


@given(st.lists(st.floats(2.0**-126, 2.0**127, width=32), min_size=1, max_size=48))
def test_log_on_any_normal_number(values):
    assert_log(numpy.array(values))


@given(st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=48))
def test_tanh_on_any_number_and_infinity(values):
    assert_tanh(numpy.array(values))


@pytest.mark.parametrize("x", [-numpy.inf, -1e30, -1000.0, 1000.0, 1e30, numpy.inf])
def test_exp_outside_its_range_is_clamped_and_finite(x):
    _, got = computed("exp", numpy.array([x]))
    bound = numpy.exp(numpy.sign(x) * 87.0)
    assert got[0] == pytest.approx(bound, rel=1e-6)

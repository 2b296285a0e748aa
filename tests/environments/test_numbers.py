"""The numbers that environments are given: the generator, and sine and cosine without a library."""

from __future__ import annotations

import ctypes

import numpy
import pytest


@pytest.fixture(scope="module")
def library(builds):
    return builds.library("cartpole")


def sine_and_cosine(library, x):
    sine, cosine = numpy.empty_like(x), numpy.empty_like(x)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, sine, cosine)]
    library.driver_sine(*pointers, len(x))
    return sine, cosine


def test_generator_is_pcg32(builds):
    """Seed 42, stream 54 gives the first outputs that the author's own demonstration program prints."""
    words = builds.program("squared")("random", 42, 54, 6)
    assert words == [0xA15C02B7, 0x7B47F409, 0xBA1D3330, 0x83D2F293, 0xBFA4784B, 0xCBED606E]


def test_streams_differ(builds):
    """Neighbouring environments of one seed have generators of their own."""
    driver = builds.program("squared")
    assert len({tuple(driver("random", 42, stream, 4)) for stream in range(20)}) == 20


def test_sine_and_cosine_are_accurate(library):
    """Within 3e-7 of the true value for every |x| <= 64: a fine grid, random points, and the neighbourhood of the
    multiples of pi / 2, where reduction is hardest."""
    near = numpy.arange(-40, 41, dtype=numpy.float64) * (numpy.pi / 2)
    steps = numpy.arange(-2000, 2001, dtype=numpy.float64) * 2e-6
    points = [
        numpy.linspace(-64, 64, 2_000_001),
        numpy.random.default_rng(1).uniform(-64, 64, 500_000),
        (near[:, None] + steps[None, :]).ravel(),
        numpy.array([0.0, -0.0, 1e-30, -1e-30, 64.0, -64.0]),
    ]
    x = numpy.concatenate(points).astype(numpy.float32)
    x = x[numpy.abs(x) <= 64]
    sine, cosine = sine_and_cosine(library, x)
    exact = x.astype(numpy.float64)
    assert numpy.abs(sine - numpy.sin(exact)).max() <= 3e-7
    assert numpy.abs(cosine - numpy.cos(exact)).max() <= 3e-7


def test_sine_is_odd_and_cosine_even(library):
    """A mirrored world stays a mirrored world, bit for bit."""
    x = numpy.random.default_rng(2).uniform(0, 64, 100_000).astype(numpy.float32)
    sine, cosine = sine_and_cosine(library, x)
    mirrored_sine, mirrored_cosine = sine_and_cosine(library, -x)
    assert numpy.array_equal(mirrored_sine, -sine)
    assert numpy.array_equal(mirrored_cosine, cosine)

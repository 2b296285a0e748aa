"""Adam with gradient clipping, and the annealing of its learning rate."""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pufferlib.engine import load_engine

from .conftest import pointer, tensors_of


def adam(arrays, rate, beta1, beta2, epsilon, scale, updates):
    """Algorithm 1 of the Adam paper in float64: (gradient, parameters, two moments), with a shortened gradient."""
    gradient, parameters, first, second = arrays
    g = gradient * scale
    m = beta1 * first + (1 - beta1) * g
    v = beta2 * second + (1 - beta2) * g * g
    corrected = m / (1 - beta1**updates), v / (1 - beta2**updates)
    return parameters - rate * corrected[0] / (numpy.sqrt(corrected[1]) + epsilon), m, v


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 100),
    rate=st.sampled_from([1e-5, 3e-3, 0.5]),
    betas=st.sampled_from([(0.9, 0.999), (0.0, 0.99), (0.5, 0.0)]),
    scale=st.floats(0.01, 1),
    updates=st.integers(1, 10**6),
)
def test_a_step_equals_the_paper(seed, count, rate, betas, scale, updates):
    generator = numpy.random.default_rng(seed)
    gradient, parameters, first = generator.normal(size=(3, count)).astype(numpy.float32)
    second = generator.uniform(0.1, 1, count).astype(numpy.float32)
    wide = [a.astype(numpy.float64) for a in (gradient, parameters, first, second)]
    beta1, beta2 = betas
    expected = adam(wide, rate, beta1, beta2, 1e-8, scale, updates)
    arrays = [pointer(array) for array in (gradient, parameters, first, second)]
    load_engine()[0].puffer_test_adam(*arrays, count, rate, beta1, beta2, 1e-8, scale, updates)
    for got, wanted in zip((parameters, first, second), expected, strict=True):
        numpy.testing.assert_allclose(got, wanted, rtol=2e-4, atol=1e-5 * max(1.0, rate / 1e-2))


def test_long_gradients_are_shortened_to_the_bound(make_trainer):
    """One update from zero moments: their size tells how long the gradient was when Adam saw it."""
    batch = {"num_envs": 64, "horizon": 8, "minibatch_size": 512, "update_epochs": 1}
    trainer = make_trainer(max_grad_norm=1e-3, **batch)
    metrics = trainer.iterate()
    assert metrics.gradient_norm > 1e-2
    first = numpy.concatenate([t.ravel() for t in tensors_of(trainer, "adam.first.").values()]).astype(float)
    assert numpy.linalg.norm(first) == pytest.approx(0.1 * 1e-3, rel=1e-4)
    free = make_trainer(max_grad_norm=1e6, **batch)
    norm = free.iterate().gradient_norm
    first = numpy.concatenate([t.ravel() for t in tensors_of(free, "adam.first.").values()]).astype(float)
    assert numpy.linalg.norm(first) == pytest.approx(0.1 * norm, rel=1e-4)


@pytest.mark.parametrize("kind", ["none", "linear", "cosine"])
def test_the_learning_rate_is_annealed_over_the_whole_budget(make_trainer, kind):
    total, batch = 10, 64 * 8
    trainer = make_trainer(
        num_envs=64, horizon=8, minibatch_size=512, total_timesteps=total * batch, learning_rate=0.01, anneal_lr=kind,
        min_lr_ratio=0.2,
    )  # fmt: skip
    left = {
        "none": lambda p: 1.0,
        "linear": lambda p: 0.2 + 0.8 * (1 - p),
        "cosine": lambda p: 0.2 + 0.8 * 0.5 * (1 + math.cos(math.pi * p)),
    }[kind]
    rates = [trainer.iterate().learning_rate for _ in range(total + 2)]
    assert rates == pytest.approx([0.01 * left(min(1.0, i / total)) for i in range(total + 2)], rel=1e-9)


def test_a_rate_of_nearly_nothing_changes_nearly_nothing(make_trainer):
    """The rate that the metrics name is the one that is used."""
    trainer = make_trainer(learning_rate=1e-12, anneal_lr="none")
    before = tensors_of(trainer, "policy.")
    trainer.iterate()
    for name, after in tensors_of(trainer, "policy.").items():
        numpy.testing.assert_allclose(after, before[name], atol=1e-9)

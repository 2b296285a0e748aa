"""The multilayer perceptron computes what its weights say, and starts from orthogonal weights."""

from __future__ import annotations

import math

import numpy
import pytest

from .conftest import padded, pointer, put_tensors, tensors_of
from .small_environments import write_environment


def reference_outputs(weights: dict[str, numpy.ndarray], x: numpy.ndarray, activation: str) -> numpy.ndarray:
    """float64 outputs (logits, then the value; lanes) for x (features, lanes)."""
    functions = {
        "tanh": numpy.tanh,
        "relu": lambda z: numpy.maximum(z, 0),
        "gelu": lambda z: 0.5 * z * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))),
    }
    w = {name: value.astype(numpy.float64) for name, value in weights.items()}
    y = x.astype(numpy.float64)
    for i in range(sum(name.startswith("hidden.") for name in w) // 2):
        y = functions[activation](w[f"hidden.{i}.weight"] @ y + w[f"hidden.{i}.bias"][:, None])
    actor = w["actor.weight"] @ y + w["actor.bias"][:, None]
    critic = w["critic.weight"] @ y + w["critic.bias"][:, None]
    return numpy.concatenate([actor, critic])


def randomize(trainer, generator, scale=1.0):
    """Gives every weight and bias a value, biases included, scaled so that activations stay in their bends."""
    values = {}
    for name, old in tensors_of(trainer, "policy.").items():
        fan_in = old.shape[1] if old.ndim == 2 else 1
        values["policy." + name] = (generator.normal(size=old.shape) * scale / math.sqrt(fan_in)).astype(numpy.float32)
    put_tensors(trainer, values)


@pytest.fixture
def forward():
    def compute(trainer, x):
        out = numpy.empty((sum(trainer.environment.action_sizes) + 1, x.shape[1]), numpy.float32)
        trainer._library.puffer_test_forward(trainer._handle, pointer(x), x.shape[1], pointer(out))
        return out

    return compute


@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
@pytest.mark.parametrize("hidden", [(1,), (7,), (64,), (33, 5), (16, 31, 3), (2, 3, 4, 5, 6, 7, 8, 9)])
def test_forward_equals_float64(make_trainer, forward, activation, hidden):
    trainer = make_trainer("target", hidden=hidden, activation=activation, num_envs=8, minibatch_size=8 * 8 * 16)
    generator = numpy.random.default_rng(len(hidden) * 100 + hidden[0])
    randomize(trainer, generator)
    weights = tensors_of(trainer, "policy.")
    for lanes in (16, 32, 48, 64, 80):
        x = generator.normal(size=(28, lanes)).astype(numpy.float32)
        expected = reference_outputs(weights, x, activation)
        numpy.testing.assert_allclose(forward(trainer, x), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("features", [1, 2, 5, 17])
def test_forward_with_odd_features_and_lanes_that_do_not_mix(tmp_path, make_trainer, forward, features):
    write_environment(tmp_path, f"odd{features}", observation=f"F32({features})", action="DISCRETE(3)")
    trainer = make_trainer(f"odd{features}", tmp_path, hidden=(11,), num_envs=64, minibatch_size=64 * 16)
    generator = numpy.random.default_rng(features)
    randomize(trainer, generator)
    x = padded(generator.normal(size=(features, 9)).astype(numpy.float32), 16)
    expected = reference_outputs(tensors_of(trainer, "policy."), x, "tanh")
    numpy.testing.assert_allclose(forward(trainer, x), expected, rtol=2e-5, atol=2e-5)
    changed = x.copy()
    changed[:, 9:] = 1e6
    numpy.testing.assert_array_equal(forward(trainer, changed)[:, :9], forward(trainer, x)[:, :9])


@pytest.mark.parametrize("hidden", [(64,), (7, 40), (128, 32)])
def test_weights_start_orthogonal_with_their_gains_and_biases_at_zero(make_trainer, hidden):
    trainer = make_trainer("target", hidden=hidden, num_envs=8, minibatch_size=8 * 8 * 16)
    gains = {"actor.weight": 0.01, "critic.weight": 1.0}
    for name, value in tensors_of(trainer, "policy.").items():
        if name.endswith(".bias"):
            assert not value.any()
            continue
        w = value.astype(numpy.float64) / gains.get(name, math.sqrt(2))
        product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
        numpy.testing.assert_allclose(product, numpy.eye(len(product)), atol=1e-5)


def test_seeds_give_different_weights_and_layers_differ(make_trainer):
    def first(seed):
        return tensors_of(make_trainer(hidden=(16, 16), seed=seed, num_envs=64, minibatch_size=1024), "policy.")

    one, again, other = first(1), first(1), first(2)
    for name in one:
        numpy.testing.assert_array_equal(one[name], again[name])
        if name.endswith(".weight"):
            assert not numpy.array_equal(one[name], other[name])
    assert not numpy.array_equal(one["hidden.1.weight"][:, :4], one["hidden.0.weight"])

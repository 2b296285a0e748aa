"""The PPO loss and the gradient of every weight, against a reference in float64 that shares nothing with the engine.

The reference is written from the papers' formulas for one sample after another in array form; its gradient is taken by
central differences.
"""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib.engine import Trainer
from pufferlib.environments import load

from .conftest import padded, pointer, put_tensors, tensors_of
from .small_environments import write_environment
from .test_network import randomize, reference_outputs
from .training_runs import short_plan

CLIP, VALUE_CLIP = 0.2, 0.3


def reference_loss(weights, batch, sizes, activation, vf_coef, ent_coef):
    """Mean over samples of clipped surrogate + vf_coef * value loss - ent_coef * entropy. batch: (steps, ..., rows)."""
    total = 0.0
    for t in range(batch["x"].shape[0]):
        out = reference_outputs(weights, batch["x"][t], activation)
        log_probability, entropy, at = 0.0, 0.0, 0
        for h, size in enumerate(sizes):
            z = out[at : at + size]
            log_p = z - z.max(0) - numpy.log(numpy.exp(z - z.max(0)).sum(0))
            log_probability = log_probability + numpy.take_along_axis(log_p, batch["actions"][t, h][None], 0)[0]
            entropy = entropy - (numpy.exp(log_p) * log_p).sum(0)
            at += size
        value, old_value, advantage = out[-1], batch["values"][t], batch["advantages"][t]
        ratio = numpy.exp(log_probability - batch["log_probabilities"][t])
        surrogate = numpy.minimum(ratio * advantage, numpy.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage)
        target = old_value + advantage
        clipped = old_value + numpy.clip(value - old_value, -VALUE_CLIP, VALUE_CLIP)
        value_loss = 0.5 * numpy.maximum((value - target) ** 2, (clipped - target) ** 2)
        total += (-surrogate + vf_coef * value_loss - ent_coef * entropy).sum()
    return total / batch["values"].size


def reference_gradient(weights, *arguments):
    """Central differences of the reference, in the order of the engine's flat parameters."""
    wide = {name: value.astype(numpy.float64) for name, value in weights.items()}
    slopes, step = [], 1e-6
    for value in wide.values():
        flat = value.reshape(-1)
        for i, kept in enumerate(flat.copy()):
            flat[i] = kept + step
            above = reference_loss(wide, *arguments)
            flat[i] = kept - step
            below = reference_loss(wide, *arguments)
            flat[i] = kept
            slopes.append((above - below) / (2 * step))
    return numpy.array(slopes)


def engine_loss(trainer, batch, lanes, padding=0.0):
    """(loss, flat gradient) for a batch whose rows are padded to ``lanes`` with ``padding``."""

    def lane_array(name, dtype):
        array = padded(batch[name].astype(dtype), lanes)
        if dtype is numpy.float32:
            array[..., batch[name].shape[-1] :] = padding
        return array

    x, old, values, advantages = (
        lane_array(n, numpy.float32) for n in ("x", "log_probabilities", "values", "advantages")
    )
    actions = lane_array("actions", numpy.int32)
    count = sum(value.size for value in tensors_of(trainer, "policy.").values())
    gradient = numpy.full(count, 7.0, numpy.float32)
    steps, rows = batch["values"].shape
    loss = trainer._library.puffer_test_loss(
        trainer._handle, pointer(x), pointer(actions), pointer(old), pointer(values), pointer(advantages),
        steps, rows, lanes, pointer(gradient),
    )  # fmt: skip
    return loss, gradient


def make_batch(trainer, weights, activation, generator, steps, rows, spread):
    """A batch whose old log-probabilities and values stand near the present ones, ``spread`` apart."""
    sizes = trainer.environment.action_sizes
    x = generator.normal(size=(steps, trainer.environment.features, rows)).astype(numpy.float32)
    actions = numpy.stack([generator.integers(0, n, size=(steps, rows)) for n in sizes], 1)
    old, values = numpy.empty((steps, rows)), numpy.empty((steps, rows))
    for t in range(steps):
        out, at, total = reference_outputs(weights, x[t], activation), 0, 0.0
        for h, size in enumerate(sizes):
            z = out[at : at + size]
            total = total + numpy.take_along_axis(z - numpy.log(numpy.exp(z).sum(0)), actions[t, h][None], 0)[0]
            at += size
        old[t], values[t] = total, out[-1]
    # Distances are kept off the edges of the clipping, where the loss has no derivative to compare with.
    shifts = generator.choice([-1.5, -0.5, 0.5, 1.5], size=(2, steps, rows)) * generator.uniform(
        0.8, 1.2, size=(2, steps, rows)
    )
    batch = {"x": x, "actions": actions, "advantages": generator.normal(size=(steps, rows))}
    batch["log_probabilities"] = old + shifts[0] * spread
    batch["values"] = values + shifts[1] * spread * 1.7
    return {k: v if k == "actions" else v.astype(numpy.float32) for k, v in batch.items()}


@pytest.fixture
def trainer_for(tmp_path, make_trainer):
    def make(action, activation="tanh", hidden=(6, 5), **train):
        name = "heads" + "_".join(map(str, action))
        kind = f"DISCRETE({action[0]})" if len(action) == 1 else f"MULTI_DISCRETE({', '.join(map(str, action))})"
        write_environment(tmp_path, name, action=kind)
        return make_trainer(
            name, tmp_path, activation=activation, hidden=hidden, num_envs=64, minibatch_size=1024,
            clip_coef=CLIP, vf_clip_coef=VALUE_CLIP, **{"ent_coef": 0.0, "vf_coef": 0.5, **train},
        )  # fmt: skip

    return make


@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
@pytest.mark.parametrize("action", [(2,), (5,), (9, 5), (2, 3, 4)])
def test_loss_and_every_gradient(trainer_for, activation, action):
    trainer = trainer_for(action, activation, vf_coef=0.7, ent_coef=0.03)
    generator = numpy.random.default_rng(hash_of(activation, action))
    randomize(trainer, generator)
    weights = tensors_of(trainer, "policy.")
    batch = make_batch(trainer, weights, activation, generator, 3, 11, 0.2)
    loss, gradient = engine_loss(trainer, batch, 16)
    arguments = (batch, action, activation, 0.7, 0.03)
    assert loss == pytest.approx(reference_loss(weights, *arguments), rel=1e-5, abs=1e-6)
    expected = reference_gradient(weights, *arguments)
    numpy.testing.assert_allclose(gradient, expected, rtol=2e-4, atol=2e-5 * numpy.abs(expected).max())


def hash_of(activation, action):
    return len(activation) * 1000 + sum(action)


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 40])
def test_padding_lanes_never_count(trainer_for, rows):
    trainer = trainer_for((9, 5), ent_coef=0.01)
    generator = numpy.random.default_rng(rows)
    randomize(trainer, generator)
    batch = make_batch(trainer, tensors_of(trainer, "policy."), "tanh", generator, 2, rows, 0.2)
    plain = engine_loss(trainer, batch, 48)
    filled = engine_loss(trainer, batch, 48, padding=3.0)
    assert plain[0] == filled[0]
    numpy.testing.assert_array_equal(plain[1], filled[1])
    numpy.testing.assert_allclose(plain[1], engine_loss(trainer, batch, 80)[1], rtol=1e-4, atol=1e-6)


def single(trainer, log_ratio, advantage, value_shift=0.0):
    """The gradients of the actor's and the critic's biases for one sample: present minus old as given."""
    weights = tensors_of(trainer, "policy.")
    x = numpy.full((1, 3, 1), 0.5, numpy.float32)
    out = reference_outputs(weights, x[0], "tanh")[:, 0]
    old = out[0] - numpy.log(numpy.exp(out[:2]).sum()) - log_ratio
    batch = {"x": x, "actions": numpy.zeros((1, 1, 1), int), "log_probabilities": numpy.array([[old]])}
    batch["values"], batch["advantages"] = numpy.array([[out[2] - value_shift]]), numpy.array([[advantage]])
    _, gradient = engine_loss(trainer, batch, 16)
    # The last parameters: actor.bias (2), critic.bias (1). The probability of action 0 gives the slope's size.
    p = numpy.exp(out[0]) / numpy.exp(out[:2]).sum()
    return gradient[-3:-1], gradient[-1], p


@pytest.mark.parametrize(
    ("log_ratio", "advantage", "flows"),
    [
        (0.3, 1.0, False),
        (0.3, -1.0, True),
        (-0.3, 1.0, True),
        (-0.3, -1.0, False),
        (0.1, 1.0, True),
        (-0.1, -1.0, True),
    ],
)
def test_the_policy_is_clipped_only_where_the_ratio_ran_away_in_its_favour(trainer_for, log_ratio, advantage, flows):
    trainer = trainer_for((2,), vf_coef=0.0)
    randomize(trainer, numpy.random.default_rng(1))
    actor, critic, p = single(trainer, log_ratio, advantage)
    slope = -advantage * numpy.exp(log_ratio) * (1 - p) if flows else 0.0
    numpy.testing.assert_allclose(actor, [slope, -slope], rtol=1e-5, atol=1e-7)
    assert critic == 0.0


@pytest.mark.parametrize(
    ("shift", "advantage", "expected"),
    # value - old = shift; target - old = advantage. Beyond the clip the loss is flat where the clipped error is larger.
    [(0.1, 1.0, -0.9), (0.5, 1.0, 0.0), (0.5, -1.0, 1.5), (-0.5, 1.0, -1.5), (-0.5, -1.0, 0.0), (0.5, 0.35, 0.15)],
)
def test_the_value_is_clipped_on_both_sides(trainer_for, shift, advantage, expected):
    trainer = trainer_for((2,), vf_coef=1.0)
    randomize(trainer, numpy.random.default_rng(2))
    _, critic, _ = single(trainer, 0.0, advantage, shift)
    assert critic == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_entropy_alone_pulls_towards_equal_probabilities(trainer_for):
    trainer = trainer_for((4,), vf_coef=0.0, ent_coef=1.0)
    randomize(trainer, numpy.random.default_rng(3))
    weights = tensors_of(trainer, "policy.")
    batch = make_batch(trainer, weights, "tanh", numpy.random.default_rng(4), 1, 1, 0.0)
    batch["advantages"][:] = 0
    _, gradient = engine_loss(trainer, batch, 16)
    z = reference_outputs(weights, batch["x"][0], "tanh")[:4, 0]
    p = numpy.exp(z) / numpy.exp(z).sum()
    entropy = -(p * numpy.log(p)).sum()
    numpy.testing.assert_allclose(gradient[-5:-1], p * (numpy.log(p) + entropy), rtol=1e-4, atol=1e-7)
    assert gradient[-5:-1][p.argmax()] > 0 > gradient[-5:-1][p.argmin()]


@given(
    logits=st.lists(st.floats(-30, 30, width=32), min_size=5, max_size=5),
    action=st.integers(0, 4),
    log_ratio=st.floats(-2, 2, width=32),
    advantage=st.floats(-10, 10, width=32),
)
@settings(max_examples=150)
def test_any_single_sample(shared_trainer, logits, action, log_ratio, advantage):
    zero = {"policy." + n: numpy.zeros_like(v) for n, v in tensors_of(shared_trainer, "policy.").items()}
    zero["policy.actor.bias"] = numpy.array(logits, numpy.float32)
    put_tensors(shared_trainer, zero)
    z = numpy.array(logits)
    old = z[action] - z.max() - numpy.log(numpy.exp(z - z.max()).sum()) - log_ratio
    batch = {"x": numpy.zeros((1, 3, 1)), "actions": numpy.full((1, 1, 1), action), "values": numpy.zeros((1, 1))}
    batch |= {"log_probabilities": numpy.array([[old]]), "advantages": numpy.array([[advantage]])}
    weights = {n[len("policy.") :]: v for n, v in zero.items()}
    loss, gradient = engine_loss(shared_trainer, batch, 16)
    assert numpy.isfinite(gradient).all()
    assert loss == pytest.approx(reference_loss(weights, batch, (5,), "tanh", 0.5, 0.01), rel=3e-5, abs=3e-5)


@pytest.fixture(scope="module")
def shared_trainer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    header = write_environment(folder, "five", action="DISCRETE(5)")
    plan = short_plan(
        "five",
        folder,
        hidden=(3,),
        num_envs=64,
        minibatch_size=1024,
        clip_coef=CLIP,
        vf_clip_coef=VALUE_CLIP,
        vf_coef=0.5,
        ent_coef=0.01,
    )
    trainer = Trainer(load(header.resolve()), plan, 1)
    yield trainer
    trainer.close()


def test_a_value_within_the_clip_always_learns(trainer_for):
    """Old values of another size than the present one: old + (value - old) then rounds, and must not look clipped."""
    trainer = trainer_for((2,), vf_coef=1.0)
    randomize(trainer, numpy.random.default_rng(5))
    for shift in numpy.random.default_rng(6).uniform(-0.29, 0.29, 100):
        _, critic, _ = single(trainer, 0.0, 0.6, float(shift))
        assert critic == pytest.approx(shift - 0.6, rel=1e-4)

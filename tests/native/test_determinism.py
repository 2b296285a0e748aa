"""Equal seeds give equal weights, bit for bit, whatever number of workers computes them."""

from __future__ import annotations

import pytest

from pufferlib.checkpoint import weights_digest
from pufferlib.environments import names

AGENTS = {"target": 8}


def plan_for(name):
    """Several tiles and minibatches an iteration."""
    envs = 192 // AGENTS.get(name, 1)
    return {"num_envs": envs, "minibatch_size": 1536, "horizon": 16, "hidden": (32,)}


def digest(trainer, iterations=6):
    for _ in range(iterations):
        trainer.iterate()
    return weights_digest(trainer.collect())


@pytest.mark.parametrize("name", names())
def test_one_two_and_three_workers_train_the_same_weights(make_trainer, name):
    alone = digest(make_trainer(name, workers=1, **plan_for(name)))
    assert digest(make_trainer(name, workers=2, **plan_for(name))) == alone
    assert digest(make_trainer(name, workers=3, **plan_for(name))) == alone


@pytest.mark.parametrize("name", names())
def test_other_seeds_train_other_weights(make_trainer, name):
    made = {digest(make_trainer(name, seed=seed, **plan_for(name)), 2) for seed in (0, 1, 2, 2**53 - 1)}
    assert len(made) == 4


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("name", names())
def test_evaluation_does_not_depend_on_workers(make_trainer, name, greedy):
    played = []
    for workers in (1, 2, 3):
        trainer = make_trainer(name, workers=workers, **plan_for(name))
        trainer.iterate()
        played.append(trainer.evaluate(150 // AGENTS.get(name, 1), 5, greedy, max_steps=300))
    assert played[0].returns == played[1].returns == played[2].returns
    assert played[0].lengths == played[1].lengths == played[2].lengths
    assert repr(played[0].statistics) == repr(played[1].statistics) == repr(played[2].statistics)


def test_the_seed_of_an_evaluation_counts(make_trainer):
    trainer = make_trainer("cartpole")
    assert trainer.evaluate(50, 1).returns == trainer.evaluate(50, 1).returns
    assert trainer.evaluate(50, 1).returns != trainer.evaluate(50, 2).returns


def test_evaluating_and_watching_do_not_touch_training(make_trainer):
    plain, watched = make_trainer("breakout", **plan_for("breakout")), make_trainer("breakout", **plan_for("breakout"))
    for _ in range(3):
        plain.iterate()
        watched.iterate()
        watched.evaluate(3, 9, max_steps=50)
        list(watched.frames(4, 20))
    assert weights_digest(plain.collect()) == weights_digest(watched.collect())

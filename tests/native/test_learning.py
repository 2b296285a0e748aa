"""Policies learn: CartPole is solved by every seed, and the other environments get clearly better than chance."""

from __future__ import annotations

import pytest

from pufferlib.engine import Trainer
from pufferlib.environments import find_header, load
from pufferlib.plan import make_plan


@pytest.fixture
def shipped():
    """``shipped(name, **train)``: a trainer with the settings that the environment ships."""
    made = []

    def make(name, **train):
        plan = make_plan(name, None, "learning", train, {}, {}, 2)
        made.append(Trainer(load(find_header(name)), plan, 2))
        return made[-1], plan["train"]

    yield make
    for trainer in made:
        trainer.close()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cartpole_is_solved_within_its_shipped_plan(shipped, seed):
    trainer, train = shipped("cartpole", seed=seed)
    metrics = trainer.iterate()
    while not (metrics.recent_count >= 100 and metrics.recent_return >= train["target_return"]):
        assert metrics.step < train["total_timesteps"], f"only {metrics.recent_return} after {metrics.step} steps"
        metrics = trainer.iterate()
    played = trainer.evaluate(100, 1_000_000)
    assert sum(played.returns) / 100 >= 450


def test_squared_finds_its_goal_within_its_shipped_plan(shipped):
    trainer, train = shipped("squared")
    chance = trainer.evaluate(300, 1, greedy=False).statistics["reached"]
    metrics = trainer.iterate()
    while not (metrics.recent_count >= 100 and metrics.recent_return >= train["target_return"]):
        assert metrics.step < train["total_timesteps"], f"only {metrics.recent_return} after {metrics.step} steps"
        metrics = trainer.iterate()
    assert chance < 0.6 and trainer.evaluate(300, 1).statistics["reached"] > 0.95


def test_target_reaches_more_goals(shipped):
    trainer, train = shipped("target", total_timesteps=3_000_000)
    chance = trainer.evaluate(16, 1, greedy=False).statistics["goals"]
    batch = train["num_envs"] * 8 * train["horizon"]
    for _ in range(3_000_000 // batch):
        trainer.iterate()
    assert trainer.evaluate(16, 1, greedy=False).statistics["goals"] > 2 * chance + 1

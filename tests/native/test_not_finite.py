"""A number that is not finite stops the run: environment, step and field are named; the last good checkpoint stays."""

from __future__ import annotations

import re

import pytest

from pufferlib.engine import NotFinite

from .conftest import put_tensors, tensors_of
from .small_environments import COUNT, write_environment
from .training_runs import assert_verifies, short_plan, write_plan

NAN, INFINITY = '__builtin_nanf("")', "__builtin_inff()"
# Environment 77 of 128 is in the second tile; step 37 is in the third iteration of 16 steps.
WHERE = "index_of(s) == 77 && s->age == 37"


def spoilt(kind):
    """(pieces of the environment, field, step)."""
    observe = "row[0][0] = (Observation)s->steps;"
    pay = f"out->reward[0] = ({WHERE}) ? %s : 1.0f; if (s->steps >= 10) truncate_all(out);"
    return {
        "observation": ({"observe": f"{observe} if ({WHERE}) row[0][2] = {NAN};"}, "observation[2]", 37),
        "infinite observation": ({"observe": f"{observe} if ({WHERE}) row[0][1] = -{INFINITY};"}, "observation[1]", 37),
        # The step that makes the age 37 is number 36: steps count from 0.
        "reward": ({"step": pay % INFINITY}, "reward", 36),
        "nan reward": ({"step": pay % NAN}, "reward", 36),
        "loss": ({"step": pay % "1e30f"}, "loss", 36),
        "largest loss": ({"step": pay % "-3e38f"}, "loss", 36),
    }[kind]


@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
@pytest.mark.parametrize(
    "kind", ["observation", "infinite observation", "reward", "nan reward", "loss", "largest loss"]
)
def test_environment_step_and_field_are_named(tmp_path, make_trainer, kind, activation):
    pieces, field, step = spoilt(kind)
    write_environment(tmp_path, "spoilt", **pieces)
    trainer = make_trainer("spoilt", tmp_path, activation=activation, gamma=0.0, workers=2)
    trainer.iterate()
    trainer.iterate()
    with pytest.raises(NotFinite) as caught:
        trainer.iterate()
    found = caught.value
    assert (found.field, found.environment, found.step) == (field, 77, step)
    assert "77" in str(found) and str(step) in str(found)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_last_observation_before_a_cut_is_looked_at(tmp_path, make_trainer, activation):
    """Nobody but the bootstrap ever sees it, and tanh would make a number of it."""
    observe = f"if (s->steps == 10 && index_of(s) == 77) row[0][2] = {NAN};"
    write_environment(tmp_path, "cut", observe=observe, step=COUNT)
    trainer = make_trainer("cut", tmp_path, activation=activation)
    with pytest.raises(NotFinite) as caught:
        trainer.iterate()
    assert (caught.value.field, caught.value.environment, caught.value.step) == ("observation[2]", 77, 10)


def test_what_an_ended_episode_showed_last_is_nobodys_business(tmp_path, make_trainer):
    """After a terminal step the observation is never used, so a number that makes no sense there stops nothing."""
    observe = f"if (s->steps == 10) row[0][2] = {NAN};"
    write_environment(tmp_path, "ended", observe=observe, step="if (s->steps >= 10) terminate_all(out);")
    trainer = make_trainer("ended", tmp_path)
    for _ in range(3):
        metrics = trainer.iterate()
    assert metrics.episodes == 128 * (48 // 10)


def test_the_agent_of_several_is_counted_to_its_environment(tmp_path, make_trainer):
    observe = f"if (index_of(s) == 29 && s->age == 21) row[3][1] = {NAN};"
    write_environment(tmp_path, "team", agents=5, observe=observe)
    trainer = make_trainer("team", tmp_path, num_envs=48, minibatch_size=48 * 5 * 16)
    trainer.iterate()
    with pytest.raises(NotFinite) as caught:
        trainer.iterate()
    assert (caught.value.field, caught.value.environment, caught.value.step) == ("observation[1]", 29, 21)
    assert "agent 3" in str(caught.value)


def test_rewards_that_add_up_to_infinity_are_named(tmp_path, make_trainer):
    pay = "out->reward[0] = index_of(s) == 77 && s->age >= 13 && s->age < 16 ? 3e38f : 0.0f;"
    write_environment(tmp_path, "rich", step=pay)
    trainer = make_trainer("rich", tmp_path, gamma=1.0, gae_lambda=1.0)
    with pytest.raises(NotFinite) as caught:
        trainer.iterate()
    # Backwards from step 14, which pays as step 13 does: from 13 on the sum is too large.
    assert (caught.value.field, caught.value.environment, caught.value.step) == ("advantage", 77, 13)


def test_a_gradient_is_traced_to_its_sample(tmp_path, make_trainer):
    """A huge but finite observation, heads so small that the loss stays finite, and a slope of gelu that overflows."""
    write_environment(tmp_path, "huge", observe=f"row[0][0] = (Observation)s->steps; if ({WHERE}) row[0][2] = 1e21f;")
    trainer = make_trainer("huge", tmp_path, activation="gelu", gamma=0.0, learning_rate=1e-12, workers=2)
    heads = tensors_of(trainer)
    put_tensors(trainer, {n: 1e-8 * heads[n] for n in ("policy.actor.weight", "policy.critic.weight")})
    trainer.iterate()
    trainer.iterate()
    with pytest.raises(NotFinite) as caught:
        trainer.iterate()
    assert caught.value.field == "gradient of hidden.0.weight"
    assert (caught.value.environment, caught.value.step) == (77, 37)


def test_the_weights_are_those_before_the_failing_update(tmp_path, make_trainer):
    from pufferlib.checkpoint import weights_digest

    write_environment(tmp_path, "spoilt", **spoilt("reward")[0])
    trainer, other = make_trainer("spoilt", tmp_path), make_trainer("spoilt", tmp_path)
    for _ in range(2):
        trainer.iterate()
        other.iterate()
    with pytest.raises(NotFinite):
        trainer.iterate()
    assert weights_digest(trainer.collect()) == weights_digest(other.collect())


def test_an_evaluation_stops_too(tmp_path, make_trainer):
    write_environment(
        tmp_path, "spoilt", observe=f"if (index_of(s) == 70 && s->steps == 40) row[0][0] = {NAN};", step=""
    )
    trainer = make_trainer("spoilt", tmp_path)
    with pytest.raises(NotFinite) as caught:
        trainer.evaluate(100, 1, max_steps=100)
    assert (caught.value.field, caught.value.environment, caught.value.step) == ("observation[0]", 70, 40)


@pytest.mark.parametrize("kind", ["observation", "reward", "loss"])
def test_the_command_exits_1_and_keeps_the_last_good_checkpoint(tmp_path, puffer, kind):
    pieces, field, step = spoilt(kind)
    outside, folder = tmp_path / "outside", tmp_path / "run"
    write_environment(outside, "spoilt", **pieces)
    write_plan(folder, short_plan("spoilt", outside, gamma=0.0))
    done = puffer("train", "--plan", folder / "plan.json", "--run-dir", folder)
    assert done.returncode == 1, done.stderr
    assert re.search(rf"field {re.escape(field)}, environment 77, step {step}$", done.stderr, re.M), done.stderr
    manifest = assert_verifies(folder)
    assert manifest["status"] == "stopped" and field in manifest["reason"]
    assert manifest["step"] == 2 * 128 * 16 and manifest["iteration"] == 2
    assert manifest["checkpoint"]["file"] in done.stderr
    assert puffer("eval", folder, "--episodes", 3, "--max-steps", 20).returncode == 0

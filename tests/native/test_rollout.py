"""What a horizon leaves behind: values, last observations, returns and lengths of episodes, means in order of time."""

from __future__ import annotations

import collections
import json
import math
import subprocess
from typing import Any

import numpy
import pytest

from pufferlib.build import CORE
from pufferlib.compiler import find_compiler

from .conftest import ROOT, pointer
from .small_environments import write_environment


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """rollout(...) of the engine over environments that can be worked out by hand."""
    program = tmp_path_factory.mktemp("rollout") / "driver"
    source = ROOT / "tests" / "native" / "rollout_driver.cpp"
    flags = ["-std=c++17", "-O1", "-march=native", f"-I{CORE}", f"-I{CORE / 'include'}"]
    subprocess.run([*find_compiler().command, *flags, str(source), "-o", str(program)], check=True, timeout=120)

    def run(*arguments):
        done = subprocess.run(
            [str(program), *map(str, arguments)], capture_output=True, text=True, timeout=30, check=True
        )
        found = json.loads(done.stdout)
        for name in ("values", "final_values", "terminals", "truncations", "actions", "log_probabilities"):
            found[name] = numpy.array(found[name]).reshape(-1, found["lanes"])
        return found

    return run


@pytest.mark.parametrize(("rows", "agents"), [(1, 1), (16, 1), (21, 1), (12, 3), (40, 8)])
def test_truncation_sees_the_last_observation_and_the_next_value_the_first(driver, rows, agents):
    horizon = 13
    found = driver(rows, agents, horizon, 1)
    count = [0] * rows
    ended, open_returns, open_lengths = [], [0.0] * rows, [0] * rows
    for t in range(horizon + 1):
        assert found["values"][t, :rows].tolist() == [100 * (lane + 1) + count[lane] for lane in range(rows)]
        if t == horizon:
            break
        for lane in range(rows):
            first = lane // agents * agents
            count[lane] += 1
            over = count[lane] == 3 + first % 4
            open_returns[lane] += lane + 1
            open_lengths[lane] += 1
            assert found["terminals"][t, lane] == (over and first % 2 == 1)
            assert found["truncations"][t, lane] == (over and first % 2 == 0)
            if over and first % 2 == 0:
                assert found["final_values"][t, lane] == 100 * (lane + 1) + 3 + first % 4
            if over:
                ended.append([t, lane, open_returns[lane], open_lengths[lane]])
                count[lane] = open_lengths[lane] = 0
                open_returns[lane] = 0.0
    assert found["agents"] == ended
    assert found["open_returns"] == open_returns and found["open_lengths"] == open_lengths
    assert len(found["environments"]) == len(ended) // agents


def test_actions_follow_their_probabilities_and_padding_stays_zero(driver):
    found = driver(20, 1, 2000, 3)
    drawn = found["actions"][:, :20]
    assert set(drawn.ravel()) == {0, 1}
    assert drawn.mean() == pytest.approx(0.5, abs=0.01)
    numpy.testing.assert_allclose(found["log_probabilities"][:, :20], math.log(0.5), rtol=1e-6)
    assert len({tuple(row) for row in drawn.T}) == 20, "agents draw apart"
    assert not found["terminals"][:, 20:].any() and not found["truncations"][:, 20:].any()
    assert (driver(20, 1, 2000, 3)["actions"] == found["actions"]).all()
    assert (driver(20, 1, 2000, 4)["actions"] != found["actions"]).any()


def test_a_bad_observation_is_named_by_step_and_lane(driver):
    assert driver(20, 1, 10, 1, 7, 2)["fault"] == [2, 7, 0]
    assert driver(20, 1, 10, 1)["fault"] == [-1, -1, -1]


def test_a_bad_last_observation_is_named_where_the_episode_was_cut_only(driver):
    """Lane 6 is truncated at count 5: what it saw last stands for its future. Lane 5 ends by the rules at 4."""
    assert driver(20, 1, 10, 1, 6, 5)["fault"] == [5, 6, 0]
    assert driver(20, 1, 10, 1, 5, 4)["fault"] == [-1, -1, -1]


EPISODES: dict[str, Any] = {
    # Environment i: episodes of 3 + i % 5 steps that pay i a step.
    "step": "out->reward[0] = (float)index_of(s); if (s->steps >= 3 + index_of(s) % 5) terminate_all(out);",
    "statistics": 'STATISTIC(index, "the environment\'s index") STATISTIC(age, "steps since the run began")',
    "finish": "out->index = (float)index_of(s); out->age = (float)s->age;",
}


@pytest.mark.parametrize("workers", [1, 3])
def test_means_are_over_the_last_hundred_episodes_in_order_of_time(tmp_path, make_trainer, workers):
    write_environment(tmp_path, "episodes", **EPISODES)
    trainer = make_trainer("episodes", tmp_path, num_envs=192, horizon=16, minibatch_size=1024, workers=workers)
    recent: collections.deque[tuple[int, int, int]] = collections.deque(maxlen=100)
    finished, step = 0, 0
    for _ in range(4):
        here = []
        for _ in range(16):
            step += 1
            for i in range(192):
                length = 3 + i % 5
                if step % length == 0:
                    here.append((i * length, length, i))
        recent.extend(here)
        finished += len(here)
        metrics = trainer.iterate()
        assert metrics.episodes == finished and metrics.recent_count == 100
        assert metrics.recent_return == pytest.approx(sum(e[0] for e in recent) / 100, rel=1e-6)
        assert metrics.recent_length == pytest.approx(sum(e[1] for e in recent) / 100, rel=1e-6)
        assert metrics.statistics_count == len(here)
        assert metrics.statistics[0] == pytest.approx(sum(e[2] for e in here) / len(here), rel=1e-6)


def test_before_the_first_episode_ends_nothing_is_claimed(tmp_path, make_trainer):
    write_environment(tmp_path, "endless", step="out->reward[0] = 1.0f;")
    trainer = make_trainer("endless", tmp_path, num_envs=64, horizon=8, minibatch_size=512)
    metrics = trainer.iterate()
    assert metrics.episodes == metrics.recent_count == 0
    assert math.isnan(metrics.recent_return) and math.isnan(metrics.recent_length)


def test_an_evaluation_is_cut_at_its_bound(tmp_path, make_trainer):
    write_environment(tmp_path, "endless", step="out->reward[0] = 2.0f;")
    trainer = make_trainer("endless", tmp_path, num_envs=64, horizon=8, minibatch_size=512)
    for bound in (1, 31, 32, 33, 100):
        played = trainer.evaluate(3, 1, max_steps=bound)
        assert played.lengths == [bound] * 3 and played.returns == [2.0 * bound] * 3


def test_an_evaluation_counts_the_first_episode_of_each_environment(tmp_path, make_trainer):
    write_environment(tmp_path, "episodes", **EPISODES)
    trainer = make_trainer("episodes", tmp_path, num_envs=64, horizon=8, minibatch_size=512)
    played = trainer.evaluate(130, 1)
    assert played.lengths == [3 + i % 5 for i in range(130)]
    assert played.returns == [float(i * (3 + i % 5)) for i in range(130)]
    assert played.statistics["index"] == pytest.approx(sum(range(130)) / 130)
    assert played.statistics["age"] == pytest.approx(sum(played.lengths) / 130)


@pytest.mark.parametrize(("cut", "value"), [("truncate_all", 10.0), ("terminate_all", (3.439 + 2.71 + 1.9 + 1.0) / 4)])
def test_values_learn_what_follows_a_truncated_step_and_nothing_after_a_terminal_one(
    tmp_path, make_trainer, cut, value
):
    """A reward of 1 a step, episodes of 4 steps that nothing observed tells apart, discount 0.9."""
    step = f"out->reward[0] = 1.0f; if (s->steps >= 4) {cut}(out);"
    write_environment(tmp_path, cut, step=step, observe="row[0][0] = 1.0f;")
    trainer = make_trainer(
        cut, tmp_path, num_envs=64, horizon=16, minibatch_size=1024, update_epochs=4, gamma=0.9, learning_rate=0.03,
        anneal_lr="cosine", total_timesteps=300 * 1024, vf_clip_coef=1e6, max_grad_norm=1e3,
    )  # fmt: skip
    for _ in range(300):
        trainer.iterate()
    x, out = numpy.zeros((3, 16), numpy.float32), numpy.empty((3, 16), numpy.float32)
    x[0] = 1
    trainer._library.puffer_test_forward(trainer._handle, pointer(x), 16, pointer(out))
    assert out[2, 0] == pytest.approx(value, rel=0.02)

"""One table of training settings: the engine's, the plan schema's and the profile's are the same."""

from __future__ import annotations

import ctypes
import json
import math

import pytest

from pufferlib import engine
from pufferlib.errors import PufferError
from pufferlib.plan import _POLICY, check_plan
from pufferlib.train_settings import ACTIVATIONS, NETWORKS, TRAIN_SETTINGS, check_setting

from .conftest import ROOT
from .training_runs import short_plan

SCHEMA = json.loads((ROOT / "schemas" / "plan.schema.json").read_text(encoding="utf-8"))
PROFILE = json.loads((ROOT / "native_profile" / "pins" / "4.0.json").read_text(encoding="utf-8"))


def test_the_schema_names_exactly_the_engines_settings():
    train = SCHEMA["properties"]["train"]
    assert set(PROFILE["train_defaults"]) == TRAIN_SETTINGS.keys() == set(train["required"])
    assert train["properties"].keys() >= TRAIN_SETTINGS.keys() and not train["additionalProperties"]


@pytest.mark.parametrize("name", TRAIN_SETTINGS)
def test_the_schema_has_the_engines_type_and_bounds(name):
    setting, declared = TRAIN_SETTINGS[name], SCHEMA["properties"]["train"]["properties"][name]
    kinds = {"int": "integer", "float": "number", "return": ["number", "null"], "choice": "string"}
    assert declared["type"] == kinds[setting.kind]
    if setting.kind == "choice":
        assert declared["enum"] == list(setting.choices)
    else:
        assert (declared["minimum"], declared["maximum"]) == (setting.low, setting.high)
    assert not {"exclusiveMinimum", "exclusiveMaximum", "multipleOf"} & declared.keys()


def test_the_profiles_defaults_are_the_engines():
    assert PROFILE["train_defaults"] == {name: s.default for name, s in TRAIN_SETTINGS.items()}
    assert PROFILE["policy_defaults"] == _POLICY


def test_the_schema_has_the_engines_policies():
    policy = SCHEMA["properties"]["policy"]["properties"]
    assert policy["network"]["enum"] == list(NETWORKS) and policy["activation"]["enum"] == list(ACTIVATIONS)
    hidden = policy["hidden"]
    assert (hidden["minItems"], hidden["maxItems"], hidden["items"]["minimum"], hidden["items"]["maximum"]) == (
        1,
        8,
        1,
        1024,
    )


def test_the_profile_states_the_librarys_tiles_and_slices():
    library, _ = engine.load_engine()
    assert PROFILE["tile_lanes"] == library.puffer_tile_lanes()
    assert PROFILE["slice_steps"] == library.puffer_slice_steps()


def test_every_default_is_within_its_own_bounds():
    for setting in TRAIN_SETTINGS.values():
        assert check_setting(setting, setting.default, setting.name) == setting.default


NUMBERS = [s for s in TRAIN_SETTINGS.values() if s.kind in ("int", "float")]


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda s: s.name)
def test_bounds_are_closed_and_what_lies_beyond_is_refused_with_the_nearest(setting):
    step = 1 if setting.kind == "int" else abs(setting.high) * 1e-6 + 1e-12
    for bound in (setting.low, setting.high):
        assert check_setting(setting, bound, "train.x") == bound
    for value in (setting.low - step, setting.high + step):
        with pytest.raises(PufferError, match=r"train\.x is .*expected .* to .*nearest: ") as caught:
            check_setting(setting, value, "train.x")
        assert caught.value.status == 2


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda s: s.name)
@pytest.mark.parametrize("value", [True, None, "1", math.nan, math.inf, [1], {}])
def test_what_is_no_number_is_refused(setting, value):
    with pytest.raises(PufferError, match=r"train\.x is "):
        check_setting(setting, value, "train.x")


def test_a_whole_number_is_not_a_float():
    with pytest.raises(PufferError, match="expected a whole number"):
        check_setting(TRAIN_SETTINGS["num_envs"], 8.0, "train.num_envs")


@pytest.mark.parametrize("key", [*short_plan(), "train.seed", "train.gamma"])
def test_a_plan_without_any_of_its_keys_is_refused_by_name(key):
    plan = short_plan()
    part, name = (plan["train"], key[6:]) if key.startswith("train.") else (plan, key)
    del part[name]
    with pytest.raises(PufferError, match=name):
        check_plan(plan, "plan")


def test_an_unknown_key_gets_the_nearest():
    plan = short_plan()
    plan["train"]["learnin_rate"] = 0.1
    with pytest.raises(PufferError, match=r"'learnin_rate'; did you mean 'learning_rate'"):
        check_plan(plan, "plan")
    with pytest.raises(PufferError, match=r"'polic'.*did you mean 'policy'"):
        check_plan(short_plan() | {"polic": 1}, "plan")


def test_a_library_with_another_layout_is_refused(monkeypatch):
    """As after an edit of the struct in C alone: the fields would be read from the wrong places."""
    fields = engine._config_fields()
    other = type("Other", (ctypes.Structure,), {"_fields_": [*fields, ("surplus", ctypes.c_int32)]})
    monkeypatch.setattr(engine, "_loaded", {})
    monkeypatch.setattr(engine, "TrainConfig", other)
    monkeypatch.setattr(engine, "_config_fields", lambda: [*fields, ("surplus", ctypes.c_int32)])
    with pytest.raises(PufferError, match="laid out as seed:0:8;"):
        engine.load_engine()


def test_a_library_with_another_interface_is_refused(monkeypatch):
    monkeypatch.setattr(engine, "_loaded", {})
    monkeypatch.setattr(engine, "ENGINE_ABI", 999)
    with pytest.raises(PufferError, match=r"interface .* expects 999"):
        engine.load_engine()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"minibatch_size": 1000}, "minibatch_size 1000 does not divide the batch of 128 environments"),
        ({"num_envs": 100, "minibatch_size": 800}, "num_envs 100 .* not a multiple of the tile's 64 .*nearest: 128"),
        ({"horizon": 12, "minibatch_size": 768}, "horizon 12 .* not a multiple of 8; nearest: 16"),
        ({"minibatch_size": 256}, "8 minibatches cannot share 4 slices"),
    ],
)
def test_combinations_that_cannot_run_are_refused_with_the_nearest(make_trainer, change, words):
    with pytest.raises(PufferError, match=words) as caught:
        make_trainer(**change)
    assert caught.value.status == 2

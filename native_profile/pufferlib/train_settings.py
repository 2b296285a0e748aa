"""The settings of a training run: name, type, default, bounds and meaning, declared once for engine and command line.

The plan's schema repeats the bounds for programs outside Python; a test holds the two equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import MISUSE, PufferError, unknown

ANNEALS = ("none", "linear", "cosine")
ACTIVATIONS = ("tanh", "relu", "gelu")
NETWORKS = ("mlp",)


@dataclass(frozen=True)
class TrainSetting:
    """One setting. ``kind``: int, float, return (float or null) or choice."""

    name: str
    kind: str
    default: Any
    low: float
    high: float
    help: str
    choices: tuple[str, ...] = ()


def _int(name: str, default: int, low: int, high: int, help: str) -> TrainSetting:
    return TrainSetting(name, "int", default, low, high, help)


def _float(name: str, default: float, low: float, high: float, help: str) -> TrainSetting:
    return TrainSetting(name, "float", default, low, high, help)


TRAIN_SETTINGS = {
    s.name: s
    for s in (
        _int("seed", 1, 0, 2**53 - 1, "reaches weights, environments, actions and shuffles"),
        _int(
            "total_timesteps", 20_000_000, 1, 2**53 - 1, "agent steps at which training ends; annealing runs over them"
        ),
        TrainSetting(
            "target_return", "return", None, -1e12, 1e12, "end when the last 100 episodes reach this mean return"
        ),
        _int("num_envs", 512, 1, 1_048_576, "environments stepped side by side"),
        _int("horizon", 32, 1, 65536, "steps of every environment between two updates"),
        _int(
            "minibatch_size", 4096, 1, 2**31 - 1, "samples of one optimizer step; divides num_envs x agents x horizon"
        ),
        _int("update_epochs", 4, 1, 100, "passes over a batch"),
        _float("learning_rate", 0.002, 1e-12, 10.0, "of Adam, before annealing"),
        TrainSetting(
            "anneal_lr", "choice", "linear", 0, 0, "how the learning rate falls over total_timesteps", ANNEALS
        ),
        _float("min_lr_ratio", 0.0, 0.0, 1.0, "share of the learning rate that annealing leaves"),
        _float("gamma", 0.99, 0.0, 1.0, "discount of a step"),
        _float("gae_lambda", 0.95, 0.0, 1.0, "decay of generalized advantage estimation"),
        _float("clip_coef", 0.2, 1e-6, 10.0, "policy ratios count up to 1 +- this"),
        _float("vf_coef", 0.5, 0.0, 1000.0, "weight of the value loss"),
        _float("vf_clip_coef", 10.0, 1e-6, 1e6, "values count up to this far from the old ones"),
        _float("ent_coef", 0.002, 0.0, 100.0, "weight of the entropy bonus"),
        _float("max_grad_norm", 0.5, 1e-9, 1e6, "longer gradients are shortened to this"),
        _float("adam_beta1", 0.9, 0.0, 0.999999, "decay of Adam's mean"),
        _float("adam_beta2", 0.999, 0.0, 0.99999999, "decay of Adam's square mean"),
        _float("adam_eps", 1e-8, 1e-16, 1.0, "added to Adam's root"),
        _int("checkpoint_interval", 50, 1, 1_000_000, "iterations between two checkpoints"),
    )
}


def check_setting(setting: TrainSetting, value: object, where: str) -> Any:
    """The value in the setting's type. Raises PufferError that names ``where``, what came and what is expected."""
    if setting.kind == "choice":
        if value not in setting.choices:
            raise PufferError(f"{where} is {value!r}, expected one of {', '.join(setting.choices)}", MISUSE)
        return value
    if setting.kind == "return" and value is None:
        return None
    wanted = int if setting.kind == "int" else (int, float)
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise PufferError(
            f"{where} is {value!r}, expected {'a whole number' if setting.kind == 'int' else 'a number'}", MISUSE
        )
    if not setting.low <= value <= setting.high:
        near = min(max(value, setting.low), setting.high) if value == value else setting.default
        near = int(near) if setting.kind == "int" else near
        raise PufferError(
            f"{where} is {value!r}, expected {setting.low:g} to {setting.high:g}; nearest: {near:g}", MISUSE
        )
    return value if setting.kind == "int" else float(value)


def check_policy(policy: object) -> dict[str, Any]:
    """The plan's ``policy`` part: network, hidden widths, activation."""
    if not isinstance(policy, dict):
        raise PufferError(f"policy is {policy!r}, expected an object", MISUSE)
    for key in policy:
        if key not in ("network", "hidden", "activation"):
            raise unknown("policy setting", str(key), ("network", "hidden", "activation"))
    network, hidden, activation = (policy.get(k) for k in ("network", "hidden", "activation"))
    if network not in NETWORKS:
        raise PufferError(f"policy.network is {network!r}, expected one of {', '.join(NETWORKS)}", MISUSE)
    if activation not in ACTIVATIONS:
        raise PufferError(f"policy.activation is {activation!r}, expected one of {', '.join(ACTIVATIONS)}", MISUSE)
    if not isinstance(hidden, list) or not 1 <= len(hidden) <= 8:
        raise PufferError(f"policy.hidden is {hidden!r}, expected a list of 1 to 8 layer widths", MISUSE)
    for width in hidden:
        if isinstance(width, bool) or not isinstance(width, int) or not 1 <= width <= 1024:
            raise PufferError(f"policy.hidden holds {width!r}, expected whole numbers from 1 to 1024", MISUSE)
    return {"network": network, "hidden": hidden, "activation": activation}

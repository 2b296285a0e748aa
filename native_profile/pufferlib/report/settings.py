"""The plan's settings as the page lists them: groups of name, value and one line that says what it means."""

from __future__ import annotations

from typing import Any

MEANINGS = {
    "seed": "every random number of the run follows from it",
    "total_timesteps": "steps after which training ends at the latest",
    "target_return": "mean return of the last 100 episodes at which training ends",
    "num_envs": "environments stepped side by side",
    "horizon": "steps that each environment takes between two updates",
    "minibatch_size": "steps in one gradient update",
    "update_epochs": "passes over each batch",
    "learning_rate": "step size of Adam at the start",
    "anneal_lr": "how the learning rate falls over the run",
    "min_lr_ratio": "where it ends, as a part of where it starts",
    "gamma": "discount of later rewards",
    "gae_lambda": "bias against variance in the advantage estimate",
    "clip_coef": "how far one update may move the policy",
    "vf_coef": "weight of the value loss",
    "vf_clip_coef": "how far one update may move the value",
    "ent_coef": "weight of the entropy bonus",
    "max_grad_norm": "longer gradients are scaled down to this",
    "adam_beta1": "decay of the gradient's mean",
    "adam_beta2": "decay of the gradient's mean square",
    "adam_eps": "keeps the division of Adam finite",
    "checkpoint_interval": "updates between two checkpoints",
    "network": "kind of network",
    "hidden": "widths of the hidden layers",
    "activation": "what each hidden unit applies",
    "episodes": "finished episodes that the evaluation averages",
    "wall_seconds": "the gate ends the run after this time",
    "memory_mb": "most memory the run may take",
    "disk_mb": "most the run may write",
    "device": "where the run computes",
    "backend": "what environments run in",
    "num_workers": "threads; 0 is every core that the run may use",
    "path": "folder of an environment kept outside the tree",
    "profile": "engine that ran",
}
# The same name means something else there.
MEANINGS_IN = {
    "evaluation": {"seed": "its own, so that nothing seen in training repeats"},
    "run": {"network": "hosts that the run may reach"},
}
ORDER = {name: place for place, name in enumerate(MEANINGS)}


def settings_groups(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Groups ``{"title", "rows": [[name, value, meaning], ...]}`` of a plan, ``cleaned`` before."""
    environment = _section(plan, "environment")
    own = environment.pop("settings", None)
    for said_elsewhere in ("name", "api"):
        environment.pop(said_elsewhere, None)
    environment_rows = _rows("environment", environment)
    environment_rows += [[name, shown(value), ""] for name, value in own.items()] if isinstance(own, dict) else []
    run: dict[str, Any] = {name: plan[name] for name in ("profile", "device", "network") if name in plan}
    run |= _section(plan, "vectorization")
    groups = [
        ("Training", _rows("train", _section(plan, "train"))),
        ("Policy", _rows("policy", _section(plan, "policy"))),
        ("Environment", environment_rows or [["settings", "all at their defaults", ""]]),
        ("Evaluation", _rows("evaluation", _section(plan, "evaluation"))),
        ("Limits", _rows("limits", _section(plan, "limits"))),
        ("Run", _rows("run", run)),
    ]
    return [{"title": title, "rows": rows} for title, rows in groups if rows] if plan else []


def shown(value: Any) -> str:
    """One setting as text: thousands separated, an empty list as ``none``, null as ``none``."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**18 else f"{value:.6e}"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(shown(item) for item in value) or "none"
    return ", ".join(f"{name}: {shown(item)}" for name, item in value.items()) or "none"


def _section(plan: dict[str, Any], name: str) -> dict[str, Any]:
    section = plan.get(name)
    return dict(section) if isinstance(section, dict) else {}


def _rows(title: str, section: dict[str, Any]) -> list[list[str]]:
    """Known names in the order of a training set-up, then the others as the plan has them."""
    special = MEANINGS_IN.get(title, {})
    rows = []
    for name in sorted(section, key=lambda name: ORDER.get(name, len(ORDER))):
        value = section[name]
        text = str(value) if name == "seed" and isinstance(value, int) else shown(value)
        rows.append([name, text, special.get(name, MEANINGS.get(name, ""))])
    return rows

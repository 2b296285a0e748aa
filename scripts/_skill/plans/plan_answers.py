"""What the planning tools say to people: a plan in short, and what one field means."""

from __future__ import annotations

from typing import Any

from .. import text
from ..findings import COULD_NOT, OK, Finding, Refusal, Report
from . import other_version_lines, plan_fields
from . import profile as profiles
from .plan import Plan
from .plan_environment import PlanEnvironment
from .plan_making import Made
from .plan_numbers import PlanNumbers


def summary(
    plan: Plan, environment: PlanEnvironment, numbers: PlanNumbers, made: Made, tier: str, tier_reasons: list[str]
) -> list[str]:
    """A plan in short, its derived numbers, and each field with the reason for its value."""
    header, train = environment.header, plan.train
    what = f"{text.escaped(header.title)}: {text.escaped(header.task)}" if header else f"{environment.name}, {plan.api}"
    of_segments = f" ({numbers.minibatch_segments} segments)" if numbers.minibatch_segments else ""
    shared = f"shared mem  {text.byte_count(numbers.shared_memory_bytes)}" if numbers.shared_memory_bytes else ""
    lines = [
        f"environment {what}",
        f"batch       {numbers.agents} agents x {train['horizon']} steps = {numbers.batch}, "
        f"{numbers.segments} segments",
        f"minibatches {numbers.minibatches} of {train['minibatch_size']}{of_segments}, {train['update_epochs']} epochs",
        f"budget      {train['total_timesteps']} steps = {numbers.iterations} iterations, "
        f"{numbers.gradient_steps} gradient steps",
        f"storage     {text.byte_count(numbers.rollout_bytes)} a batch, "
        f"{text.byte_count(numbers.observation_bytes)} of them observations",
        f"disk        {text.byte_count(numbers.disk_bytes)}, {text.byte_count(numbers.checkpoint_bytes)} a checkpoint",
        f"tier        {tier}" + "".join(f"\n            because {reason}" for reason in tier_reasons),
    ]
    if shared:
        lines.insert(-1, shared)
    lines.append("why")
    for name, reason in made.reasons.items():
        lines.append(f"  {name:<29} {_short(_at(made.document, name)):<14} {reason}")
    return lines


def explain(name: str, profile: str, made: Made | None, report: Report) -> int:
    """What a field is; a name that is none is wrong use, with the nearest one."""
    fields = plan_fields.every()
    found = name if name in fields else None
    tails = [known for known in fields if known.rsplit(".", 1)[-1] == name]
    if found is None and len(tails) == 1:
        found = tails[0]
    if found is None:
        raise _unknown(name, sorted(fields), tails)
    field = fields[found]
    engine = profiles.load(profile)
    default, why = _default(found, engine.name, made)
    report.results["field"] = {**field._asdict(), "default": default, "why": why}
    rows = [("meaning", field.meaning), ("type", field.kind), ("bounds", field.bounds)]
    rows += [("default", f"{_short(default)}: {why}" if why else "none: it has to be said"), ("see", field.interacts)]
    report.say(found, *(f"  {label:<8} {value}" for label, value in rows if value))
    inner = [f"{known:<28} {other.meaning}" for known, other in fields.items() if known.startswith(f"{found}.")]
    report.say(*(f"  {line}" for line in inner))
    return report.finish(OK, "") if report.as_json else OK


def _default(name: str, profile: str, made: Made | None) -> tuple[Any, str]:
    if made is not None and name in made.reasons:
        return _at(made.document, name), made.reasons[name]
    engine = profiles.load(profile)
    section, _, key = name.partition(".")
    defaults = {
        "train": engine.train_defaults,
        "policy": engine.policy_defaults,
        "vectorization": engine.vectorization_defaults,
        **{part: value for part, value in engine.section_defaults.items() if isinstance(value, dict)},
    }
    if key in defaults.get(section, {}):
        return defaults[section][key], f"default of profile {profile}; an environment's train.json may say otherwise"
    if section in engine.section_defaults and not key:
        return engine.section_defaults[section], f"default of profile {profile}"
    return None, ""


def _unknown(name: str, known: list[str], tails: list[str]) -> Refusal:
    option = other_version_lines.OPTIONS.get(name.rsplit(".", 1)[-1].replace("-", "_"))
    near = text.nearest(name, known)
    message, fix = f"a plan has no field {text.shown(name)}", f"did you mean {near}?" if near else ""
    if tails:
        fix = "did you mean " + " or ".join(tails) + "?"
    elif option is not None:
        message += f", an option of {option.line}"
        fix = f"the field is {option.here}" if option.here else option.remark
    return Refusal(Finding("use.field", message, want=text.listed(known), fix=fix), exit_status=COULD_NOT)


def _at(document: dict[str, Any], name: str) -> Any:
    value: Any = document
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _short(value: Any) -> str:
    return text.shown(value, 60)

"""One module for each API: it drives an environment through its own calls and answers in one form, frames of rows."""

from __future__ import annotations

from typing import Any

from ..subject import Broken, Subject
from . import aec, gymnasium_api, parallel, puffer, puffer_simple, vector
from .api import Api

# Asked in this order: the first that knows the environment takes it.
FORMS: tuple[type[Api], ...] = (
    vector.VectorApi,
    puffer.PufferApi,
    aec.AecApi,
    parallel.ParallelApi,
    puffer_simple.SimplePufferApi,
    gymnasium_api.GymnasiumApi,
)


def choose(subject: Subject, environment: Any, wanted: str) -> type[Api]:
    """The API of an environment: the one that the user names, or the first that fits."""
    if wanted == "auto":
        for form in FORMS:
            if form.fits(environment):
                return form
    else:
        named = [form for form in FORMS if form.name == wanted]
        for form in named:
            if form.fits(environment):
                return form
        if named:
            subject.finding(
                "api.other",
                f"the environment does not have the attributes of {wanted}",
                got=_attributes(environment),
                want=named[-1].wants,
                fix="leave --api out to have the API found",
                check="signature",
            )
            raise Broken("api")
    subject.finding(
        "api.unknown",
        "no API that the check knows",
        got=_attributes(environment),
        want="; ".join(f"{form.name}: {form.wants}" for form in FORMS),
        fix="name a class or function that makes an environment",
        check="signature",
    )
    raise Broken("api")


def _attributes(environment: Any) -> str:
    names = ("observation_space", "action_space", "single_observation_space", "num_envs", "num_agents", "agents")
    there = [name for name in (*names, "possible_agents", "agent_selection", "reset", "step") if has(environment, name)]
    return f"{type(environment).__name__} with {', '.join(there) or 'none of the attributes of an environment'}"


def has(environment: Any, name: str) -> bool:
    """hasattr, where a property may raise anything."""
    from .api import has as has_attribute

    return has_attribute(environment, name)

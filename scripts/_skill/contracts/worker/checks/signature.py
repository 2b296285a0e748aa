"""The calls: what `reset` and `step` take and give. The APIs send the findings; this adds the arguments of reset."""

from __future__ import annotations

from typing import Any

from ..apis.api import Api, signature, takes
from ..subject import At
from . import check


class Check(check.Check):
    """The API's generation, and what `reset` takes."""

    title = "calls: reset and step, generation of the API"
    order = 15

    def spaces(self, api: Api) -> None:
        """The arguments of the innermost `reset`: wrappers take anything and pass it on."""
        self.detail = f"{api.name} {api.form}".strip()
        if api.form == "simple":
            return
        reset = self.innermost(api)
        codes = {"seed": "api.reset_seed", "options": "api.reset_options"}
        wanted = ("seed",) if api.name == "pufferenv" else ("seed", "options")
        for name in wanted:
            if not takes(reset, name):
                self.subject.finding(
                    codes[name],
                    f"reset takes no {name}",
                    At("reset"),
                    got=f"reset{signature(reset)}",
                    want="reset(self, *, seed=None, options=None)" if len(wanted) > 1 else "reset(self, seed=0)",
                    severity="error" if name == "seed" else "warning",
                )

    def innermost(self, api: Api) -> Any:
        """`reset` of the environment inside its wrappers."""
        inner = api.environment
        try:
            inner = getattr(inner, "unwrapped", inner)
        except Exception:  # noqa: BLE001 - a property of an environment may raise anything
            inner = api.environment
        return getattr(inner, "reset", api.environment.reset)

"""The lives of agents: dying, staying away, coming back. The APIs follow them; this names the check."""

from __future__ import annotations

from ..apis.api import Api
from . import check


class Check(check.Check):
    """`agents`, `possible_agents` and the dicts by agent; for AEC the turns and the cumulative rewards too."""

    title = "agents: lives, turns, dicts"
    order = 35
    apis = ("pettingzoo-parallel", "pettingzoo-aec")

    def finish(self, api: Api) -> None:
        """Says how many agents there are and how many came back."""
        lives = getattr(api, "lives", None)
        if lives is not None and lives.revivals:
            self.detail = f"{api.agents()} agents, {lives.revivals} revivals"
        else:
            self.detail = f"{api.agents()} agents"

"""The order of calls: step before reset, reset in the middle, step after the end, and a clean start after each."""

from __future__ import annotations

from typing import Any

from ..apis.api import Api, stacked
from ..rollout import chooser
from ..subject import At, Broken
from . import check

STEPS = 300


class Check(check.Check):
    """What an environment does when it is called out of order must not hurt the next episode."""

    title = "order of calls"
    order = 90

    def after(self) -> None:
        """Two fresh environments, called out of order."""
        before = self.before_reset()
        after = self.after_end()
        self.detail = f"step before reset {before}; step after the end {after}"

    def before_reset(self) -> str:
        """`step` first: it may raise; then `reset` has to work."""
        api: Api = self.subject.new()
        choose = chooser(api, 3)
        if api.name.startswith("pettingzoo"):
            action: Any = {} if api.name.endswith("parallel") else None
        elif api.batched:
            action = stacked(api.action_space(0), [choose(key, None) for key in api.keys()])
        else:
            action = choose("", None)
        fine, said = self.subject.attempt(At("step"), api.environment.step, action)
        fine_reset, error = self.subject.attempt(At("reset"), lambda: api.reset(int(self.subject.job["seed"])))
        if fine_reset and not api.ended:
            fine_reset, error = self.subject.attempt(At("step"), lambda: api.step(choose))
        if not fine_reset:
            self.subject.finding(
                "order.reset_after_step",
                "the episode after a step that came too early does not begin",
                At("reset"),
                got=str(error),
                want="reset begins an episode whatever came before",
            )
        else:
            api.close()
        return "is let through" if fine else f"raises {str(said).split(':')[0]}"

    def after_end(self) -> str:
        """To the end of an episode, one step more, then a reset that must work and not end at once."""
        api: Api = self.subject.new()
        if api.batched:
            api.close()
            return "goes on by itself"
        choose = chooser(api, 3)
        seed = int(self.subject.job["seed"])
        api.reset(seed)
        for _ in range(self.subject.affordable(min(STEPS, int(self.subject.job["steps"])), 1)):
            if api.ended or self.subject.late():
                break
            api.step(choose)
        if not api.ended:
            api.close()
            return "was not tried: no end was reached"
        if api.name == "gymnasium" or api.form == "simple":
            action = choose("", api.last.get(""))
            fine, said = self.subject.attempt(At("step"), api.environment.step, action)
        else:
            fine, said = self.subject.attempt(At("step"), api.environment.step, {} if api.form == "" else None)
        working, error = self.subject.attempt(At("reset"), lambda: api.reset(seed))
        if not working or api.ended:
            self.subject.finding(
                "order.reset_after_end",
                "the episode after the end does not begin",
                At("reset", api.episode, 0),
                got=str(error) if not working else "no agent is alive",
                want="reset begins an episode whatever came before",
            )
            raise Broken("reset")
        api.close()
        return "is let through" if fine else f"raises {str(said).split(':')[0]}"

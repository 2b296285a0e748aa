"""The lives of agents: who is alive, who ended, who came back, in either of PettingZoo's APIs."""

from __future__ import annotations

from typing import Any

from ..subject import At, Broken, Subject
from ..values import words

REVIVALS = 200
"""How many revivals are sent one by one."""


class Lives:
    """Follows the agents of one episode."""

    def __init__(self, subject: Subject, respawn: bool) -> None:
        self.subject = subject
        self.respawn = respawn
        self.finished: dict[Any, int] = {}
        """Agents that ended in this episode, and the step at which they did."""
        self.revivals = 0

    def begin(self) -> None:
        """A new episode."""
        self.finished.clear()

    def listed(self, agents: Any, possible: Any, at: At) -> list[Any]:
        """The environment's `agents`, checked: a list without doubles, of possible agents."""
        if not isinstance(agents, (list, tuple)):
            self._finding("agents.list", "agents is no list", at, words(agents), "a list of agent names")
            raise Broken(at.call)
        found = list(agents)
        doubles = [agent for index, agent in enumerate(found) if agent in found[:index]]
        if doubles:
            place = at._replace(agent=str(doubles[0]))
            self._finding("agents.duplicate", "an agent is listed twice", place, str(doubles[0]), "each agent once")
        if isinstance(possible, (list, tuple)):
            unknown = [agent for agent in found if agent not in possible]
            if unknown:
                place = at._replace(agent=str(unknown[0]))
                want = f"one of possible_agents: {list(possible)[:8]}"
                self._finding("agents.unknown", "an agent is not in possible_agents", place, str(unknown[0]), want)
        return found

    def present(self, name: str, values: Any, agents: list[Any], at: At) -> bool:
        """Whether a dict speaks of every agent that it has to; each missing one is a finding."""
        if not isinstance(values, dict):
            self._finding(
                "agents.dict", f"{name} is no dict", at, words(values), "a dict with one entry for each agent"
            )
            raise Broken(at.call)
        missing = [agent for agent in agents if agent not in values]
        for agent in missing[:3]:
            self._finding(
                "agents.missing",
                f"a live agent is missing from the {name}",
                at._replace(agent=str(agent)),
                f"{name} of {sorted(map(str, values))[:8]}",
                f"an entry for {agent}",
            )
        return not missing

    def known(self, name: str, values: dict[Any, Any], agents: list[Any], at: At) -> None:
        """A dict speaks of agents only: a key such as `__all__` is an agent to whoever goes through it."""
        for agent in [agent for agent in values if agent not in agents][:1]:
            self._finding(
                "agents.unknown",
                f"the {name} speak of an agent that does not exist",
                at._replace(agent=str(agent)),
                f"{name} of {sorted(map(str, values))[:8]}",
                f"some of {list(dict.fromkeys(map(str, agents)))[:8]}",
                "PettingZoo has no such key: the episode is over when agents is empty" if agent == "__all__" else "",
            )

    def after(self, before: list[Any], ended: set[Any], now: list[Any], at: At) -> None:
        """Compares who was alive, who ended in this step and who is listed now."""
        for agent in now:
            place = at._replace(agent=str(agent))
            if agent in ended:
                if self.respawn and agent not in self.finished:
                    self.revived(agent, place, at.step)
                    continue
                self._finding(
                    "agents.still_listed",
                    "an agent ended and is still in agents",
                    place,
                    f"agents {list(map(str, now))[:8]}",
                    "agents without the ones that ended",
                    "remove it, or use --respawn if it comes back at once",
                )
            elif agent in self.finished:
                self.revived(agent, place, self.finished.pop(agent))
        for agent in before:
            if agent not in now and agent not in ended:
                self._finding(
                    "agents.vanished",
                    "an agent left agents without having ended",
                    at._replace(agent=str(agent)),
                    f"agents {list(map(str, now))[:8]}",
                    "terminated or truncated true in the step in which it leaves",
                )
        for agent in ended:
            self.finished[agent] = at.step

    def revived(self, agent: Any, place: At, ended: int) -> None:
        """An agent that ended is alive again: a finding, or a line of the report."""
        self.revivals += 1
        if self.respawn:
            if self.revivals <= REVIVALS:
                self.subject.channel.send(
                    "revival", agent=str(agent), episode=place.episode, ended=ended, revived=place.step
                )
            return
        self._finding(
            "agents.revived",
            "an agent ended and came back in the same episode",
            place,
            f"ended at step {ended}, listed again at step {place.step}",
            "an agent that ended stays away until the next reset",
            "use --respawn if agents come back by design",
        )

    def _finding(self, code: str, message: str, at: At, got: str, want: str, fix: str = "") -> None:
        self.subject.finding(code, message, at, got=got, want=want, fix=fix, check="agents")

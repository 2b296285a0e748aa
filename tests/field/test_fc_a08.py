"""FC-A08: agents that die, stay listed, or come back.

Each is a finding with the agent and the step, and never a crash of the check.
"""

from __future__ import annotations

from pathlib import Path

from .conftest import Answer, Tool
from .environment_files import place_of, written

PROGRAM = """import numpy
from gymnasium import spaces
from pettingzoo import ParallelEnv


class Base(ParallelEnv):
    metadata = {"name": "case"}

    def __init__(self):
        self.possible_agents = ["a", "b"]
        self.box = spaces.Box(0, 99, (1,), numpy.float32)
        self.moves = {"a": spaces.Discrete(2), "b": spaces.Discrete(2)}

    def observation_space(self, agent):
        return self.box

    def action_space(self, agent):
        return self.moves[agent]

    def reset(self, seed=None, options=None):
        self.agents = ["a", "b"]
        self.count = 0
        return {agent: numpy.zeros(1, numpy.float32) for agent in self.agents}, {"a": {}, "b": {}}

    def dead(self):
        return {"b"} if self.count == 2 else {"a", "b"} if self.count >= 6 else set()

    def step(self, actions):
        self.count += 1
        live = list(self.agents)
        dead = self.dead()
        found = (
            {agent: numpy.full(1, self.count, numpy.float32) for agent in live},
            dict.fromkeys(live, 1.0),
            {agent: agent in dead for agent in live},
            dict.fromkeys(live, False),
            {agent: {} for agent in live},
        )
        self.after(found, dead)
        return found

    def after(self, found, dead):
        self.agents = [agent for agent in self.agents if agent not in dead]


class Honest(Base):
    pass


class Keeps(Base):
    def after(self, found, dead):
        pass


class Returns(Base):
    def after(self, found, dead):
        super().after(found, dead)
        if self.count == 3:
            self.agents.append("b")
            found[0]["b"] = numpy.zeros(1, numpy.float32)


class AtOnce(Base):
    def after(self, found, dead):
        if self.count >= 6:
            self.agents = []


class Missing(Base):
    def after(self, found, dead):
        super().after(found, dead)
        if self.count == 1:
            del found[0]["b"]


class Flags(Base):
    def after(self, found, dead):
        super().after(found, dead)
        if self.count == 1:
            del found[2]["b"]
"""


def check(tool: Tool, folder: Path, name: str, *options: str) -> Answer:
    return tool("check_env", written(folder, PROGRAM, name), "--steps", "30", *options)


def test_an_agent_that_ended_and_stays_listed_is_an_error(tool: Tool, tmp_path: Path) -> None:
    finding = check(tool, tmp_path, "Keeps").finding("agents.still_listed")
    assert place_of(finding)["agent"] == "b" and place_of(finding)["step"] == 2


def test_an_agent_that_comes_back_is_an_error_by_default(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, "Returns")
    finding = answer.finding("agents.revived")
    assert answer.exit_status == 1
    assert finding["got"] == "ended at step 2, listed again at step 3"
    assert "--respawn" in finding["fix"]


def test_with_the_named_opt_in_every_revival_is_reported(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, "Returns", "--respawn")
    assert (answer.exit_status, answer.codes) == (0, [])
    assert "agent b came back: ended at step 2, listed again at step 3 of episode 0" in answer.report["notes"]
    assert len([note for note in answer.report["notes"] if "came back" in note]) >= 3


def test_an_agent_that_is_there_again_at_once_needs_the_opt_in_too(tool: Tool, tmp_path: Path) -> None:
    assert "agents.still_listed" in check(tool, tmp_path, "AtOnce").codes
    assert check(tool, tmp_path, "AtOnce", "--respawn").codes == []


def test_a_live_agent_without_an_observation_is_a_finding_and_no_crash(tool: Tool, tmp_path: Path) -> None:
    finding = check(tool, tmp_path, "Missing").finding("agents.missing")
    assert place_of(finding)["agent"] == "b" and place_of(finding)["step"] == 1
    assert "observations" in finding["message"]


def test_a_live_agent_without_a_flag_is_one_too(tool: Tool, tmp_path: Path) -> None:
    assert "terminations" in check(tool, tmp_path, "Flags").finding("agents.missing")["message"]


def test_agents_that_end_one_after_the_other_have_no_finding(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, "Honest")
    assert (answer.exit_status, answer.codes) == (0, [])

"""Findings that few environments earn, each by the smallest change of an honest one."""

from __future__ import annotations

from pathlib import Path

import pytest

from _skill.findings import Refusal

from .conftest import Checked, codes

HERE = Path(__file__).parent
GYMNASIUM = "import gymnasium, numpy, os\nfrom gymnasium import spaces\nfrom faulty_gymnasium import Honest\n\n\n"
PETTINGZOO = "import numpy\nfrom gymnasium import spaces\nfrom faulty_pettingzoo import Turns, Walkers\n\n\n"
PUFFER = "from faulty_puffer import Counters\n\n\n"
CHANGES = {
    "aec.attribute": PETTINGZOO + "class Case(Turns):\n    def reset(self, seed=None, options=None):\n"
    "        super().reset(seed)\n        del self.infos\n",
    "aec.step": PETTINGZOO
    + "class Case(Turns):\n    def step(self, action):\n        super().step(action)\n        return 1\n",
    "agents.list": PETTINGZOO
    + "class Case(Walkers):\n    def reset(self, seed=None, options=None):\n        found = super().reset(seed)\n"
    "        self.agents = {'a', 'b'}\n        return found\n",
    "agents.after_death": PETTINGZOO
    + "class Case(Walkers):\n    def step(self, actions):\n        found = super().step(actions)\n"
    "        if self.count > 4:\n            found[0]['b'] = numpy.zeros(2, numpy.float32)\n        return found\n",
    "api.last": PETTINGZOO + "class Case(Turns):\n    def last(self, observe=True):\n        return None\n",
    "api.num_agents": PUFFER
    + "class Case(Counters):\n    def __init__(self, buf=None):\n        super().__init__(buf)\n"
    "        self.num_agents = 0\n",
    "api.reset_options": GYMNASIUM
    + "class Case(Honest):\n    def reset(self, *, seed=None):\n        return super().reset(seed=seed)\n",
    "api.unknown": "class Case:\n    def reset(self):\n        pass\n\n    def step(self):\n        pass\n",
    "buffer.missing": PUFFER
    + "class Case(Counters):\n    def __init__(self, buf=None):\n        super().__init__(buf)\n"
    "        self.rewards = None\n",
    "environment.processes": GYMNASIUM
    + "class Case(Honest):\n    def reset(self, **named):\n        while os.fork() == 0:\n            pass\n"
    "        os.wait()\n        return super().reset(**named)\n",
    "info.key": GYMNASIUM
    + "class Case(Honest):\n    def step(self, action):\n        return (*super().step(action)[:4], {1: 2})\n",
    "metadata.old": GYMNASIUM + "class Case(Honest):\n    metadata = {'render.modes': []}\n",
    "metadata.type": GYMNASIUM + "class Case(Honest):\n    metadata = []\n",
    "order.reset_after_step": GYMNASIUM + "class Case(Honest):\n    early = False\n\n    def step(self, action):\n"
    "        self.early = self.early or not hasattr(self, '_begun')\n        return super().step(action)\n\n"
    "    def reset(self, **named):\n        if self.early:\n            raise RuntimeError('too late')\n"
    "        self._begun = True\n        return super().reset(**named)\n",
    "space.bounds": GYMNASIUM + "class Case(Honest):\n    def __init__(self):\n        super().__init__()\n"
    "        self.observation_space.low = self.observation_space.low[:-1]\n",
    "space.dtype": GYMNASIUM + "class Case(Honest):\n    def __init__(self):\n        super().__init__()\n"
    "        self.observation_space.dtype = numpy.dtype(complex)\n",
    "space.empty": GYMNASIUM + "class Case(Honest):\n    def __init__(self):\n        super().__init__()\n"
    "        self.observation_space = spaces.Box(0, 1, (0,))\n",
    "space.sizes": GYMNASIUM
    + "class Case(Honest):\n    def __init__(self):\n        super().__init__()\n        self.action_space.n = 0\n",
    "space.too_many": GYMNASIUM + "class Case(Honest):\n    def __init__(self):\n        super().__init__()\n"
    "        self.observation_space = spaces.Tuple([spaces.Discrete(2)] * 1200)\n",
    "space.old_gym": GYMNASIUM + "class Old(spaces.Discrete):\n    pass\n\n\nOld.__module__ = 'gym.spaces'\n\n\n"
    "class Case(Honest):\n    def __init__(self):\n        super().__init__()\n        self.action_space = Old(2)\n",
}


@pytest.mark.parametrize("code", CHANGES)
def test_the_finding_has_its_code(check: Checked, tmp_path: Path, code: str) -> None:
    for path in HERE.glob("faulty_*.py"):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "case.py").write_text(CHANGES[code])
    contract = check(f"{tmp_path}/case.py:Case", steps=30, seconds=20)
    assert code in codes(contract), contract.findings


def test_an_api_that_does_not_fit_is_named(check: Checked) -> None:
    assert "api.other" in codes(check("honest_gymnasium.py:Honest", api="pettingzoo-aec"))


def refused(check: Checked, words: str, **options: str) -> str:
    with pytest.raises(Refusal) as refusal:
        check(words, **options)
    assert refusal.value.exit_status == 2
    return refusal.value.findings[0].code


def test_an_interpreter_that_is_none_or_too_old_is_exit_2(check: Checked, tmp_path: Path) -> None:
    programs = {
        "python.start": "no program\n",
        "check.start": "#!/bin/sh\nexit 0\n",
        "python.version": '#!/bin/sh\necho \'{"kind":"old_python","version":"3.8"}\' > /proc/self/fd/$4\n',
    }
    for code, text in programs.items():
        path = tmp_path / "python3"
        path.write_text(text)
        path.chmod(0o755)
        assert refused(check, "honest_gymnasium.py:Honest", python=str(path)) == code


def test_a_folder_without_a_header_is_exit_2(check: Checked, tmp_path: Path) -> None:
    assert refused(check, str(tmp_path)) == "target.folder"

"""The source is read and never run, and each kind of thing to look at is named with its line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from _skill.contracts import static
from _skill.findings import Refusal

ROOT = Path(__file__).resolve().parents[2]
BODY = """import gymnasium
import numpy as np
{top}

class Env(gymnasium.Env):
    {member}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        {reset}
        return self.observation(), {{}}

    def step(self, action):
        {step}
        return self.observation(), 0.0, False, False, {{}}

    def observation(self):
        return np.zeros(3, dtype=np.float32)
"""
PLACES = ("top", "member", "reset", "step")


def written(folder: Path, **lines: str) -> str:
    path = folder / "case.py"
    path.write_text(BODY.format(**{place: lines.get(place, "pass") for place in PLACES}))
    return str(path)


CASES = [
    ("top", "import socket", "static.network"),
    ("top", "from urllib import request", "static.network"),
    ("step", "import requests", "static.network"),
    ("step", "import os; os.system('true')", "static.process"),
    ("step", "import subprocess as s; s.run(['true'])", "static.process"),
    ("reset", "import multiprocessing; multiprocessing.Process(target=print)", "static.process"),
    ("step", "open('x', 'w')", "static.write"),
    ("step", "open('x', mode='ab')", "static.write"),
    ("reset", "import pathlib; pathlib.Path('x').write_text('y')", "static.write"),
    ("reset", "import shutil; shutil.rmtree('x')", "static.write"),
    ("step", "eval('1')", "static.code"),
    ("step", "exec('1')", "static.code"),
    ("reset", "import pickle; pickle.load(None)", "static.code"),
    ("reset", "from pickle import loads; loads(b'')", "static.code"),
    ("reset", "import torch; torch.load('x')", "static.code"),
    ("reset", "import threading; threading.Thread(target=print)", "static.thread"),
    ("step", "print('x')", "static.print"),
    ("reset", "np.random.seed(1)", "static.global_random"),
    ("step", "np.random.rand()", "static.global_random"),
    ("step", "import random; random.choice([1])", "static.global_random"),
    ("step", "from numpy.random import rand; rand()", "static.global_random"),
    ("reset", "self.rng = np.random.default_rng(0)", "static.fixed_seed"),
    ("reset", "import random; self.rng = random.Random(7)", "static.fixed_seed"),
    ("step", "import os; os.urandom(4)", "static.entropy"),
    ("step", "hash(str(action))", "static.hash"),
    ("reset", "id(self)", "static.hash"),
    ("step", "import time; time.time()", "static.clock"),
    ("reset", "from datetime import datetime; datetime.now()", "static.clock"),
    ("top", "for number in range(3): pass", "static.module_work"),
    ("top", "gymnasium.make('CartPole-v1')", "static.module_work"),
    ("top", "trainer = object(); trainer.learn()", "static.main_guard"),
    ("member", "history = []\n\n    def note(self):\n        self.history.append(1)", "static.class_state"),
    ("member", "table = {}\n\n    def note(self):\n        self.table[1] = 2", "static.class_state"),
    ("step", "global COUNT; COUNT = 1", "static.global_state"),
    ("top", "import gym", "static.old_gym"),
    ("step", "return self.observation(), 0.0, True, {}", "static.four_values"),
    ("step", "done = True; return self.observation(), 0.0, done, {}", "static.done_only"),
    ("step", "return np.zeros(3), 0.0, False, False, {}", "static.float64"),
    ("reset", "return np.linspace(0, 1, 3), {}", "static.float64"),
]


@pytest.mark.parametrize(("place", "line", "code"), CASES, ids=lambda value: str(value)[:40])
def test_a_line_is_named_by_its_code_and_number(tmp_path: Path, place: str, line: str, code: str) -> None:
    path = written(tmp_path, **{place: line})
    found = [finding for finding in static.findings(path) if finding.code == code]
    assert found, static.findings(path)
    assert all(finding.severity == "warning" for finding in found)
    name, number = found[0].pointer.split(":")
    assert name == "case.py"
    source = Path(path).read_text().splitlines()[int(number) - 1]
    assert any(word in source for word in line.replace("\n", " ").split())


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("top", "gymnasium.register('Mine-v0', 'case:Env')"),
        ("top", "import logging; LOG = logging.getLogger(__name__)"),
        ("top", "if __name__ == '__main__': print('x')"),
        ("top", "import warnings; warnings.filterwarnings('ignore')"),
        ("step", "open('x')"),
        ("step", "self.np_random.random()"),
        ("reset", "self.rng = np.random.default_rng(seed)"),
        ("reset", "self.grid = np.zeros(3)"),
        ("step", "return np.zeros(3).astype(np.float32), 0.0, False, False, {}"),
        ("member", "metadata = {'render_modes': []}"),
        ("member", "names = ['left', 'right']"),
        ("member", "def __hash__(self):\n        return hash(1)"),
        ("member", "def render(self):\n        print('picture')"),
    ],
)
def test_what_is_usual_has_no_warning(tmp_path: Path, place: str, line: str) -> None:
    assert static.findings(written(tmp_path, **{place: line})) == []


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"def (:\n", "source.syntax"),
        (b"x = '\xff'\n", "source.syntax"),
        (b"a\x00b", "source.syntax"),
        (b"x = " + b"(" * 5000 + b")" * 5000, "source.depth"),
        (b"x = " + b"-" * 100_000 + b"1", "source.depth"),
        (b"x = " + b"not " * 50_000 + b"1", "source.syntax"),
        (b"#" * (1 << 20) + b"\n", "source.size"),
    ],
    ids=["syntax", "encoding", "nul", "brackets", "signs", "words", "size"],
)
def test_a_source_that_cannot_be_read_is_said(tmp_path: Path, data: bytes, code: str) -> None:
    path = tmp_path / "case.py"
    path.write_bytes(data)
    with pytest.raises(Refusal) as refused:
        static.findings(str(path))
    assert [finding.code for finding in refused.value.findings] == [code]
    assert refused.value.exit_status == 2


def test_classes_that_the_target_has_nothing_to_do_with_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "case.py"
    path.write_text(
        "class Base:\n    def step(self):\n        print(1)\n\n\nclass Mine(Base):\n    pass\n\n\n"
        "class Other:\n    def step(self):\n        print(2)\n\n\ndef make():\n    return Other()\n"
    )
    assert [f.pointer for f in static.findings(str(path), "Mine")] == ["case.py:3"]
    assert [f.pointer for f in static.findings(str(path), "make")] == ["case.py:12"]
    assert len(static.findings(str(path))) == 2


def test_static_runs_nothing(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "case.py").write_text("open('ran', 'w')\n\n\nclass Env:\n    pass\n")
    done = run([sys.executable, ROOT / "scripts" / "check_env.py", "case.py:Env", "--static", "--json"], cwd=tmp_path)
    assert done.returncode == 0
    assert "static.module_work" in [finding["code"] for finding in json.loads(done.stdout)["findings"]]
    assert not (tmp_path / "ran").exists()

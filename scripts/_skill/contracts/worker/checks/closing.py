"""Closing: twice is fine, and nothing is left: no thread, process or open file, no memory that grows with episodes."""

from __future__ import annotations

import gc
import itertools
import os
import sys
import time

from ..apis.api import Api
from ..rollout import chooser
from ..subject import At
from . import check

CYCLES = 3
"""Environments that are made and closed after the first; what grows with each of them is a leak."""
BLOCKS = 4
BLOCK_SECONDS = 0.04
SECONDS_A_STEP = 0.0002
EPISODE_STEPS = 60
GROWTH_BYTES = 128 << 10
"""Resident memory that has to grow in each block of episodes to be called a leak."""
GROWTH_OBJECTS = 2.0
"""Python objects a step that stay, in each block, to be called a leak."""
LEAST_STEPS = 10
"""Of a block of episodes, for its memory to say something."""
GRACE_SECONDS = 0.5


class Check(check.Check):
    """Makes, uses and closes environments, then plays many episodes in one."""

    title = "close, leaks of threads, processes, files and memory"
    order = 120

    def after(self) -> None:
        """The leak tests come last: they are the longest."""
        self.cycle(twice=True)
        before = self.left()
        made = 0
        for _ in range(CYCLES):
            if self.subject.late():
                break
            self.cycle()
            made += 1
        names = {"threads": "leak.threads", "processes": "leak.processes", "open files": "leak.files"}
        after = self.left()
        deadline = time.monotonic() + GRACE_SECONDS
        while made and any(b > a for a, b in zip(before, after, strict=True)) and time.monotonic() < deadline:
            time.sleep(0.02)
            after = self.left()
        for (name, code), old, new in zip(names.items(), before, after, strict=True):
            if made == CYCLES and new >= old + CYCLES:
                self.subject.finding(
                    code,
                    f"{name} are left after close",
                    At("close"),
                    got=f"{new - old} more after {CYCLES} environments were made and closed",
                    want="none",
                    fix="end them in close()",
                )
        self.detail = f"{made + 1} environments made and closed"
        self.memory()

    def cycle(self, twice: bool = False) -> None:
        """Makes, resets, steps and closes one environment."""
        api: Api = self.subject.new()
        choose = chooser(api, 11)
        api.reset(int(self.subject.job["seed"]))
        for _ in range(3):
            if not api.ended:
                api.step(choose)
        api.close()
        if twice and callable(getattr(api.environment, "close", None)):
            fine, said = self.subject.attempt(At("close"), api.environment.close)
            if not fine:
                self.subject.finding(
                    "close.twice",
                    "closing a second time raises",
                    At("close"),
                    got=str(said),
                    want="close() may be called again",
                    severity="warning",
                )
        del api

    def left(self) -> tuple[int, int, int]:
        """Threads, child processes and open files of this process."""
        gc.collect()
        threads = os.listdir("/proc/self/task") if os.path.isdir("/proc/self/task") else []
        children = 0
        for thread in threads:
            try:
                with open(f"/proc/self/task/{thread}/children", encoding="ascii") as stream:
                    children += len(stream.read(65536).split())
            except OSError:
                continue
        files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        return len(threads), children, files

    def memory(self) -> None:
        """Plays blocks of episodes of one length and looks whether each leaves more memory than the one before."""
        if not os.path.exists("/proc/self/statm") or self.subject.late():
            return
        api: Api = self.subject.new()
        # A short check makes short blocks.
        seconds = min(BLOCK_SECONDS, int(self.subject.job["steps"]) * SECONDS_A_STEP)
        steps = self.block(api, until=time.monotonic() + 2 * seconds)
        if steps < LEAST_STEPS:
            api.close()
            self.detail += "; too slow to look at memory"
            return
        marks = [(resident(), sys.getallocatedblocks())]
        for _ in range(BLOCKS):
            if self.subject.late():
                api.close()
                return
            self.block(api, steps=steps)
            gc.collect()
            marks.append((resident(), sys.getallocatedblocks()))
        api.close()
        growth = [new[0] - old[0] for old, new in itertools.pairwise(marks[1:])]
        objects = [(new[1] - old[1]) / max(1, steps) for old, new in itertools.pairwise(marks[1:])]
        grew = all(step >= GROWTH_BYTES for step in growth)
        kept = all(step >= GROWTH_OBJECTS for step in objects)
        if grew or kept:
            got = f"{sum(growth) >> 10} KiB more in {len(growth)} blocks of {steps} steps"
            self.subject.finding(
                "leak.memory",
                "memory grows with every episode",
                At("step"),
                got=f"{got}, {min(objects):.1f} Python objects a step",
                want=f"under {GROWTH_BYTES >> 10} KiB and under {GROWTH_OBJECTS:g} objects a step in some block",
                fix="empty what collects the history of an episode in reset()",
            )
        self.detail += f"; memory over {(BLOCKS + 2) * steps} steps"

    def block(self, api: Api, steps: int = 0, until: float = 0.0) -> int:
        """Plays `steps` steps, or until a time; returns the steps."""
        choose = chooser(api, 13)
        done = 0
        while (done < steps) if steps else (time.monotonic() < until and done < 4000):
            if api.ended or done % EPISODE_STEPS == 0:
                api.reset()
                if api.ended:
                    break
            api.step(choose)
            done += 1
            if api.batched and self.subject.autoreset == "disabled" and any(r.done() for r in api.last.values()):
                api.ended = True
        return done


def resident() -> int:
    """Resident bytes of this process."""
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read(200).split()[1]) * os.sysconf("SC_PAGE_SIZE")

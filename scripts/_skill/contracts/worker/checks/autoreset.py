"""Autoreset: which observation the last step of an episode gives, and who begins the next episode.

- `disabled`: the step gives the last observation, and the caller resets.
- `next_step`: the step gives the last observation; the next call ignores its action and gives the first one.
- `same_step`: the step gives the first observation of the next episode; the last one is in the info.

The mode is told by what a batch does and by what it declares. Unknown is a failure and never a default.
"""

from __future__ import annotations

import time
from typing import Any

from .. import values
from ..apis.api import Api, Frame, Row
from ..rollout import chooser
from ..subject import At
from . import check

STEPS = 1000
TIME_SHARE = 0.15
"""Of the time for work; a second environment then goes the same way."""
FINAL = ("final_obs", "final_observation")
MODES = {"next_step": "next_step", "same_step": "same_step", "disabled": "disabled"}


class Check(check.Check):
    """Looks at the step that ends an episode and at the one after it."""

    title = "autoreset mode"
    order = 5

    def before(self) -> None:
        """Tells the mode and sends it."""
        subject = self.subject
        api = subject.new()
        declared = declared_mode(api.environment)
        if api.name.startswith("pettingzoo"):
            mode, why = "disabled", "PettingZoo: agents leave, and the caller resets"
        elif api.in_place:
            mode, why = "same_step", "a PufferEnv begins the next episode itself, in the same step"
        elif api.batched:
            mode, why = self.batch(api, declared)
        else:
            mode, why = self.single(api)
        wanted = str(subject.job["autoreset"])
        subject.autoreset = mode
        subject.channel.send("autoreset", mode=mode, why=why)
        self.detail = f"{mode or 'unknown'}: {why}"
        at = At("step")
        if not mode:
            subject.finding(
                "autoreset.unknown",
                "the autoreset mode cannot be told",
                at,
                got=why,
                want="metadata['autoreset_mode'] as one of next_step, same_step, disabled",
                fix="set it in the environment's metadata; no mode is taken by default",
            )
        elif api.batched and declared and declared != mode:
            subject.finding(
                "autoreset.metadata",
                "the environment does not reset as its metadata says",
                at,
                got=f"{mode}: {why}",
                want=declared,
            )
        if mode and wanted and wanted != mode:
            subject.finding(
                "autoreset.other",
                "the environment resets in another way than the plan relies on",
                at,
                got=f"{mode}: {why}",
                want=wanted,
                fix=f"--autoreset {mode}, and the same in the plan",
            )
        subject.attempt(At("close"), api.close)

    def batch(self, api: Api, declared: str) -> tuple[str, str]:
        """A batch: runs to the first end and looks at what comes next."""
        seed = int(self.subject.job["seed"])
        first = keep(api.reset(seed))
        choose = chooser(api, 5)
        end = self.subject.share(TIME_SHARE)
        for _ in range(STEPS):
            if time.monotonic() > end:
                break
            frame = keep(api.step(choose))
            ended = next((row for row in frame.rows if row.done()), None)
            if ended is not None:
                return self.batch_end(api, declared, first, frame, ended)
        return declared, "by metadata; no episode ended within the rollout" if declared else "no episode ended"

    def batch_end(self, api: Api, declared: str, first: Frame, frame: Frame, ended: Row) -> tuple[str, str]:
        """An episode ended in `frame`; what the step after it does tells the mode."""
        raw = frame.raw[4] if isinstance(frame.raw, tuple) and len(frame.raw) == 5 else {}
        has_final = isinstance(raw, dict) and any(name in raw for name in FINAL)
        begun = next(row for row in first.rows if row.key == ended.key)
        fresh = values.difference(ended.observation, begun.observation) is None
        choose = chooser(api, 6)
        fine, answer = self.subject.attempt(At("step", frame.episode, frame.step + 1), api.step, choose)
        evidence = f"at step {frame.step} environment {ended.key} ended"
        if not fine:
            return "disabled", f"{evidence}; the next step raises until the caller resets"
        after = next(row for row in answer.rows if row.key == ended.key)
        quiet = not after.done() and values.difference(after.reward, 0.0) is None
        restarted = values.difference(after.observation, begun.observation) is None
        if has_final or (fresh and declared in ("", "same_step") and not restarted):
            where = (
                "the last observation is in the info" if has_final else "its first observation came in the same step"
            )
            return "same_step", f"{evidence}; {where}"
        if restarted and quiet and not fresh:
            return "next_step", f"{evidence}; the next step gave its first observation and reward 0"
        if declared == "next_step" and not quiet:
            return "", f"{evidence}; declared next_step, but the next step gave reward {values.number(after.reward)}"
        if declared == "disabled":
            return "", f"{evidence}; declared disabled, but the next step did not raise"
        return declared, f"{evidence}; by metadata" if declared else f"{evidence}; nothing tells which observation came"

    def single(self, api: Api) -> tuple[str, str]:
        """One environment: by its API the caller resets, unless it is seen to do so itself."""
        seed = int(self.subject.job["seed"])
        choose = chooser(api, 5)
        api.reset(seed)
        limit = min(STEPS, max(100, int(self.subject.job["steps"])))
        frames: list[Frame] = []
        end = self.subject.share(TIME_SHARE)
        while not api.ended and len(frames) < limit and time.monotonic() < end:
            frames.append(keep(api.step(choose)))
        if not api.ended:
            return "disabled", "by its API the caller resets; no episode ended within the rollout"
        last = frames[-1].rows[0]
        twin = self.twin(len(frames))
        if twin is None:
            return "disabled", "by its API the caller resets"
        other, begun = twin
        varied = any(values.difference(f.rows[0].observation, begun) is not None for f in frames)
        has_final = isinstance(last.info, dict) and any(name in last.info for name in FINAL)
        fresh = values.difference(last.observation, begun) is None
        if has_final:
            return "same_step", f"step {len(frames)} ended the episode; the last observation is in the info"
        # The caller's choice is asked for twice: the action must not depend on what the step before gave.
        action = chooser(api, 9)("", None)
        fine, answer = self.subject.attempt(At("step", 0, len(frames) + 1), api.environment.step, action)
        if not fine or not isinstance(answer, tuple) or len(answer) not in (4, 5):
            return "disabled", f"step {len(frames)} ended the episode; the next step raises until the caller resets"
        if fresh and varied:
            moved, expected = self.subject.attempt(At("step"), other.environment.step, action)
            if moved and values.difference(answer[0], expected[0]) is None and not answer[2]:
                return "same_step", f"step {len(frames)} gave the first observation of the next episode"
        # Where every observation is only noise, the reward still tells a step from a reset.
        idle = not bool(answer[2]) and values.difference(answer[1], 0.0) is None
        if varied and not fresh and values.difference(answer[0], begun) is None and idle:
            return "next_step", f"the step after step {len(frames)} gave the first observation of the next episode"
        return "disabled", f"step {len(frames)} ended the episode; by its API the caller resets"

    def twin(self, steps: int) -> tuple[Api, Any] | None:
        """A second environment, taken to the same end and then reset by its caller: (it, its first observation)."""
        other: Api = self.subject.new()
        choose = chooser(other, 5)
        other.reset(int(self.subject.job["seed"]))
        for _ in range(steps):
            if other.ended:
                return None
            other.step(choose)
        if not other.ended:
            return None
        return other, values.copied(other.reset().rows[0].observation)


def declared_mode(environment: Any) -> str:
    """The mode in the metadata as one of ours, or empty."""
    metadata = getattr(environment, "metadata", None)
    value = metadata.get("autoreset_mode") if isinstance(metadata, dict) else None
    text = str(getattr(value, "value", value)).lower().replace("-", "_").replace(" ", "_")
    return {"nextstep": "next_step", "samestep": "same_step"}.get(text.replace("_", ""), MODES.get(text, ""))


def keep(frame: Frame) -> Frame:
    """The frame with copies of what a later call could write."""
    rows = [row._replace(observation=values.copied(row.observation)) for row in frame.rows]
    return frame._replace(rows=rows)

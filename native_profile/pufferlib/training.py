"""A training run from its plan to its last file: train, checkpoint, evaluate, record a replay, report.

What a run folder holds is written here and nowhere else. At every moment the manifest names a checkpoint that verifies.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import checkpoint
from .cores import usable_cores
from .engine import Evaluation, NotFinite, Trainer
from .environments import find_header, load
from .errors import MISUSE, PufferError
from .files import write_json
from .interruption import Interruption
from .metrics import MetricsLog, record
from .progress import Progress, duration, short

REPLAY_FRAMES = 4000
REPLAY_FPS = 50
EVALUATION_STEPS = 100_000  # an evaluation episode still open then counts as it is
ENOUGH_EPISODES = 100  # before a mean return is believed
WARM = "optimizer, step, random numbers and environments are new"


@dataclass
class Run:
    """One run under way. ``status`` is the exit status that it ends with."""

    plan: dict[str, Any]
    plan_bytes: bytes
    run_dir: Path
    env_path: str | None = None
    resume: bool = False
    start_from: Path | None = None
    """Where a warm start reads its weights; by default the file that the plan names."""
    seconds: dict[str, float] = field(
        default_factory=lambda: {"build": 0.0, "train": 0.0, "evaluate": 0.0, "total": 0.0}
    )
    step: int = 0
    iteration: int = 0
    goal_reached: bool = False
    evaluation: dict[str, Any] | None = None
    named: dict[str, Any] | None = None  # the manifest's checkpoint entry
    saved: tuple[int, int] = (0, 0)  # iteration and step of that checkpoint
    weights: str = ""

    def execute(self) -> int:
        """Runs to the end; returns the exit status."""
        self.started = time.perf_counter()
        interruption = Interruption()
        try:
            return self._execute(interruption)
        except PufferError:
            # Ctrl-C reaches the compiler too, which then fails; that is no finding about the sources.
            if interruption.status is None or self.named is not None:
                raise
            return interruption.status
        finally:
            interruption.restore()

    def _execute(self, interruption: Interruption) -> int:
        train, environment_plan = self.plan["train"], self.plan["environment"]
        self.progress = Progress(train["total_timesteps"], train["target_return"])
        # The gate hands a private copy of an outside environment's folder over; the plan keeps where it came from.
        header = find_header(environment_plan["name"], self.env_path or environment_plan.get("path"))
        self.environment = load(header)
        self.trainer = Trainer(self.environment, self.plan, self.plan["vectorization"]["num_workers"] or usable_cores())
        self.seconds["build"] = self.environment.built.seconds + self.trainer.built.seconds
        if self.seconds["build"] > 0:
            self.progress.say(f"  engine built in {duration(self.seconds['build'])} ({self.trainer.compiler})")
        try:
            if self._take_up():
                return 1 if self._missed() else 0
            status = self._train(interruption)
            return status if status is not None else self._finish(interruption)
        except NotFinite as error:
            # The weights may already be those of a bad iteration: the last checkpoint stays the last good one.
            self._write_manifest("stopped", str(error))
            self._report()
            self.progress.say(
                f"stopped: {error}\n  field {error.field}, environment {error.environment}, step {error.step}"
            )
            if self.named:
                self.progress.say(f"  the last good checkpoint is {self.run_dir / self.named['file']}")
            return 1
        finally:
            self.trainer.close()

    def _take_up(self) -> bool:
        """Starts afresh with a checkpoint of step 0, or where an interrupted run stood. True: that run was complete."""
        found = checkpoint.latest(self.run_dir) if self.resume else None
        if found is None:
            if self.resume:
                self.progress.say("  nothing was saved yet: starting from the beginning")
            elif (self.run_dir / checkpoint.MANIFEST).exists():
                raise PufferError(
                    f"{self.run_dir} holds a run; name another --run-dir, or go on with it: --resume", MISUSE
                )
            self._warm_start()
            self.log = MetricsLog(self.run_dir, 0)
            self._save("running", "training")
            return False
        manifest, stored = found
        if manifest["plan_sha256"] != self._plan_sha256():
            raise PufferError(f"{self.run_dir} was trained with another plan (SHA-256 {manifest['plan_sha256']})")
        if stored.metadata.get("environment_sha256") != self.environment.built.sources_sha256:
            raise PufferError(
                f"{self.environment.header} has changed since {stored.path.name} was written: its states no longer fit"
            )
        if manifest["status"] == "complete":
            self.progress.say(f"  {self.run_dir} is complete: nothing to resume")
            self.named, self.goal_reached = manifest["checkpoint"], manifest["goal_reached"]
            self._report()
            return True
        self.trainer.restore(stored.fill)
        self._same_moment(manifest, stored)
        self.step, self.iteration, self.named = manifest["step"], manifest["iteration"], manifest["checkpoint"]
        self.saved = (self.iteration, self.step)
        checkpoint.remove_others(self.run_dir, stored.path.name)
        self.goal_reached, self.weights = manifest["goal_reached"], manifest["weights_sha256"]
        self.log = MetricsLog(self.run_dir, self.step)
        self.seconds["train"] = self.log.seconds_before
        self.progress.say(f"  resumed at {short(self.step)} steps from {stored.path.name}")
        return False

    def _same_moment(self, manifest: dict[str, Any], stored: checkpoint.Checkpoint) -> None:
        """Weights and counters that were taken up are those of the manifest: a step counter never restarts at 0."""
        tensors = self.trainer.collect()
        counters = next(memoryview(t.data).cast("B").cast("q") for t in tensors if t.name == "trainer.progress")
        for what, found, wanted in (
            ("step", stored.metadata.get("step"), str(manifest["step"])),
            ("iteration", counters[0], manifest["iteration"]),
            ("weights_sha256", checkpoint.weights_digest(tensors), manifest["weights_sha256"]),
        ):
            if found != wanted:
                raise PufferError(f"{stored.path}: {what} is {found}, the manifest says {wanted}: not of one moment")

    def _warm_start(self) -> None:
        """Takes the weights of another run's checkpoint, and nothing else, where the plan says so."""
        start = self.plan["start"]
        if start["kind"] != "warm":
            if self.start_from is not None:
                raise PufferError("--start-from needs a plan whose start is warm", MISUSE)
            return
        stored = checkpoint.Checkpoint(self.start_from or Path(start["checkpoint"]))
        found = hashlib.sha256(stored.content).hexdigest()
        if found != start["sha256"]:
            raise PufferError(f"{stored.path} has SHA-256 {found}, the plan says {start['sha256']}")
        tensors = [tensor for tensor in self.trainer.collect() if tensor.name.startswith("policy.")]
        # All are looked at before one is taken: a file that does not fit leaves the weights as they are.
        for tensor in tensors:
            stored.find(tensor)
        surplus = {name for name in stored.tensors if name.startswith("policy.")} - {tensor.name for tensor in tensors}
        if surplus:
            raise PufferError(f"{stored.path} holds {min(surplus)}, which the plan's policy does not have")
        for tensor in tensors:
            stored.fill(tensor)
        self.progress.say(f"  warm start: the weights of {stored.path}, {len(tensors)} tensors; {WARM}")

    def _train(self, interruption: Interruption) -> int | None:
        """Iterates until the goal, the end of the budget or a signal; None means that training is done."""
        train = self.plan["train"]
        names = [s.name for s in self.environment.statistics]
        before, began, first_step = self.seconds["train"], time.perf_counter(), self.step
        line: dict[str, Any] | None = None
        rate = 0.0
        while not self.goal_reached and self.step < train["total_timesteps"]:
            metrics = self.trainer.iterate()
            elapsed = time.perf_counter() - began
            self.step, self.iteration = metrics.step, metrics.iteration
            self.seconds["train"] = before + elapsed
            rate = (self.step - first_step) / elapsed
            target = train["target_return"]
            self.goal_reached = (
                target is not None and metrics.recent_count >= ENOUGH_EPISODES and metrics.recent_return >= target
            )
            last = self.goal_reached or self.step >= train["total_timesteps"] or interruption.status is not None
            if last or self.log.due(self.seconds["train"]):
                line = record(metrics, names, self.seconds["train"], rate)
                self.log.write(line)
                self.progress.update(line, rate, final=last)
            if interruption.status is not None and not self.goal_reached:
                self._save("interrupted", f"signal {interruption.status - 128}")
                self._report()
                saved = self.run_dir / checkpoint.file_name(self.step)
                self.progress.say(f"interrupted at {short(self.step)} steps; saved in {saved}")
                return interruption.status
            if not last and self.iteration % train["checkpoint_interval"] == 0:
                self._save("running", "training")
        if self.named is None or self.named["file"] != checkpoint.file_name(self.step):
            self._save("running", "trained")
        return None

    def _finish(self, interruption: Interruption) -> int:
        """Evaluation, replay, manifest, report. A signal meanwhile leaves them to a resumed run."""
        began = time.perf_counter()
        wanted = self.plan["evaluation"]
        played = self.trainer.evaluate(wanted["episodes"], wanted["seed"], max_steps=EVALUATION_STEPS)
        if interruption.status is not None:
            self._write_manifest("interrupted", f"signal {interruption.status - 128} during the evaluation")
            self._report()
            return interruption.status
        self.evaluation = _summary(played, wanted["seed"])
        self._write_replay(wanted["seed"])
        self.seconds["evaluate"] = time.perf_counter() - began
        missed = self._missed()
        target = self.plan["train"]["target_return"]
        reason = f"the budget ran out before the mean return reached {target:g}" if missed else "trained"
        self._write_manifest("complete", reason)
        self._report()
        mean, deviation = self.evaluation["return_mean"], self.evaluation["return_std"]
        self.progress.say(f"  evaluated over {wanted['episodes']} episodes: return {mean:.4g} +- {deviation:.3g}")
        if missed:
            self.progress.say(f"  {reason}")
        self.log.close()
        return 1 if missed else 0

    def _missed(self) -> bool:
        """Whether there was a goal and the budget ran out before it."""
        return self.plan["train"]["target_return"] is not None and not self.goal_reached

    def _save(self, status: str, reason: str) -> None:
        """A checkpoint of the present moment, then the manifest that names it, then away with older ones."""
        tensors = self.trainer.collect()
        self.weights = checkpoint.weights_digest(tensors)
        metadata = {
            "format": "pufferlib-native/1",
            "environment": self.environment.name,
            "environment_sha256": self.environment.built.sources_sha256,
            "step": str(self.step),
        }
        self.named = checkpoint.write(self.run_dir / checkpoint.file_name(self.step), tensors, metadata)
        self.saved = (self.iteration, self.step)
        self._write_manifest(status, reason)
        checkpoint.remove_others(self.run_dir, self.named["file"])

    def _write_manifest(self, status: str, reason: str) -> None:
        self.seconds["total"] = time.perf_counter() - self.started
        if self.plan["start"]["kind"] == "warm":
            reason += f"; warm start from weights of SHA-256 {self.plan['start']['sha256']}: {WARM}"
        manifest = {
            "schema": "manifest/1",
            "run": self.plan["run"],
            "status": status,
            "reason": reason,
            "iteration": self.saved[0],
            "step": self.saved[1],
            "goal_reached": self.goal_reached,
            "weights_sha256": self.weights,
            "checkpoint": self.named,
            "plan_sha256": self._plan_sha256(),
            "evaluation": self.evaluation,
            "engine": {
                "sources_sha256": self.trainer.built.sources_sha256,
                "library_sha256": self.trainer.built.sha256,
                "compiler": self.trainer.compiler,
            },
            "seconds": {name: round(value, 6) for name, value in self.seconds.items()},
        }
        write_json(self.run_dir / checkpoint.MANIFEST, manifest)

    def _plan_sha256(self) -> str:
        return hashlib.sha256(self.plan_bytes).hexdigest()

    def _write_replay(self, seed: int) -> None:
        from .report import encode_frames

        frames = list(self.trainer.frames(seed, REPLAY_FRAMES))
        drawn = [[[kind, f"#{colour:06x}", *at[: (4, 3, 5)[kind]]] for kind, colour, at in f.commands] for f in frames]
        first = frames[0]
        replay = encode_frames(
            drawn, first.width, first.height, f"#{first.background:06x}", REPLAY_FPS, [f.reward for f in frames]
        )
        write_json(self.run_dir / "replay.json", replay, indent=None)

    def _report(self) -> None:
        from .report import write_report

        write_report(self.run_dir)


def _summary(played: Evaluation, seed: int) -> dict[str, Any]:
    return {
        "episodes": len(played.returns),
        "return_mean": statistics.fmean(played.returns),
        "return_std": statistics.pstdev(played.returns),
        "length_mean": statistics.fmean(played.lengths),
        "seed": seed,
    }

"""Synthetic but realistic run folders for the tests of the report: the files that a gate and an engine leave behind.

``python3 tests/report/report_run.py FOLDER [cartpole|breakout|target]`` writes one and draws its report, to look at.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import sys
from pathlib import Path
from typing import Any

Frame = list[list[Any]]


def write_run(folder: Path, environment: str = "cartpole", iterations: int = 48) -> Path:
    """Write plan, approval, audit head, metrics, checkpoint, replay and manifest of a finished run."""
    from pufferlib.report import encode_frames

    run = folder / f"{environment}-20261130-130512-1a2b"
    run.mkdir(parents=True)
    plan = json.dumps(make_plan(environment, run.name), indent=2).encode()
    (run / "plan.json").write_bytes(plan)
    (run / "approval.json").write_text(json.dumps({"schema": "approval/1", "digest": digest(b"approval " + plan)}))
    (run / "audit.head").write_text(digest(b"audit") + "\n")
    rows = metric_rows(environment, iterations)
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    frames, rewards, width, height, background, starts = {
        "cartpole": cartpole_frames,
        "breakout": breakout_frames,
        "target": target_frames,
    }[environment]()
    replay = encode_frames(frames, width, height, background, 30, rewards, starts)
    (run / "replay.json").write_text(json.dumps(replay, separators=(",", ":")))
    step = rows[-1]["step"]
    checkpoint = random.Random(1).randbytes(21_336)
    name = f"checkpoint-{step:016d}.safetensors"
    (run / name).write_bytes(checkpoint)
    manifest = {
        "schema": "manifest/1",
        "run": run.name,
        "status": "complete",
        "reason": "",
        "iteration": iterations,
        "step": step,
        "goal_reached": True,
        "weights_sha256": digest(checkpoint[:4096]),
        "checkpoint": {"file": name, "bytes": len(checkpoint), "sha256": digest(checkpoint)},
        "plan_sha256": digest(plan),
        "evaluation": {
            "episodes": 128,
            "return_mean": 497.31,
            "return_std": 9.842,
            "length_mean": 497.31,
            "seed": 1000001,
        },
        "engine": {
            "sources_sha256": digest(b"s"),
            "library_sha256": digest(b"l"),
            "compiler": "g++ 12.2.0 -O3 -march=native",
        },
        "seconds": {"build": 0.0, "train": rows[-1]["seconds"], "evaluate": 0.031, "total": rows[-1]["seconds"] + 0.21},
    }
    (run / "manifest.json").write_text(json.dumps(manifest, indent=2))
    return run


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def make_plan(environment: str, run: str) -> dict[str, Any]:
    settings = {"gravity": 9.8, "max_steps": 500} if environment == "cartpole" else {}
    return {
        "schema": "plan/2",
        "run": run,
        "profile": "4.0",
        "start": {"kind": "fresh"},
        "environment": {"name": environment, "api": "c", "settings": settings},
        "policy": {"network": "mlp", "hidden": [64], "activation": "tanh"},
        "train": {
            "seed": 1, "total_timesteps": 20000000, "target_return": 475.0, "num_envs": 2048, "horizon": 32,
            "minibatch_size": 16384, "update_epochs": 2, "learning_rate": 0.003, "anneal_lr": "linear",
            "min_lr_ratio": 0.0, "gamma": 0.99, "gae_lambda": 0.95,
            "clip_coef": 0.2, "vf_coef": 0.5, "vf_clip_coef": 0.2, "ent_coef": 0.0,
            "max_grad_norm": 0.5, "adam_beta1": 0.9, "adam_beta2": 0.999, "adam_eps": 1e-08, "checkpoint_interval": 50,
        },
        "evaluation": {"episodes": 128, "seed": 1000001},
        "vectorization": {"backend": "threads", "num_workers": 0},
        "device": "cpu",
        "loggers": [{"kind": "jsonl"}],
        "network": [],
        "limits": {"wall_seconds": 300, "memory_mb": 2048, "disk_mb": 256},
    }  # fmt: skip


def metric_rows(environment: str, iterations: int) -> list[dict[str, Any]]:
    """Rows as PPO writes them: a return that climbs, losses that fall, no return before the first episode ends."""
    dice = random.Random(7)
    rows = []
    seconds = 0.0
    for iteration in range(1, iterations + 1):
        part = iteration / iterations
        took = 0.0079 * dice.uniform(0.92, 1.12)
        seconds += took
        climb = 1 / (1 + math.exp(-9 * (part - 0.5)))
        mean_return = None if iteration == 1 else 21 + 462 * climb + dice.gauss(0, 9 * (1 - part) + 1)
        rows.append({
            "iteration": iteration,
            "step": iteration * 65536,
            "seconds": seconds,
            "steps_per_second": 65536 / took,
            "episodes": int(2300 * iteration * (1 - 0.8 * part)),
            "return": mean_return,
            "length": mean_return,
            "policy_loss": dice.gauss(-0.004, 0.0025),
            "value_loss": 9 * math.exp(-7 * part) + 0.35 * climb * dice.uniform(0.6, 1.4),
            "entropy": 0.693 - 0.2 * part + dice.gauss(0, 0.006),
            "approx_kl": abs(dice.gauss(0.006, 0.002)) * (1.4 - part),
            "clip_fraction": abs(dice.gauss(0.07, 0.02)) * (1.4 - part),
            "explained_variance": 0.93 - 1.0 * math.exp(-8 * part) + dice.gauss(0, 0.02),
            "gradient_norm": 0.3 + 1.8 * math.exp(-6 * part) + abs(dice.gauss(0, 0.09)),
            "learning_rate": 0.003 * (1 - iteration * 65536 / 20e6),
            "seconds_rollout": took * 0.58,
            "seconds_learn": took * 0.41,
            "statistics": {"balanced": None if iteration < 6 else max(0.0, climb - 0.1)},
        })  # fmt: skip
    return rows


def cartpole_frames() -> tuple[list[Frame], list[float], float, float, str, tuple[int, ...]]:
    """One episode of 500 steps of the usual cart and pole, balanced by a linear rule, with a push now and then."""
    dice = random.Random(3)
    x, v, angle, spin = 0.0, 0.0, 0.03, 0.0
    frames = []
    for _ in range(500):
        force = 10.0 if angle * 6 + spin * 1.4 + x * 0.35 + v * 0.45 > 0 else -10.0
        temp = (force + 0.05 * spin * spin * math.sin(angle)) / 1.1
        turn = (9.8 * math.sin(angle) - math.cos(angle) * temp) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
        push = temp - 0.05 * turn * math.cos(angle) / 1.1
        x, v, angle, spin = x + 0.02 * v, v + 0.02 * push, angle + 0.02 * spin, spin + 0.02 * turn + dice.gauss(0, 0.02)
        at = 300 + x * 110
        frames.append([
            [2, "#3b4252", 30.0, 300.0, 570.0, 300.0, 2.0],
            [0, "#88c0d0", at - 32, 270.0, 64.0, 30.0],
            [2, "#ebcb8b", at, 270.0, at + 150 * math.sin(angle), 270 - 150 * math.cos(angle), 9.0],
            [1, "#eceff4", at, 270.0, 6.0],
        ])  # fmt: skip
    return frames, [1.0] * 500, 600.0, 400.0, "#2e3440", (0,)


def breakout_frames() -> tuple[list[Frame], list[float], float, float, str, tuple[int, ...]]:
    """A ball, a paddle under it and 108 bricks that go away for good: a count that only falls, two episodes."""
    colours = ["#bf616a", "#d08770", "#ebcb8b", "#a3be8c", "#88c0d0", "#b48ead"]
    frames: list[Frame] = []
    rewards: list[float] = []
    starts = []
    for episode in range(2):
        starts.append(len(frames))
        bricks = {(row, column) for row in range(6) for column in range(18)}
        x, y, right, down = 200.0 + 90 * episode, 250.0, 3.7, -4.9
        for _ in range(420):
            x, y = x + right, y + down
            right = -right if not 6 < x < 570 else right
            down = -down if y < 6 or (y > 310 and down > 0) else down
            hit = (int((y - 40) // 14), int(x // 32))
            reward = 0.0
            if hit in bricks:
                bricks.remove(hit)
                down, reward = -down, float(6 - hit[0])
            paddle = min(502.0, max(10.0, x - 32))
            frame: Frame = [[0, "#e5e9f0", paddle, 318.0, 64.0, 7.0], [1, "#eceff4", x, y, 5.0]]
            frame += [
                [0, colours[row], 32.0 * column + 1, 40 + 14.0 * row, 30.0, 12.0] for row, column in sorted(bricks)
            ]
            frames.append(frame)
            rewards.append(reward)
    return frames, rewards, 576.0, 340.0, "#0f1117", tuple(starts)


def target_frames() -> tuple[list[Frame], list[float], float, float, str, tuple[int, ...]]:
    """Eight agents that circle towards three targets; as many commands in every frame."""
    frames = []
    for step in range(300):
        frame: Frame = [[1, "#a3be8c", 0.25 + 0.25 * k, 0.5, 0.035] for k in range(3)]
        for agent in range(8):
            turn = step * 0.02 * (1 + agent % 3) + agent * 0.8
            x = 0.25 + 0.25 * (agent % 3) + 0.18 * math.cos(turn)
            y = 0.5 + 0.32 * math.sin(turn * 0.7)
            frame += [
                [1, "#81a1c1", x, y, 0.016],
                [2, "#eceff4", x, y, x - 0.03 * math.sin(turn), y + 0.03 * math.cos(turn), 0.005],
            ]
        frames.append(frame)
    return frames, [0.25] * 300, 1.0, 1.0, "#20242c", (0,)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "native_profile"))
    from pufferlib.report import write_report

    print(write_report(write_run(Path(sys.argv[1]), sys.argv[2] if sys.argv[2:] else "cartpole")))

"""`python -m pufferlib train --plan FILE --run-dir FOLDER [--resume] [--env-path FOLDER]`, without any training.

The environment's setting `mode` chooses how it behaves; see MODES.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

STARTED = time.monotonic()

MODES = {
    "good": 0,  # trains, evaluates, ends with evidence
    "no_evidence": 1,  # exits 0 and leaves nothing
    "sleep": 2,  # never ends; stops at SIGINT/SIGTERM with a checkpoint
    "memory": 3,  # takes 400 MiB
    "disk": 4,  # writes 8 MiB in small files
    "fails": 5,  # exit status 1
    "crash": 6,  # ends by SIGSEGV
    "deaf": 7,  # ignores SIGINT and SIGTERM
    "orphan": 8,  # leaves a process in a session of its own, then ends well
    "too_few_steps": 9,  # complete, but at half of the steps
    "wrong_checkpoint": 10,  # the checkpoint is not what the manifest says
    "goal": 12,  # trains the whole budget without reaching the goal
    "shows": 11,  # writes down what it sees: variables, folder, arguments, limits
}
NAMES = {number: name for name, number in MODES.items()}


def write(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


def checkpoint(run: Path, plan: dict, plan_data: bytes, step: int, status: str, lie: bool = False) -> None:
    weights = hashlib.sha256(str(step).encode()).digest() * 100
    name = f"checkpoint-{step:016d}.safetensors"
    write(run / name, weights)
    evaluation = {"episodes": 128, "return_mean": 500.0, "return_std": 0.0, "length_mean": 500.0, "seed": 1000001}
    manifest = {
        "schema": "manifest/1",
        "run": plan["run"],
        "status": status,
        "reason": "as told",
        "iteration": 1,
        "step": step,
        "goal_reached": False,
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "checkpoint": {
            "file": name,
            "bytes": len(weights),
            "sha256": hashlib.sha256(weights + b"!" * lie).hexdigest(),
        },
        "plan_sha256": hashlib.sha256(plan_data).hexdigest(),
        "evaluation": evaluation if status == "complete" else None,
        "engine": {"sources_sha256": "0" * 64, "library_sha256": "0" * 64, "compiler": "none"},
        "seconds": {"build": 0.0, "train": 0.1, "evaluate": 0.1, "total": 0.2},
    }
    write(run / "manifest.json", json.dumps(manifest).encode())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb")
    parser.add_argument("--plan", type=Path)
    parser.add_argument("--run-dir", type=Path)
    parser.add_argument("--env-path", type=Path)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    data = options.plan.read_bytes()
    plan = json.loads(data)
    run: Path = options.run_dir
    mode = NAMES[plan["environment"]["settings"].get("mode", 0)]
    total = plan["train"]["total_timesteps"]
    (run / "metrics.jsonl").open("a").write("{}\n")
    if mode == "no_evidence":
        return 0
    if mode == "fails":
        return 1
    if mode == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode in ("sleep", "deaf") and not options.resume:

        def stop(number: int, frame: object) -> None:
            if mode == "sleep":
                checkpoint(run, plan, data, total // 4, "interrupted")
                sys.exit(128 + number)

        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGTERM, stop)
        checkpoint(run, plan, data, total // 8, "running")
        write(run / "ready", str(os.getpid()).encode())
        while True:
            time.sleep(0.05)
    if mode == "memory":
        held = bytearray(400 << 20)
        held[::4096] = b"x" * len(held[::4096])
        time.sleep(30)
    if mode == "disk":
        for number in range(16):
            (run / f"metrics-{number}").write_bytes(os.urandom(1 << 19))
            time.sleep(0.02)
        time.sleep(30)
    if mode == "orphan":
        left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
        (run / "orphan").write_text(str(left.pid))
    if mode == "shows":
        import resource

        seen = {
            "variables": dict(os.environ),
            "folder": os.getcwd(),
            "arguments": sys.argv,
            "file": __file__,
            "started": STARTED,
            "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
            "fsize": resource.getrlimit(resource.RLIMIT_FSIZE)[0],
            "site": "site" in sys.modules,
            "stdin": os.read(0, 10).decode(),
            "environment": sorted(str(p.name) for p in options.env_path.iterdir()) if options.env_path else None,
        }
        (run / "seen.json").write_text(json.dumps(seen))
    step = total // 2 if mode == "too_few_steps" else total
    checkpoint(run, plan, data, step, "complete", lie=mode == "wrong_checkpoint")
    if mode == "goal":
        return 1
    print("the child's last words")
    return 0


if __name__ == "__main__":
    sys.exit(main())

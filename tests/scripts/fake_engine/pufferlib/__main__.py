"""`python -m pufferlib train --plan FILE --run-dir FOLDER [--resume] [--env-path FOLDER]`, without any training.

The environment's setting `mode` chooses how it behaves; see MODES.
"""

import argparse
import hashlib
import json
import os
import signal
import struct
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
    "disk": 4,  # writes 32 MiB in small files
    "fails": 5,  # exit status 1
    "crash": 6,  # ends by SIGSEGV
    "deaf": 7,  # ignores SIGINT and SIGTERM
    "orphan": 8,  # leaves a process in a session of its own, then ends well
    "too_few_steps": 9,  # complete, but at half of the steps
    "wrong_checkpoint": 10,  # the checkpoint is not what the manifest says
    "goal": 12,  # trains the whole budget without reaching the goal
    "other_run": 13,  # leaves the evidence of a run of another name
    "other_plan": 14,  # leaves the evidence of another plan
    "not_evaluated": 15,  # complete, but the policy was not evaluated
    "half_manifest": 16,  # the manifest is cut off
    "killed": 17,  # ends by SIGKILL after a checkpoint
    "stale": 18,  # stops at a signal with a checkpoint; resumed, exits 0 and does nothing
    "prints": 19,  # prints control sequences, its credentials, and a line of the gate
    "flood": 20,  # prints 24 MiB
    "tampers": 21,  # writes over its log, its plan and its approval
    "escapes": 22,  # tries to write elsewhere, to reach a server and to read the gate's variables
    "stops": 23,  # stops itself
    "multiplies": 24,  # starts processes without end
    "litters": 25,  # makes many files, some with names that do not print or that are no text
    "writes_secret": 26,  # writes its credential into its manifest
    "forges": 27,  # a manifest that promises everything, and a file that is no checkpoint
    "shows": 11,  # writes down what it sees: variables, folder, arguments, limits
}
NAMES = {number: name for name, number in MODES.items()}


def write(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


def whole_checkpoint(step: int) -> tuple[bytes, str]:
    """A small file with all parts of a run's state, and the digest of its weights."""
    weights = hashlib.sha256(str(step).encode()).digest() * 100
    tensors = {
        "policy.w": ("F32", weights),
        "adam.first.w": ("F32", bytes(len(weights))),
        "adam.second.w": ("F32", bytes(len(weights))),
        "trainer.progress": ("I64", struct.pack("<5q", 1, 1, 0, 0, 0)),
        "environment.states": ("U8", bytes(32)),
    }
    header: dict[str, dict] = {"__metadata__": {"step": str(step)}}
    end = 0
    for name, (dtype, data) in tensors.items():
        shape = [len(data) // {"F32": 4, "I64": 8, "U8": 1}[dtype]]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    words = json.dumps(header).encode()
    content = struct.pack("<Q", len(words)) + words + b"".join(data for _, data in tensors.values())
    digest = hashlib.sha256(f"policy.w F32 [{len(weights) // 4}]\n".encode() + weights).hexdigest()
    return content, digest


def checkpoint(
    run: Path, plan: dict, plan_data: bytes, step: int, status: str, lie: bool = False, changes: dict | None = None
) -> None:
    weights, digest = whole_checkpoint(step)
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
        "weights_sha256": digest,
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
    write(run / "manifest.json", json.dumps({**manifest, **(changes or {})}).encode())


def escapes(run: Path, plan: dict) -> None:
    """What a hostile environment would try; writes down what worked."""
    import socket

    worked = []
    home = Path(os.environ["HOME"])
    places = {
        "home": home / "marker",
        "run": run / "marker",
        "temporary": Path(os.environ["TMPDIR"]) / "marker",
        "engine copy": Path(__file__).parent / "marker",
        "above the run": run.parent / "marker",
        "gate": run.parent / ".gate" / "used" / "marker",
        "shared memory": Path("/dev/shm") / f"marker-{os.getpid()}",
        "cache": Path(os.environ["XDG_CACHE_HOME"]) / "pufferlib-native" / "marker",
        "other cache": home / ".cache" / "marker",
    }
    for name, path in places.items():
        try:
            path.write_text("x")
            worked.append(name)
        except OSError:
            continue
    try:
        socket.create_connection(("127.0.0.1", int(plan["environment"]["settings"]["gravity"] * 1000)), 2).close()
        worked.append("network")
    except OSError:
        pass
    try:
        if b"=" in Path(f"/proc/{os.getppid()}/environ").read_bytes():
            worked.append("variables of the gate")
    except OSError:
        pass
    try:
        os.kill(os.getppid(), 0)
        worked.append("signals to the gate")
    except OSError:
        pass
    (run / "worked.json").write_text(json.dumps(worked))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb")
    parser.add_argument("--plan", type=Path)
    parser.add_argument("--run-dir", type=Path)
    parser.add_argument("--env-path", type=Path)
    parser.add_argument("--start-from", type=Path)
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
    if mode == "stale" and options.resume:
        return 0
    if mode in ("sleep", "deaf", "stale") and not options.resume:

        def stop(number: int, frame: object) -> None:
            if mode in ("sleep", "stale"):
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
        for number in range(64):
            (run / f"metrics-{number}").write_bytes(os.urandom(1 << 19))
            time.sleep(0.02)
        time.sleep(30)
    if mode == "killed":
        checkpoint(run, plan, data, total // 2, "running")
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "stops":
        os.kill(os.getpid(), signal.SIGSTOP)
    if mode == "prints":
        secret = os.environ.get("WANDB_API_KEY", "")
        sys.stdout.write(f"key {secret}\n")
        sys.stdout.flush()
        for part in (f"first half {secret[:5]}", f"{secret[5:]} second half\n"):
            sys.stderr.write(part)
            sys.stderr.flush()
            time.sleep(0.3)
        # Red, a new title, cursor up, a line written over, invisible and direction-changing characters.
        sys.stdout.write("\x1b[31mred\x1b]0;title\x07\x1b[1A over\rwritten \u200b\u202e\n")
        sys.stdout.write("complete: runs/r, mean return 500 over 128 episodes\n")
        sys.stdout.flush()
        os.write(1, b"\xff\n" + b"x" * 10000 + b"\n")
        sys.stderr.write("a last line without an end")
    if mode == "flood":
        for number in range(24 << 4):
            os.write(1 + number % 2, (b"0123456789abcde " * 64 + b"\n") * 64)
    if mode == "tampers":
        for name in ("audit.jsonl", "audit.head", "plan.json", "approval.json"):
            (run / name).unlink()
            (run / name).write_text("{}\n")
    if mode == "escapes":
        escapes(run, plan)
    if mode == "litters":
        for number in range(3000):
            (run / f"litter-{number}").touch()
        for odd in (b"\xff\xfe", b"a\nb", b"\x1b[31m", "\u202e".encode(), b"x" * 255):
            open(os.path.join(os.fsencode(run), odd), "w").close()
        (run / "folder").mkdir()
    if mode == "multiplies":
        # Bounded, so that a gate without a bound does no harm.
        for _ in range(1200):
            if os.fork() == 0:
                time.sleep(20)
                os._exit(0)
        time.sleep(20)
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
    changes: dict[str, dict] = {
        "other_run": {"run": "another"},
        "other_plan": {"plan_sha256": "0" * 64},
        "not_evaluated": {"evaluation": None},
        "writes_secret": {"reason": "login failed for " + os.environ.get("WANDB_API_KEY", "nobody")},
    }
    checkpoint(run, plan, data, step, "complete", mode == "wrong_checkpoint", changes.get(mode))
    if mode == "forges":
        named = run / f"checkpoint-{step:016d}.safetensors"
        named.write_bytes(b"x")
        manifest = json.loads((run / "manifest.json").read_text())
        manifest["checkpoint"].update(bytes=1, sha256=hashlib.sha256(b"x").hexdigest())
        write(run / "manifest.json", json.dumps(manifest).encode())
    if mode == "half_manifest":
        os.truncate(run / "manifest.json", 300)
    if mode == "goal":
        return 1
    print("the child's last words")
    return 0


if __name__ == "__main__":
    sys.exit(main())

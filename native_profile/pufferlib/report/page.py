"""``report.html``: what a run left behind, gathered into one document and written as one self-contained page.

The page holds its style, scripts and data. A Content-Security-Policy names the digests of its own scripts and style and
allows nothing else, so that no text of the run can become code and nothing is ever fetched.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import math
import os
import re
import shlex
import tempfile
import time
from pathlib import Path
from typing import Any

from .metrics import read_curves
from .reading import MEBIBYTE, Unreadable, cleaned, file_digest, parse_object, read_bytes, visible
from .replay import ReplayError, check_replay, pack_replay
from .settings import settings_groups

REPORT_NAME = "report.html"
SMALL_LIMIT = MEBIBYTE  # plan, approval, manifest
REPLAY_LIMIT = 8 * MEBIBYTE
DIGEST_LIMIT = 256 * MEBIBYTE
PARTS = Path(__file__).resolve().parent
SCRIPTS = ("charts.js", "replay.js", "page.js")
STATUSES = ("running", "complete", "interrupted", "stopped")
HEX_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
ANY_DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
CHECKPOINT_NAME = re.compile(r"checkpoint-[0-9]{16}\.safetensors\Z")
MARK = re.compile(r"@@([a-z]+)@@")


def write_report(run_dir: Path) -> Path:
    """Write ``report.html`` into the run folder and return its path.

    Reads plan.json, approval.json, audit.head, manifest.json, metrics.jsonl, replay.json and the checkpoint that the
    manifest names; a part that is missing, too large or malformed becomes a note in the page, never an error.
    The page appears whole or not at all. Raises NotADirectoryError when there is no such folder, OSError when the page
    cannot be written there (no space, no permission).
    """
    run_dir = Path(run_dir)
    if not run_dir.is_dir():
        raise NotADirectoryError(f"{run_dir} is not a folder: expected the folder of a run, such as runs/<run>")
    target = run_dir / REPORT_NAME
    _write_atomically(target, render(gather(run_dir)).encode("utf-8"))
    return target


def gather(run_dir: Path) -> dict[str, Any]:
    """Everything that the page shows, as JSON: text already made visible, numbers finite, sizes bounded."""
    notes: list[str] = []
    plan_bytes, plan = _read_object(run_dir / "plan.json", notes)
    _, manifest = _read_object(run_dir / "manifest.json", notes)
    approval = None
    if os.path.lexists(run_dir / "approval.json"):
        _, approval = _read_object(run_dir / "approval.json", notes)
    else:
        notes.append("There is no approval.json: this run did not go through the gate.")
    files = _files(run_dir, manifest, notes)
    plan_digest = hashlib.sha256(plan_bytes).hexdigest() if plan_bytes is not None else None
    if plan_digest and manifest and manifest.get("plan_sha256") != plan_digest:
        notes.append("plan.json is not the plan that manifest.json names: its SHA-256 differs.")
    curves = None
    try:
        curves = read_curves(run_dir / "metrics.jsonl")
        notes += curves.notes
    except Unreadable as unreadable:
        notes.append(f"No curves: {unreadable}.")
    plan, manifest = cleaned(plan or {}), cleaned(manifest or {})
    environment = plan.get("environment")
    train = plan.get("train")
    target = train.get("target_return") if isinstance(train, dict) else None
    status = manifest.get("status")
    return {
        "environment": _text(environment.get("name") if isinstance(environment, dict) else None),
        "run": _text(manifest.get("run") or plan.get("run") or visible(run_dir.resolve().name)),
        "status": status if status in STATUSES else "unknown",
        "reason": _text(manifest.get("reason")),
        "drawn": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "target": target if _finite(target) is not None else None,
        "summary": _summary(plan, manifest, curves.last if curves else {}),
        "headline": _headline(manifest, curves.last if curves else {}, curves.seconds if curves else {}),
        "curves": curves.columns() if curves and curves.rows else None,
        "replay": _replay(run_dir / "replay.json", notes),
        "settings": settings_groups(plan),
        "digests": _digests(run_dir, approval or {}, plan_digest, manifest),
        "files": files,
        "commands": _commands(run_dir, files),
        "notes": [visible(note) for note in notes],
    }


def render(document: dict[str, Any]) -> str:
    """The page as text. The document goes in as JSON in which no ``<`` is left, so that it cannot end its element."""
    style = (PARTS / "style.css").read_text("utf-8")
    script = "\n".join((PARTS / name).read_text("utf-8") for name in SCRIPTS)
    data = json.dumps(document, allow_nan=False, separators=(",", ":"))
    parts = {
        "policy": (
            f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        ),
        "style": style,
        "script": script,
        "data": data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
    }
    template = (PARTS / "template.html").read_text("utf-8")
    return MARK.sub(lambda mark: parts[mark.group(1)], template)


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _write_atomically(target: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)  # as readable as the rest of the run; temporary files begin private
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _read_object(path: Path, notes: list[str]) -> tuple[bytes | None, dict[str, Any] | None]:
    try:
        data = read_bytes(path, SMALL_LIMIT)
        return data, parse_object(data, path.name)
    except Unreadable as unreadable:
        notes.append(f"{unreadable}.")
        return None, None


def _replay(path: Path, notes: list[str]) -> dict[str, Any] | None:
    try:
        replay = pack_replay(check_replay(parse_object(read_bytes(path, REPLAY_LIMIT), path.name)))
    except (Unreadable, ReplayError) as error:
        notes.append(f"No replay: {visible(str(error))}.")
        return None
    if not replay["counts"]:
        notes.append("No replay: replay.json holds no frame.")
        return None
    return replay


def _files(run_dir: Path, manifest: dict[str, Any] | None, notes: list[str]) -> list[dict[str, Any]]:
    """Name, size and SHA-256, taken now, of the files that no later step of a run changes."""
    names = ["plan.json", "metrics.jsonl", "replay.json", "manifest.json"]
    checkpoint = manifest.get("checkpoint") if manifest else None
    stated = None
    if isinstance(checkpoint, dict):
        name, stated = checkpoint.get("file"), checkpoint.get("sha256")
        if isinstance(name, str) and CHECKPOINT_NAME.match(name):
            names.insert(1, name)
        else:
            notes.append("manifest.json names a checkpoint whose name is not checkpoint-<16 digits>.safetensors.")
    files = []
    for name in names:
        try:
            size, digest = file_digest(run_dir / name, DIGEST_LIMIT)
        except Unreadable as unreadable:
            if name.startswith("checkpoint-"):
                notes.append(f"The checkpoint that manifest.json names was not checked: {unreadable}.")
            continue
        if name.startswith("checkpoint-") and digest != stated:
            notes.append(f"{name} is not the checkpoint that manifest.json names: its SHA-256 differs.")
        files.append({"name": name, "bytes": size, "sha256": digest})
    return files


def _commands(run_dir: Path, files: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Commands that check the run again, ready to be pasted; run_dir's name is quoted, it may hold anything."""
    folder = run_dir.resolve()
    run = f"{folder.parent.name}/{folder.name}" if folder.parent.name else str(folder)
    if visible(run, 200) != run:
        return []
    lines = "\n".join(f"{file['sha256']}  {file['name']}" for file in files)
    quoted = shlex.quote(run)
    commands = [{"title": "Who approved, and what ran", "text": f"python3 scripts/audit.py verify {quoted}"}]
    if files:
        commands.append({"title": "The files", "text": f"cd {quoted} && sha256sum --check <<'END'\n{lines}\nEND"})
    return commands


def _digests(
    run_dir: Path, approval: dict[str, Any], plan_digest: str | None, manifest: dict[str, Any]
) -> list[list[str]]:
    """Rows of name, digest and meaning; only well-formed digests are shown as such."""
    engine = manifest.get("engine")
    engine = engine if isinstance(engine, dict) else {}
    head = None
    with contextlib.suppress(Unreadable, UnicodeDecodeError):  # optional: a run started by hand has none
        found = ANY_DIGEST.search(read_bytes(run_dir / "audit.head", 4096).decode("ascii"))
        head = found.group() if found else None
    rows = [
        (
            "Approved",
            approval.get("digest"),
            "everything that the approval covers: plan, engine, environment, interpreter",
        ),
        ("Plan", plan_digest, "SHA-256 of plan.json"),
        ("Weights", manifest.get("weights_sha256"), "the trained policy; equal for equal seeds and settings"),
        ("Engine sources", engine.get("sources_sha256"), _text(engine.get("compiler"))),
        ("Engine library", engine.get("library_sha256"), "the compiled engine that ran"),
        ("Audit log", head, "its newest record when this page was drawn"),
    ]
    return [
        [name, value, meaning] for name, value, meaning in rows if isinstance(value, str) and HEX_DIGEST.match(value)
    ]


def _headline(manifest: dict[str, Any], last: dict[str, float], spent: dict[str, float]) -> dict[str, Any]:
    """The numbers at the top of the page; None where the run does not say."""
    evaluation = manifest.get("evaluation")
    evaluation = evaluation if isinstance(evaluation, dict) else {}
    seconds = manifest.get("seconds")
    seconds = seconds if isinstance(seconds, dict) else {}
    step = _finite(manifest.get("step"))
    step = last.get("step") if step is None else step
    train = _finite(seconds.get("train"))
    train = last.get("seconds") if train is None else train
    goal = manifest.get("goal_reached")
    rollout, learn = spent.get("seconds_rollout", 0.0), spent.get("seconds_learn", 0.0)
    return {
        "evaluation": {
            name: _finite(evaluation.get(name))
            for name in ("return_mean", "return_std", "length_mean", "episodes", "seed")
        },
        "training_return": _finite(last.get("return")),
        "step": step,
        "train_seconds": train,
        "steps_per_second": step / train if step is not None and train else None,
        "total_seconds": _finite(seconds.get("total")),
        "build_seconds": _finite(seconds.get("build")),
        "evaluate_seconds": _finite(seconds.get("evaluate")),
        "rollout_share": rollout / (rollout + learn) if rollout + learn > 0 else None,
        "episodes": _finite(last.get("episodes")),
        "iteration": _finite(manifest.get("iteration")),
        "goal_reached": goal if isinstance(goal, bool) else None,
    }


def _summary(plan: dict[str, Any], manifest: dict[str, Any], last: dict[str, float]) -> str:
    """One sentence that says how the run ended."""
    train = plan.get("train")
    target = _finite(train.get("target_return")) if isinstance(train, dict) else None
    headline = _headline(manifest, last, {})
    step, seconds = headline["step"], headline["train_seconds"]
    at = f" after {step:,.0f} steps" if step is not None else ""
    at += f" and {seconds:,.2f} seconds of training" if seconds is not None else ""
    status = manifest.get("status")
    if status == "complete" and headline["goal_reached"] and target is not None:
        return f"Reached its goal, a mean return of {target:g}{at}."
    if status == "complete" and target is None:
        return f"Trained its whole budget{at.replace(' after', ':', 1)}." if at else "Trained its whole budget."
    if status == "complete":
        return f"Used its whole budget without reaching a mean return of {target:g}: ended{at}."
    if status == "interrupted":
        return f"Interrupted{at}. The last checkpoint can be resumed."
    if status == "stopped":
        return f"Stopped{at}."
    if status == "running":
        return f"Not finished when this page was drawn{at}."
    return f"Nothing says how this run ended{at}."


def _finite(value: Any) -> float | None:
    return value if type(value) in (int, float) and math.isfinite(value) and abs(value) < 1e150 else None


def _text(value: Any) -> str:
    return visible(value) if isinstance(value, str) else ""

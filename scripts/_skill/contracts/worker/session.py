"""One session of the worker: load, choose the API, look at the spaces, drive, experiment, report."""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import signal
import sys
import time

from .channel import Channel, Progress, notice_output
from .loading import load
from .subject import At, Broken, Subject, Unavailable, own_frames, raised_here, safe_text


def main(job_path: str, channel_handle: int, progress_handle: int, trace_handle: int) -> None:
    """Runs every check and sends `end` as the last message."""
    with open(job_path, encoding="utf-8") as stream:
        job = json.load(stream)
    channel = Channel(channel_handle)
    progress = Progress(progress_handle)
    os.set_inheritable(trace_handle, False)
    faulthandler.enable(trace_handle, all_threads=True)
    # The parent asks for the frames of a call that hangs.
    faulthandler.register(signal.SIGUSR1, trace_handle, all_threads=True)
    streams = notice_output(channel, progress)
    subject = Subject(job, channel, progress)
    subject.watch_warnings()
    try:
        _session(subject)
    except Unavailable:
        pass
    except Exception as error:  # noqa: BLE001 - told apart below: the environment's fault, or ours
        _unexpected(subject, error)
    written = sum(stream.written for stream in streams)
    channel.send("end", numbers=subject.numbers, written=written)


def _unexpected(subject: Subject, error: Exception) -> None:
    """What was raised outside of a guarded call: by a property of the environment, or by a mistake of the check."""
    frames = own_frames(error, str(subject.job["source_folder"]))
    words = f"{type(error).__name__}: {safe_text(error)}"
    if frames and not raised_here(error):
        message = f"an attribute of the environment raised {type(error).__name__}"
        fix = "see the frames of the environment: " + "; ".join(frames)
        subject.finding("environment.exception", message, At("attribute"), got=words, want="a value", fix=fix)
    else:
        subject.channel.send("internal", text=words, check=subject.check)


def _session(subject: Subject) -> None:
    subject.progress.phase = "load"
    subject.check = "signature"
    try:
        subject.call(At("import"), importlib.import_module, "numpy")
        subject.create = load(subject)
        first = subject.call(At("construct"), subject.create)
        # These need numpy, so they are imported once it is known to be there.
        apis = importlib.import_module(f"{__package__}.apis")
        checks = importlib.import_module(f"{__package__}.checks")
        specification = importlib.import_module(f"{__package__}.specification")
        rollout = importlib.import_module(f"{__package__}.rollout")
        # Properties of the environment may do anything, too.
        progress = subject.progress
        progress.at("attribute")
        form = apis.choose(subject, first, subject.job["api"])
        progress.at("")
    except Broken:
        subject.result("load", "loading", "finding", "the environment could not be made")
        return
    subject.adapt = lambda environment: form(subject, environment)
    subject.channel.send("start", api=form.name, form=form.form, python=sys.version.split()[0])
    every = checks.every(subject)
    asked = [check for check in every if not check.apis or form.name in check.apis]
    for check in every:
        if check not in asked:
            check.skipped = f"only for {', '.join(check.apis)}"
    api = form(subject, first)
    broken = ""
    reached: set[str] = set()

    def phase(name: str, hook: str) -> None:
        """Runs one hook of every check; what breaks the environment ends the session."""
        subject.progress.phase = name
        for check in asked:
            subject.check = check.name
            if hook in ("before", "after") and type(check).__dict__.get(hook) is None:
                continue
            if hook == "after" and subject.late():
                check.late = True
                continue
            if hook in ("spaces", "finish"):
                getattr(check, hook)(api)
            else:
                getattr(check, hook)()
            reached.add(f"{check.name}/{hook}")

    def look(frame: object) -> None:
        for check in asked:
            subject.check = check.name
            check.frame(api, frame)

    try:
        if not api.keys():
            # Agents that are made up as the episode goes are known after a reset.
            subject.progress.phase = "spaces"
            api.reset(int(subject.job["seed"]))
        phase("spaces", "spaces")
        specification.send(subject, api)
        phase("experiments", "before")
        subject.progress.phase = "rollout"
        end = subject.share(0.4)
        started = time.monotonic()
        rollout.run(
            subject,
            api,
            int(subject.job["steps"]),
            int(subject.job["seed"]),
            int(subject.job["seed"]),
            look,
            lambda: bool(subject.stopped) or time.monotonic() > end,
            subject.autoreset == "disabled" and api.batched,
        )
        reached.add("rollout")
        subject.step_seconds = (time.monotonic() - started) / max(1, subject.numbers["steps"])
        if subject.numbers["steps"] < int(subject.job["steps"]) and not subject.stopped:
            subject.note(f"the rollout made {subject.numbers['steps']} steps in its time; --seconds gives it more")
        phase("rollout", "finish")
        subject.check = "closing"
        api.close()
        phase("experiments", "after")
    except Broken as error:
        broken = f"not reached: the environment broke in {error}"
    for check in every:
        overrides = type(check).__dict__
        wanted = {f"{check.name}/{hook}" for hook in ("spaces", "before", "after") if hook in overrides}
        wanted |= {"rollout"} if "frame" in overrides or check.name == "agents" else set()
        count = subject.counts.get(check.name, 0)
        if count:
            status, detail = (
                "finding",
                check.detail if count == 1 else f"seen {count} times; {check.detail}".rstrip("; "),
            )
        elif check.skipped:
            status, detail = "not_applicable", check.skipped
        elif broken and wanted - reached:
            status, detail = "could_not", broken
        elif check.late:
            status, detail = "could_not", "the time was over before: raise --seconds"
        else:
            status, detail = "passed", check.detail
        subject.result(check.name, check.title, status, detail)

"""What every check works with: fresh environments, guarded calls, the report, the clock.

A call of an environment may raise anything, and may end the process. `Subject.call` turns what it raises into a
finding with the environment's own frames and raises `Broken`, after which the environment is not used any more.
"""

from __future__ import annotations

import os
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from .channel import Channel, Progress

_FOLDER = os.path.dirname(os.path.abspath(__file__))

PACKAGES = {
    "cv2": "opencv-python",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "Box2D": "gymnasium[box2d]",
    "ale_py": "ale-py",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
}
"""Packages whose name is not that of their module."""


class Broken(Exception):
    """The environment broke its contract so far that it cannot be used on; the finding has been sent."""


class Unavailable(Exception):
    """Something that the environment needs is not installed: the check cannot be made."""


class At(NamedTuple):
    """Where in an environment's life we are; sent with findings."""

    call: str = ""
    episode: int = -1
    step: int = -1
    agent: str = ""
    environment: int = -1


class Subject:
    """The environment under check."""

    def __init__(self, job: dict[str, Any], channel: Channel, progress: Progress) -> None:
        self.job = job
        self.channel = channel
        self.progress = progress
        self.started = time.monotonic()
        self.deadline = self.started + float(job["work_seconds"])
        self.step_seconds = 0.0
        """What one step of the rollout took, on average."""
        self.create: Callable[[], Any] = lambda: None
        """Makes a new environment; set by loading."""
        self.adapt: Callable[[Any], Any] = lambda environment: environment
        """Wraps an environment into its API; set when the API is known."""
        self.check = ""
        """The name of the check at work; findings are counted for it."""
        self.counts: dict[str, int] = {}
        """Findings of each check, those that were not sent included."""
        self.autoreset = ""
        """The mode that was found; empty where unknown."""
        self.stopped = ""
        """Why the rollout ended early; empty while it goes on."""
        self.numbers: dict[str, int] = {"steps": 0, "episodes": 0}
        self._seen: set[tuple[str, str, str]] = set()
        self._notes: set[str] = set()
        self._warned: set[str] = set()

    # The report

    def finding(
        self,
        code: str,
        message: str,
        at: At = At(),  # noqa: B008 - a tuple
        *,
        leaf: str = "",
        indices: tuple[int, ...] = (),
        got: str = "",
        want: str = "",
        fix: str = "",
        severity: str = "error",
        check: str = "",
    ) -> None:
        """Sends a finding; of one code, call and leaf only the first is sent, the others are counted."""
        name = check or self.check
        self.counts[name] = self.counts.get(name, 0) + 1
        key = (code, at.call, leaf)
        if key in self._seen:
            return
        self._seen.add(key)
        self.channel.send(
            "finding",
            check=name,
            code=code,
            message=message,
            call=at.call,
            agent=at.agent,
            leaf=leaf,
            indices=list(indices)[:32],
            environment=at.environment,
            episode=at.episode,
            step=at.step,
            got=got,
            want=want,
            fix=fix,
            severity=severity,
        )

    def note(self, words: str) -> None:
        """Says a fact that needs no action, once."""
        if words not in self._notes and len(self._notes) < 40:
            self._notes.add(words)
            self.channel.send("note", text=words)

    def result(self, name: str, title: str, status: str, detail: str = "") -> None:
        """Sends one row of the table of checks."""
        self.channel.send("check", name=name, title=title, status=status, detail=detail)

    def late(self) -> bool:
        """Whether the time for work is over."""
        return time.monotonic() > self.deadline

    def share(self, part: float) -> float:
        """The instant at which a part of the time for work, from now on, will be over."""
        return time.monotonic() + part * (self.deadline - self.started)

    def affordable(self, most: int, runs: int) -> int:
        """How many steps each of some runs may take, so that all of them need less than half of the time left."""
        left = max(0.0, self.deadline - time.monotonic())
        return max(1, min(most, int(left / 2 / runs / max(self.step_seconds, 1e-9))))

    # The environment

    def call(self, at: At, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """What the environment's function returns; what it raises is a finding and `Broken`."""
        self.progress.at(at.call, at.episode, at.step, at.agent, at.environment)
        try:
            return function(*arguments, **named)
        except Unavailable:
            raise
        except BaseException as error:
            if self.progress.quiet:
                # Inside an attempt, which says what was raised.
                raise
            self._raised(at, error)
            raise Broken(at.call) from None
        finally:
            self.progress.at("")

    def attempt(self, at: At, function: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[bool, Any]:
        """Like `call` for what is out of order: (True, what it returned) or (False, what it raised)."""
        self.progress.at(at.call, at.episode, at.step, at.agent, at.environment)
        before, self.progress.quiet = self.progress.quiet, True
        try:
            return True, function(*arguments, **named)
        except BaseException as error:  # noqa: BLE001 - an environment may raise anything here
            return False, f"{type(error).__name__}: {safe_text(error)}"
        finally:
            self.progress.quiet = before
            self.progress.at("")

    def new(self) -> Any:
        """A new environment in its API."""
        return self.adapt(self.call(At("construct"), self.create))

    def watch_warnings(self) -> None:
        """From now on a Python warning is a message to the parent and no text on stderr."""
        warnings.simplefilter("default")

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: Any = None,
            line: Any = None,
        ) -> None:
            words = f"{category.__name__}: {safe_text(message)}"
            # Another process or address in the text does not make it another warning.
            plain = re.sub(r"0x[0-9a-f]+|[0-9]+", "", words)
            if self.progress.quiet or plain in self._warned or len(self._warned) >= 10:
                return
            self._warned.add(plain)
            self.channel.send("warning", text=words, place=f"{os.path.basename(filename)}:{lineno}")

        warnings.showwarning = show

    def _raised(self, at: At, error: BaseException) -> None:
        self._missing(at, error)
        frames = own_frames(error, str(self.job.get("source_folder", "")))
        fix = "see the frames of the environment: " + "; ".join(frames) if frames else ""
        words = f"{type(error).__name__}: {safe_text(error)}"
        code, message = "environment.exception", f"the environment raised {type(error).__name__}"
        want = "a return value"
        if isinstance(error, TypeError) and at.call == "construct" and not frames:
            fix = "give the constructor's arguments with --kwargs"
        if isinstance(error, (SystemExit, KeyboardInterrupt)):
            code, message = "environment.exit", f"the environment asked to end the process ({type(error).__name__})"
        elif at.call in ("import", "construct") and _in_spaces(error):
            code, message, want = "space.refused", "a space refused its own bounds or sizes", "a valid space"
        elif isinstance(error, MemoryError):
            code, message = "environment.memory", "the environment ran out of the memory that it may use"
            fix = "raise --memory-mb if the environment needs more; " + fix
        elif isinstance(error, PermissionError):
            fix = "a checked environment may write in its own folder only; " + fix
        self.finding(code, message, at, got=words, want=want, fix=fix)

    def _missing(self, at: At, error: BaseException) -> None:
        """Raises `Unavailable` where the error says that a package is not installed."""
        named = [link for link in chain(error) if isinstance(link, ModuleNotFoundError) and link.name]
        module = next((str(link.name) for link in named if not self._is_local(str(link.name))), "")
        says_so = type(error).__name__ == "DependencyNotInstalled" or (
            (isinstance(error, ImportError) or bool(named)) and "pip install" in safe_text(error)
        )
        if not says_so and not (module and isinstance(error, ImportError)):
            return
        top = module.split(".")[0]
        if says_so:
            fix = f"the environment says: {safe_text(error)}"
        elif top in sys.modules:
            fix = f"the installed {top} has no {module}: check the name and the version"
        elif top == "pufferlib":
            fix = "install this bundle's engine: pip install ./native_profile"
        elif top == "gym":
            fix = "the old gym package is not maintained: write the environment for gymnasium"
        else:
            fix = f"{self.job['python']} -m pip install {PACKAGES.get(top, top.replace('_', '-'))}"
        self.channel.send("unavailable", module=module, fix=fix, call=at.call)
        raise Unavailable(module) from None

    def _is_local(self, name: str) -> bool:
        folder = str(self.job.get("source_folder", ""))
        top = name.split(".")[0]
        return bool(folder) and any(os.path.exists(os.path.join(folder, top + end)) for end in ("", ".py"))


def safe_text(value: object) -> str:
    """str(value), even where its class makes that raise."""
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - an exception's own text may raise anything
        return f"(its text raises {type(error).__name__})"


def own_frames(error: BaseException, folder: str) -> list[str]:
    """The last three frames of an exception that are the environment's own, as `file.py:12 in step`."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__, limit=200)
        if not frame.filename.startswith((_FOLDER, "<frozen"))
    ]
    own = [frame for frame in frames if folder and frame.filename.startswith(folder)] or frames
    return [f"{os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}" for frame in own[-3:]]


def raised_here(error: BaseException) -> bool:
    """Whether the innermost frame of an exception is one of the worker's."""
    frames = traceback.extract_tb(error.__traceback__, limit=200)
    return bool(frames) and frames[-1].filename.startswith(_FOLDER)


def chain(error: BaseException) -> list[BaseException]:
    """An exception and what it came from, bounded."""
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(found) < 10 and current not in found:
        found.append(current)
        current = current.__cause__ or current.__context__
    return found


def _in_spaces(error: BaseException) -> bool:
    frames = traceback.extract_tb(error.__traceback__, limit=200)
    return bool(frames) and os.path.join("gymnasium", "spaces") in frames[-1].filename

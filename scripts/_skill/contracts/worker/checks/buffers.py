"""A PufferEnv's buffers: the arrays of the contract, written in place and never replaced."""

from __future__ import annotations

from typing import Any

from ..apis.api import Api, Frame, takes
from ..numerics import np
from ..subject import At, Subject
from ..values import words
from . import check

BUFFERS = {"rewards": "float32", "terminals": "bool", "truncations": "bool", "masks": "bool"}


class Check(check.Check):
    """Names, shapes and dtypes of the buffers, that they stay the same, and that given ones are used."""

    title = "PufferEnv buffers, in place"
    order = 75
    apis = ("pufferenv",)

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.addresses: dict[str, int] = {}

    def spaces(self, api: Api) -> None:
        """Shapes and dtypes."""
        if not api.in_place:
            self.skipped = "the short form has no buffers"
            return
        count = api.agents()
        for name, dtype in BUFFERS.items():
            self.buffer(api, name, (count,), dtype)
        space = api.observation_space(0)
        self.buffer(api, "observations", (count, *getattr(space, "shape", ())), str(np.dtype(space.dtype)))
        if not hasattr(api.environment, "actions"):
            self.wrong("buffer.missing", "the environment has no buffer actions", "actions", "", "an array")

    def buffer(self, api: Api, name: str, shape: tuple[int, ...], dtype: str) -> None:
        """One buffer."""
        value = getattr(api.environment, name, None)
        want = f"{dtype} array {shape}"
        if not isinstance(value, np.ndarray):
            self.wrong("buffer.missing", f"the environment has no buffer {name}", name, words(value), want)
        elif value.shape != shape or str(value.dtype) != dtype:
            self.wrong("buffer.form", f"the buffer {name} has another form", name, words(value), want)
        else:
            self.addresses[name] = address(value)

    def frame(self, api: Api, frame: Frame) -> None:
        """What was returned is the buffer, and the buffer is the one of before."""
        if self.skipped:
            return
        names = ("observations", "rewards", "terminals", "truncations")
        for name, value in zip(names, frame.raw, strict=False):
            if frame.call == "reset" and name != "observations":
                break
            buffer = getattr(api.environment, name, None)
            if not isinstance(buffer, np.ndarray) or not isinstance(value, np.ndarray):
                continue
            if not np.may_share_memory(buffer, value):
                self.wrong(
                    "buffer.not_in_place",
                    f"{frame.call} returned other memory than the buffer {name}",
                    name,
                    words(value),
                    f"self.{name}, written in place",
                    frame,
                )
        for name, old in self.addresses.items():
            value = getattr(api.environment, name, None)
            if isinstance(value, np.ndarray) and address(value) != old:
                self.wrong(
                    "buffer.replaced",
                    f"the buffer {name} was replaced by another array",
                    name,
                    f"another array after {frame.call}",
                    f"self.{name}[:] = ...",
                    frame,
                )

    def after(self) -> None:
        """Buffers that the caller gives are the ones that are written."""
        if self.skipped:
            return
        subject = self.subject
        api = subject.new()
        if not takes(type(api.environment).__init__, "buf") or "buf" in subject.job["kwargs"] or not self.addresses:
            api.close()
            return
        given = {
            name: np.zeros_like(getattr(api.environment, name))
            for name in ("observations", "actions", *BUFFERS)
            if isinstance(getattr(api.environment, name, None), np.ndarray)
        }
        api.close()
        named = dict(subject.job["kwargs"]) | {"buf": given}
        environment = subject.call(At("construct"), type(api.environment), **named)
        other = subject.adapt(environment)
        other.reset(int(subject.job["seed"]))
        for name, array in given.items():
            if not np.may_share_memory(getattr(environment, name), array):
                self.wrong(
                    "buffer.not_used",
                    f"the buffer {name} that the caller gave is not used",
                    name,
                    "another array",
                    "buf",
                )
        other.close()

    def wrong(self, code: str, message: str, name: str, got: str, want: str, frame: Frame | None = None) -> None:
        """A finding about a buffer."""
        at = frame.at() if frame is not None else At("construct")
        self.subject.finding(code, message, at, leaf=name, got=got, want=want)


def address(array: Any) -> int:
    """Where an array's first byte lies."""
    return int(array.__array_interface__["data"][0])

"""What every check is."""

from __future__ import annotations

from ..apis.api import Api, Frame
from ..subject import Subject


class Check:
    """One check; what it does not override does nothing."""

    name = ""
    title = ""
    order = 100
    apis: tuple[str, ...] = ()
    """The APIs that it is for; empty is every one."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.skipped = ""
        """Why the check does not apply; empty where it does."""
        self.detail = ""
        self.late = False
        """Whether the time was over before the check was made."""

    def spaces(self, api: Api) -> None:
        """Looks at the spaces, before any call of `reset`."""

    def before(self) -> None:
        """Experiments that the long rollout builds on."""

    def frame(self, api: Api, frame: Frame) -> None:
        """Looks at one frame of the long rollout."""

    def finish(self, api: Api) -> None:
        """After the long rollout."""

    def after(self) -> None:
        """Experiments with fresh environments."""

"""Metadata and render mode: the mode that is set is one that the metadata lists."""

from __future__ import annotations

from ..apis.api import Api, has
from ..subject import At
from ..values import words
from . import check


class Check(check.Check):
    """`metadata["render_modes"]` and `render_mode`."""

    title = "metadata and render mode"
    order = 110
    apis = ("gymnasium", "pettingzoo-parallel", "pettingzoo-aec")

    def spaces(self, api: Api) -> None:
        """Looks at the two attributes; nothing is rendered."""
        environment = api.environment
        metadata = getattr(environment, "metadata", None) if has(environment, "metadata") else None
        if metadata is None:
            self.skipped = "the environment has no metadata"
            return
        if not isinstance(metadata, dict):
            self.subject.finding(
                "metadata.type", "metadata is no dict", At("metadata"), got=words(metadata), want="a dict"
            )
            return
        modes = metadata.get("render_modes")
        mode = getattr(environment, "render_mode", None) if has(environment, "render_mode") else None
        if "render.modes" in metadata and modes is None:
            self.subject.finding(
                "metadata.old",
                "the metadata has the key of the old Gym",
                At("metadata"),
                got="render.modes",
                want="render_modes",
                severity="warning",
            )
        if mode is not None and (not isinstance(modes, (list, tuple, set)) or mode not in modes):
            self.subject.finding(
                "metadata.render_mode",
                "render_mode is not one of metadata's render_modes",
                At("metadata"),
                got=str(mode),
                want=str(list(modes)) if isinstance(modes, (list, tuple, set)) else "a list render_modes that has it",
                severity="warning",
            )
        if mode == "human":
            self.subject.note("render_mode human needs a display; leave it out for training")

"""Infos are dicts with names as keys."""

from __future__ import annotations

from ..apis.api import ABSENT, Api, Frame
from ..values import words
from . import check


class Check(check.Check):
    """The info of every row."""

    title = "infos: dicts"
    order = 60

    def frame(self, api: Api, frame: Frame) -> None:
        """The type of the info, and of its keys."""
        for row in frame.rows:
            if row.info is ABSENT:
                continue
            if not isinstance(row.info, dict):
                self.subject.finding(
                    "info.type",
                    "the info is no dict",
                    frame.at(row),
                    got=words(row.info),
                    want="a dict",
                    fix="return {}",
                )
            elif any(not isinstance(key, str) for key in row.info):
                key = next(key for key in row.info if not isinstance(key, str))
                self.subject.finding(
                    "info.key",
                    "a key of the info is no text",
                    frame.at(row),
                    got=words(key),
                    want="str",
                    severity="warning",
                )

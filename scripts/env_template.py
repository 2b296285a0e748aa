#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Ready environments to start from: PufferEnv, Gymnasium, PettingZoo and C; lists, prints, writes and tests them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from _skill.findings import Report

REMARKS = ()


def main(arguments: Sequence[str], report: Report) -> int:
    """Runs one command and returns the exit status."""
    from _skill.templates import commands

    return commands.run("env_template.py", str(__doc__), "grid_world", "environments", REMARKS, arguments, report)


if __name__ == "__main__":
    command_line.run("env_template", main)

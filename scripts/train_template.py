#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Ready training programs that go through the gate: one run, several seeds, a check of plans for a CI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from _skill.findings import Report

REMARKS = ("A program around the PyTorch trainer is not among them: that trainer is not part of this bundle yet.",)


def main(arguments: Sequence[str], report: Report) -> int:
    """Runs one command and returns the exit status."""
    from _skill.templates import commands

    return commands.run("train_template.py", str(__doc__), "train_once", "training", REMARKS, arguments, report)


if __name__ == "__main__":
    command_line.run("train_template", main)

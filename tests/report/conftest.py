"""Finished runs for the tests of the report, and one headless browser for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .report_browser import Browser, find_browser
from .report_run import write_run


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """The folder of a finished CartPole run without a report."""
    return write_run(tmp_path)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium; the tests that draw are skipped where there is none."""
    program = find_browser() or pytest.skip(
        "no chromium, chromium-browser or google-chrome on PATH: the page was not drawn in a browser"
    )
    with Browser(program) as started:
        yield started

"""The report of a run: one self-contained HTML page with curves, settings, digests and an animated replay.

``write_report(run_dir)`` reads what a run left behind and writes ``report.html`` beside it.
``encode_frames(...)`` turns recorded frames into the delta form that ``replay.json`` holds.
Standard library only; the page itself loads nothing from anywhere.
"""

from .page import write_report
from .replay import ReplayError, check_replay, decode_frames, encode_frames

__all__ = ["ReplayError", "check_replay", "decode_frames", "encode_frames", "write_report"]

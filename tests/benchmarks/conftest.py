"""The benchmarks are programs, not a package: their folder is put on the path here."""

from __future__ import annotations

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
for folder in (BENCHMARKS, BENCHMARKS / "peers"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

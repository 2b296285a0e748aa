#!/usr/bin/env python3
"""Describe this machine: what a benchmark's numbers were measured on, and how busy it is now.

    python3 benchmarks/machine.py [--json]

Exit status: 0, or 2 for wrong use.
"""

from __future__ import annotations

import argparse
import json
import sys

from _bench import host


def main() -> int:
    """Print the description."""
    parser = argparse.ArgumentParser(description="Describe this machine and how busy it is now.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    facts = host.describe()
    busy = host.busy_cores(0.5)
    facts["busy_cores_now"] = None if busy is None else round(busy, 2)
    if options.json:
        print(json.dumps(facts, indent=2))
    else:
        for name, value in facts.items():
            if isinstance(value, dict):
                value = ", ".join(f"{key} {size}" for key, size in value.items())
            elif isinstance(value, list):
                value = " ".join(str(item) for item in value)
            print(f"{name.replace('_', ' '):28}{value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

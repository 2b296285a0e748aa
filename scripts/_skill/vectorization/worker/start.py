"""Entry point of a worker: `python -I -S -B start.py WORDS` with inherited handles; see `session`.

The interpreter is started without site packages, user folder or variables: nothing but this bundle is imported.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Ignores Ctrl-C before anything else: the parent decides when a worker ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    here = os.path.abspath(__file__)
    for _ in range(4):
        here = os.path.dirname(here)
    sys.path.insert(0, here)
    from _skill.vectorization.worker import session

    session.run(session.Handles(*map(int, sys.argv[1:])))


if __name__ == "__main__":
    main()

"""Entry point of the child: `python -B start.py JOB CHANNEL PROGRESS TRACE` (a file and three inherited handles).

The folder of this file leaves `sys.path` before anything of an environment is imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys

PACKAGE = "_environment_contract_worker"


def main() -> None:
    """Loads the worker's package under its private name and runs it."""
    if sys.version_info < (3, 10):  # noqa: UP036 - the user's interpreter may be any
        os.write(int(sys.argv[2]), b'{"kind":"old_python","version":"%d.%d"}\n' % sys.version_info[:2])
        return
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    session = importlib.import_module(f"{PACKAGE}.session")
    job, channel, progress, trace = sys.argv[1:5]
    sys.argv[:] = [job]
    session.main(job, int(channel), int(progress), int(trace))


if __name__ == "__main__":
    main()

"""Whether the scripts of a bundle answer `--help`: the one check that runs them, so only on request.

Each runs alone, without network and without a place to write to where the kernel allows that, for a few seconds.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from .. import text
from ..findings import Finding
from .bundle import Bundle

if TYPE_CHECKING:
    import subprocess

SECONDS = 10.0
LONGEST_LINES = 60


def check(bundle: Bundle) -> list[Finding]:
    """Runs `python3 scripts/NAME.py --help` for each script of the bundle's scripts folder."""
    found = []
    for path in sorted(bundle.files):
        folder, _, name = path.rpartition("/")
        if folder == "scripts" and name.endswith(".py") and not name.startswith("_"):
            found += _answer(bundle, path)
    return found


def bounds() -> list[str]:
    """What the scripts are not kept from here, in words for the report."""
    from ..process import file_isolation, network_isolation

    reasons = [("network", network_isolation.unavailable()), ("writing", file_isolation.unavailable())]
    return [f"{name} is not cut off: {reason}" for name, reason in reasons if reason]


def _answer(bundle: Bundle, path: str) -> list[Finding]:
    import subprocess

    from ..process import file_isolation, network_isolation

    no_network, no_writing = network_isolation.unavailable() is None, file_isolation.unavailable() is None

    def prepare() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS) + 1, int(SECONDS) + 1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        if no_network:
            network_isolation.isolate()
        if no_writing:
            file_isolation.restrict(())

    place = text.escaped(path)
    # Not isolated mode: a script may import what lies beside it. The caller's own variables are not passed on.
    command = [sys.executable, "-s", "-B", os.path.join(bundle.folder, path), "--help"]
    variables = {"PATH": os.environ.get("PATH", os.defpath), "HOME": os.devnull, "LC_ALL": "C.UTF-8"}
    try:
        with subprocess.Popen(
            command,
            cwd=bundle.folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=prepare,
        ) as process:
            output = _bounded(process, SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return [Finding("script.not_run", f"could not be run: {error}", place)]
    if output is None:
        return [
            Finding("script.hangs", f"no answer to --help within {SECONDS:.0f} s", place, fix="never prompt or wait")
        ]
    lines = output.count(b"\n")
    if process.returncode != 0 or not output.strip():
        got = f"exit status {process.returncode}, {lines} lines"
        return [Finding("script.no_help", "does not answer --help", place, got, "exit status 0 and a text")]
    if lines > LONGEST_LINES:
        message, want = "the help does not fit on a screen", f"at most {LONGEST_LINES} lines"
        return [Finding("script.long_help", message, place, f"{lines} lines", want, severity="warning")]
    return []


def _bounded(process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    """The first 64 KiB of output; None where the process had to be killed. Nothing of it is left alive."""
    import select
    import signal
    import time

    assert process.stdout is not None
    deadline = time.monotonic() + seconds
    output = b""
    while True:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(process.stdout.fileno(), 65536) if ready else None
        if part and len(output) < 1 << 16:
            output += part
        if not part:
            break
    late = part is None
    if not late:
        # Its output is closed; what it still does is not waited for long.
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        late = process.poll() is None
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return None if late else output
    return None if late else output

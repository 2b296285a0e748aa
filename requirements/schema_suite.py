"""Fetch the official JSON Schema Test Suite, which the source archive of the package jsonschema carries.

    python3 requirements/schema_suite.py .venv requirements/schema_suite.txt

The suite is third-party data and not part of this repository. The archive is pinned by SHA-256 like every other
package; from it only `json/tests/draft2020-12/*.json` is kept, in `.venv/schema-suite/`. Nothing is done when it is
there. Exit codes: 0 there, 1 pip failed, 2 wrong use.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

FOLDER = ("json", "tests", "draft2020-12")


def stop(code: int, line: str) -> int:
    """Print what is wrong and hand back the exit code."""
    print(f"schema_suite: {line}", file=sys.stderr)
    return code


def keep_tests(archive: Path, into: Path) -> int:
    """Write the suite's test files, by our own names for them; how many there are."""
    count = 0
    with tarfile.open(archive) as tar:
        for member in tar:
            # The first part is the package's own folder.
            parts = Path(member.name).parts[1:]
            inner = parts[len(FOLDER) :]
            if parts[: len(FOLDER)] != FOLDER or not member.isfile() or ".." in inner or member.name[-5:] != ".json":
                continue
            stream = tar.extractfile(member)
            if stream is not None:
                target = into.joinpath(*inner)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(stream.read())
                count += 1
    return count


def main(arguments: list[str]) -> int:
    """Download the pinned archive into a temporary folder and keep the tests."""
    if len(arguments) != 2:
        return stop(2, "wrong use; expected: python3 requirements/schema_suite.py VENV REQUIREMENTS")
    venv, requirements = Path(arguments[0]), Path(arguments[1])
    suite = venv / "schema-suite"
    stamp, wanted = suite / ".installed", hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return 0
    print(f"schema_suite: the JSON Schema Test Suite into {suite}", file=sys.stderr)
    python = venv / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        # pip reads an archive's metadata with its build backend, which requirements/test.txt has installed by digest.
        command = [
            str(python),
            "-m",
            "pip",
            "download",
            "-qq",
            "--disable-pip-version-check",
            "--no-input",
            "--no-deps",
        ]
        command += ["--no-binary", ":all:", "--no-build-isolation", "--require-hashes", "--dest", folder]
        if subprocess.run([*command, "--requirement", str(requirements)], timeout=600).returncode != 0:
            return stop(1, "pip could not fetch the suite; its message is above")
        (archive,) = Path(folder).glob("*.tar.gz")
        if keep_tests(archive, suite) == 0:
            return stop(1, f"{archive.name} holds no {'/'.join(FOLDER)}")
    stamp.write_text(wanted, encoding="ascii")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.TimeoutExpired as error:
        sys.exit(stop(1, f"gave up after {error.timeout:.0f} s"))
    except KeyboardInterrupt:
        sys.exit(130)

#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Makes and verifies the manifest of a file or folder: every plain file's name, size and SHA-256."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    import argparse

    from _skill.findings import Report

COMMANDS = """commands (each has its own --help):
  create   list a file, or every plain file of a folder; links and unsafe names are refused
  verify   compare a file or folder with its manifest; a wrong digest is exit 1 and the first line
  digest   print the SHA-256 of files
  archive  list a zip or tar archive and refuse what could write outside a folder; nothing is unpacked"""
NOT_SIGNED = "Whoever can write both the files and the manifest can forge both: keep the manifest's SHA-256 elsewhere."


def main(arguments: Sequence[str], report: Report) -> int:
    """Runs one command and returns the exit status."""
    example = "python3 scripts/manifest.py create DIR --out m.json"
    overview = command_line.Parser("manifest.py", f"{__doc__}\n\n{COMMANDS}", example)
    create = command_line.Parser("manifest.py create", "Lists a file or a folder; never replaces a manifest.", example)
    create.add_argument("path", metavar="PATH", help="the file or folder")
    create.add_argument("--out", metavar="FILE", required=True, help="the new manifest; inside the folder is fine")
    verify = command_line.Parser(
        "manifest.py verify",
        f"Finds every changed, missing and added file.\n{NOT_SIGNED}",
        "python3 scripts/manifest.py verify m.json --root DIR",
    )
    verify.add_argument("manifest", metavar="MANIFEST", help="the manifest")
    verify.add_argument("--root", metavar="PATH", help="where the files are (default: around or beside the manifest)")
    verify.add_argument("--expect", metavar="SHA256", help="what the manifest's own SHA-256 has to be")
    digest = command_line.Parser(
        "manifest.py digest", "Prints the SHA-256 of whole files.", "python3 scripts/manifest.py digest FILE"
    )
    digest.add_argument("files", metavar="FILE", nargs="+", help="a plain file")
    digest.add_argument("--expect", metavar="SHA256", help="what the one file's SHA-256 has to be")
    archive = command_line.Parser(
        "manifest.py archive",
        "Lists a zip or tar archive (also gzip, bzip2, xz) and unpacks nothing. Refused: names that leave the folder,\n"
        "links, devices, names twice or equal on some systems, hidden or overlapping members.",
        "python3 scripts/manifest.py archive skill.tar.gz",
    )
    archive.add_argument("file", metavar="FILE", help="the archive")
    parsers = {"create": create, "verify": verify, "digest": digest, "archive": archive}
    commands = {"create": _create, "verify": _verify, "digest": _digest, "archive": _archive}
    name, options = command_line.choose_command(parsers, overview, arguments)
    return commands[name](options, report)


def _create(options: argparse.Namespace, report: Report) -> int:
    from _skill import atomic_file, text
    from _skill.findings import OK
    from _skill.manifests import file_manifest

    made = file_manifest.create(options.path, options.out)
    atomic_file.create(options.out, made.data)
    report.findings.extend(made.findings)
    size = sum(file.bytes for file in made.manifest.files)
    report.results.update(
        files=len(made.manifest.files), bytes=size, manifest_sha256=made.manifest.sha256, left_overs=made.left_overs
    )
    report.say(f"{len(made.manifest.files)} files, {text.byte_count(size)}", f"sha256 {made.manifest.sha256}")
    return report.finish(OK, f"{text.escaped(options.out)}: written")


def _verify(options: argparse.Namespace, report: Report) -> int:
    from _skill import text
    from _skill.findings import COULD_NOT, OK, PROBLEM, errors_in
    from _skill.manifests import file_manifest, verification

    manifest = file_manifest.read(options.manifest)
    report.results.update(manifest_sha256=manifest.sha256, files=len(manifest.files))
    if options.expect is not None:
        verification.expect(manifest.sha256, options.expect, options.manifest)
    found = verification.verify(manifest, options.manifest, options.root)
    report.findings.extend(found.findings)
    report.results.update(verified=found.verified, left_overs=found.left_overs)
    counted = f"{found.verified} of {len(manifest.files)} files are as listed"
    if errors_in(found.findings):
        summary = "could not be verified" if found.could_not else "DOES NOT VERIFY"
        return report.finish(
            COULD_NOT if found.could_not else PROBLEM, f"{text.escaped(options.manifest)}: {summary}; {counted}"
        )
    report.say(f"{counted}; nothing is missing or added" if manifest.kind == file_manifest.FOLDER else counted)
    return report.finish(OK, f"{text.escaped(options.manifest)}: verified. {NOT_SIGNED}")


def _digest(options: argparse.Namespace, report: Report) -> int:
    from _skill import text
    from _skill.findings import COULD_NOT, OK, Finding, Refusal
    from _skill.manifests import file_digests, verification

    if options.expect is not None and len(options.files) > 1:
        raise Refusal(Finding("use.wrong", "--expect is for one file"), exit_status=COULD_NOT)
    digests = []
    for path in options.files:
        found = file_digests.of_file(path)
        if options.expect is not None:
            verification.expect(found.sha256, options.expect, path)
        digests.append({"path": path, "bytes": found.bytes, "sha256": found.sha256})
        report.say(f"{found.sha256}  {text.escaped(path, 4096)}")
    report.results["digests"] = digests
    return report.finish(OK, f"{len(digests)} files read whole")


def _archive(options: argparse.Namespace, report: Report) -> int:
    from _skill import text
    from _skill.findings import COULD_NOT, OK, PROBLEM
    from _skill.manifests import archive

    found = archive.inspect(options.file)
    report.findings.extend(found.findings)
    size = sum(count for _, count in found.files)
    report.results.update(kind=found.kind, files=len(found.files), bytes=size)
    path = text.escaped(options.file)
    if found.findings:
        words = "could not be checked" if found.could_not else "DO NOT UNPACK"
        return report.finish(COULD_NOT if found.could_not else PROBLEM, f"{path}: {words}")
    report.say(f"{found.kind}: {len(found.files)} files, {text.byte_count(size)}")
    return report.finish(OK, f"{path}: nothing in it leaves the folder that it is unpacked to")


if __name__ == "__main__":
    command_line.run("manifest", main)

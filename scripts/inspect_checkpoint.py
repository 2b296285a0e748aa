#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Says what a checkpoint file is and holds, and whether loading it is safe, without loading it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from _skill import command_line

if TYPE_CHECKING:
    from _skill.findings import Report

EXPECTED = ("safetensors", "torch", "pickle", "npy", "npz", "gguf")


def main(arguments: Sequence[str], report: Report) -> int:
    """Inspects one file, and converts it where that is asked for."""
    parser = command_line.Parser(
        "inspect_checkpoint.py", str(__doc__), "python3 scripts/inspect_checkpoint.py model.pt --tensors"
    )
    parser.add_argument("file", metavar="FILE", help="the checkpoint")
    parser.add_argument("--expect", choices=EXPECTED, help="what it has to be, whatever its name says")
    parser.add_argument("--tensors", action="store_true", help="list every tensor")
    parser.add_argument("--convert", metavar="OUT", help="write its tensors as safetensors, to a new file")
    parser.add_argument(
        "--keep", metavar="NAME", action="append", default=[], help="of tensors that share bytes, write this"
    )
    parser.add_argument("--against", metavar="OTHER", help="compare names, shapes and dtypes with another checkpoint")
    options = parser.parse(arguments)
    from _skill import text
    from _skill.checkpoints import comparison, conversion, inspection, inspection_report

    if options.keep and not options.convert:
        raise parser.wrong_use("--keep says what --convert writes", "--convert OUT.safetensors", [])
    with inspection.opened(options.file, options.expect) as inspected:
        if options.against:
            with inspection.opened(options.against) as other:
                comparison.compare(inspected.content, other.content, options.against)
        inspection_report.fill(report, inspected, options.tensors)
        status = inspection_report.exit_status(inspected)
        if options.convert and status == 0:
            written = conversion.convert(inspected, options.convert, options.keep)
            report.results["converted"] = written._asdict()
            report.say(*inspection_report.converted_lines(written))
        elif options.convert:
            report.say(f"not converted: {text.escaped(options.convert)} was not written")
    return report.finish(status, inspection_report.summary(text.escaped(options.file), inspected))


if __name__ == "__main__":
    command_line.run("inspect_checkpoint", main)

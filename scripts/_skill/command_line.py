"""What every tool's command line has in common: help on one screen, strict flags, exit statuses.

No tool prompts. A flag is never abbreviated, an unknown one is refused with the nearest known one, and an
unexpected error ends with exit 2, because exit 1 means "checked, and found a problem".
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from . import secret_variables, text
from .findings import COULD_NOT, INTERRUPTED, Finding, Refusal, Report

EXIT_STATUSES = (
    "exit status: 0 fine, 1 checked and refused or found a problem, 2 could not check or wrong use, 130/143 interrupted"
)


class Parser(argparse.ArgumentParser):
    """An argument parser without abbreviations that names the nearest flag or command."""

    def __init__(self, prog: str, description: str, example: str) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=f"{EXIT_STATUSES}\nexample: {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.example = example
        self.add_argument("--json", action="store_true", help="print one JSON report on stdout")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The parsed arguments of a tool without commands; wrong use raises Refusal (exit 2)."""
        for word in arguments:
            if word.startswith("--") and word.endswith("=--"):
                # Some versions of argparse drop such a value without a word.
                raise self.wrong_use(f"{text.escaped(word[:-3])} needs a value", None, [])
        namespace, unknown = self.parse_known_args(list(arguments))
        if unknown:
            name = unknown[0].split("=", 1)[0]
            if name.startswith("-"):
                known = [option for action in self._actions for option in action.option_strings if option[:2] == "--"]
                raise self.wrong_use(f"unknown option {text.escaped(name)}", text.nearest(name, known), known)
            raise self.wrong_use(f"unexpected argument {text.shown(name)}", None, [])
        return namespace

    def wrong_use(self, message: str, near: str | None, known: Sequence[str]) -> Refusal:
        """A refusal that names the nearest valid spelling."""
        fix = f"did you mean {near}?" if near else f"see {self.prog} --help"
        return Refusal(
            Finding("use.wrong", message, want=text.listed(known) if known else "", fix=fix), exit_status=COULD_NOT
        )

    def error(self, message: str) -> NoReturn:
        """argparse found wrong use."""
        raise Refusal(
            Finding("use.wrong", text.escaped(message), fix=f"see {self.prog} --help; example: {self.example}"),
            exit_status=COULD_NOT,
        )


def choose_command(
    parsers: dict[str, Parser], overview: Parser, arguments: Sequence[str]
) -> tuple[str, argparse.Namespace]:
    """The command that the first word names, and its options; `--json` may also stand before it."""
    words = list(arguments)
    if len(words) > 1 and words[0] == "--json":
        words = [*words[1:], words[0]]
    first = words[0] if words else "--help"
    if first in parsers:
        return first, parsers[first].parse(words[1:])
    if first in ("-h", "--help"):
        overview.print_help()
        sys.exit(0 if words else COULD_NOT)
    raise overview.wrong_use(f"unknown command {text.shown(first)}", text.nearest(first, parsers), sorted(parsers))


def run(tool: str, body: Callable[[Sequence[str], Report], int]) -> NoReturn:
    """Runs a tool's body and ends the process with its exit status.

    The body gets the arguments and a report and returns what `report.finish` returned. A `Refusal` becomes the
    report; a closed pipe does not change the exit status; anything unexpected is exit 2.
    """
    arguments = sys.argv[1:]
    report = Report(tool, "--json" in arguments)
    report.hide = secret_variables.hider(os.environ)
    sys.exit(_guarded(body, arguments, report))


def _guarded(body: Callable[[Sequence[str], Report], int], arguments: Sequence[str], report: Report) -> int:
    try:
        return body(arguments, report)
    except Refusal as refusal:
        report.findings.extend(refusal.findings)
        summary = {1: "refused", INTERRUPTED: "interrupted"}.get(refusal.exit_status, "not done")
        return report.finish(refusal.exit_status, f"{report.tool}: {summary}")
    except KeyboardInterrupt:
        return report.finish(INTERRUPTED, f"{report.tool}: interrupted")
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else ""
        report.findings.append(Finding("system.error", error.strerror or str(error), where))
        return report.finish(COULD_NOT, f"{report.tool}: not done")
    except Exception:  # noqa: BLE001 - shown in full; only its exit status must not be 1
        import traceback

        print(report.hide(traceback.format_exc()), file=sys.stderr)
        report.findings.append(Finding("internal.error", "an unexpected error in the tool itself"))
        return report.finish(COULD_NOT, f"{report.tool}: not done")

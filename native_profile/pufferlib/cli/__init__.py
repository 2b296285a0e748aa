"""The command line: one module a verb, each with ``HELP`` and ``run(parser, words) -> exit status``."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from ..errors import MISUSE, PufferError

VERBS = ("train", "eval", "envs", "build", "doctor")
_SUMMARY = {
    "train": "train a policy",
    "eval": "play a trained policy and report its returns",
    "envs": "list environments, or show one",
    "build": "compile the engine and environments into the cache",
    "doctor": "say what this machine has and lacks",
}
_STATUSES = "exit status: 0 done, 1 stopped or goal not reached, 2 wrong use, 130 Ctrl-C, 143 SIGTERM"


class Parser(argparse.ArgumentParser):
    """argparse whose errors name the nearest flag; flags are written out in full."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, with a hint for a flag that does not exist."""
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            self.unknown_argument(rest[0])
        return found

    def unknown_argument(self, word: str) -> NoReturn:
        """Wrong use: names the nearest flag."""
        known = [option for action in self._actions for option in action.option_strings]
        near = difflib.get_close_matches(word.partition("=")[0], known, n=1, cutoff=0.6)
        self.error(f"unknown argument {word}" + (f"; did you mean {near[0]}?" if near else ""))

    def error(self, message: str) -> NoReturn:
        """Wrong use: says so, and what was probably meant."""
        self.exit(MISUSE, f"{self.prog}: {message}\ntry: {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; returns its exit status."""
    try:
        try:
            status = _main(list(sys.argv[1:] if arguments is None else arguments))
        except SystemExit as ended:  # argparse: help, or wrong use
            status = int(ended.code or 0)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader left; nothing can be told to it, and closing must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(_help())
        return 0 if words else MISUSE
    if words[0] == "--version":
        from .. import __version__

        print(f"pufferlib-native {__version__}")
        return 0
    try:
        if words[0] not in VERBS:
            from ..errors import unknown

            raise unknown("command", words[0], VERBS)
        verb = importlib.import_module(f".{words[0]}", __name__)
        parser = Parser(
            prog=f"puffer {words[0]}",
            description=verb.HELP,
            epilog=_STATUSES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        return int(verb.run(parser, words[1:]))
    except PufferError as error:
        print(f"puffer: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"puffer: {where}{error.strerror or error}", file=sys.stderr)
        return 1


def _help() -> str:
    lines = ["usage: puffer VERB ...", "", "verbs:"]
    lines += [f"  {verb:8}{_SUMMARY[verb]}" for verb in VERBS]
    lines += [
        "",
        "puffer VERB --help tells the rest.",
        "example: puffer train cartpole --run-dir runs/first",
        _STATUSES,
    ]
    return "\n".join(lines)
